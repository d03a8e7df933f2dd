// A table of options that the Lua half has read against its declarations: checked, with defaults
// filled in. What is missing or of another type here is a mistake of the library's, and E_TYPE.
#pragma once
#include <optional>

#include "interpreter/lua/call.h"

namespace rille::bind {

class GivenOptions {
 public:
  /// The table is the argument at `i`.
  GivenOptions(lua::Call& c, int i) : c_(c), i_(i) {}

  double number(std::string_view key) const;
  std::optional<double> maybe_number(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::string text(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;  // a list
  double listed(std::string_view key, size_t k) const;

 private:
  lua::Call& c_;
  int i_;
};

}  // namespace rille::bind
