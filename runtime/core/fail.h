// Making errors: throw shape_error("inner sizes differ: {} and {}", m, n).of("a", "b");
// For .cpp files only: it brings in fmt.
#pragma once
#include <fmt/format.h>

#include "core/error.h"

namespace rille {

template <class... A>
Error fail(Kind kind, std::string_view code, fmt::format_string<A...> text, A&&... args) {
  return Error(kind, code, fmt::format(text, std::forward<A>(args)...));
}

#define RILLE_FAILURE_(function, kind, code)                       \
  template <class... A>                                            \
  Error function(fmt::format_string<A...> text, A&&... args) {     \
    return fail(Kind::kind, code, text, std::forward<A>(args)...); \
  }
RILLE_FAILURE_(type_error, argument, "E_TYPE")
RILLE_FAILURE_(arg_error, argument, "E_ARG")
RILLE_FAILURE_(option_error, argument, "E_OPTION")
RILLE_FAILURE_(index_error, argument, "E_INDEX")
RILLE_FAILURE_(shape_error, shape, "E_SHAPE")
RILLE_FAILURE_(dtype_error, dtype, "E_DTYPE")
RILLE_FAILURE_(device_error, device, "E_DEVICE_MISMATCH")
RILLE_FAILURE_(io_error, data, "E_IO")
RILLE_FAILURE_(format_error, data, "E_FORMAT")
RILLE_FAILURE_(internal_error, internal, "E_INTERNAL")
#undef RILLE_FAILURE_

}  // namespace rille
