// The texts of chunks that came as text, so that errors can show a line of them. A host may run any
// number under ever new names: the latest are kept, and an error in one that was forgotten names
// its line without showing it.
#pragma once
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rille::lua {

class Sources {
 public:
  static constexpr size_t kMost = size_t{1} << 20;  // bytes; the latest is kept at any size

  /// Keeps the text of the chunk of that name ("=script"), in the place of an earlier one.
  void keep(std::string name, std::string text);
  /// Null for what was never kept, or is forgotten.
  const std::string* find(std::string_view name) const;
  size_t bytes() const { return bytes_; }

 private:
  struct Source {
    std::string name, text;
    size_t bytes() const;
  };
  using Place = std::list<Source>::iterator;
  void forget(Place at);

  std::list<Source> list_;                              // the latest last
  std::unordered_map<std::string_view, Place> places_;  // by the names in the list
  size_t bytes_ = 0;
};

}  // namespace rille::lua
