#include "core/error.h"

namespace rille {

std::string_view name(Kind k) {
  constexpr std::string_view names[] = {"argument",  "shape",   "dtype", "device",
                                        "state",     "memory",  "data",  "distributed",
                                        "interrupt", "internal"};
  return names[static_cast<size_t>(k)];
}

const char* Error::what() const noexcept {
  try {
    what_ = op_.empty() ? text_ : op_ + ": " + text_;
    return what_.c_str();
  } catch (...) {
    return "out of memory";
  }
}

}  // namespace rille
