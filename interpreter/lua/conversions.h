// What a format of string.format asks for, zero bytes in it included: Lua's own library stops at
// none.
//   for (Conversions all(text); all.more(); all.next()) switch (all.kind()) ...
#pragma once
#include <cstddef>
#include <string_view>

namespace rille::lua {

class Conversions {
 public:
  explicit Conversions(std::string_view format) : text_(format) { next(); }
  bool more() const { return kind_ != '\0'; }
  /// Its letter: 's', 'p', ...; %% is none.
  char kind() const { return kind_; }
  void next() {
    kind_ = '\0';
    while (at_ < text_.size()) {
      if (text_[at_++] != '%') continue;
      const size_t end = text_.find_first_not_of("-+ #0123456789.", at_);
      if (end == text_.npos) break;
      at_ = end + 1;
      if (text_[end] == '%' || text_[end] == '\0') continue;
      kind_ = text_[end];
      return;
    }
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  char kind_ = '\0';
};

}  // namespace rille::lua
