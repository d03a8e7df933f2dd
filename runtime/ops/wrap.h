// Arithmetic of elements, the same for floats and integers: sums, differences and products of
// integers wrap, as the processor's do, and numbers that a script gives end where integers end.
#pragma once
#include <limits>
#include <type_traits>

#include "core/macros.h"

namespace rille {

template <class A>
RILLE_HD inline A wrap_add(A x, A y) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::make_unsigned_t<A>>(x) +
                          static_cast<std::make_unsigned_t<A>>(y));
  else
    return static_cast<A>(x + y);
}
template <class A>
RILLE_HD inline A wrap_sub(A x, A y) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::make_unsigned_t<A>>(x) -
                          static_cast<std::make_unsigned_t<A>>(y));
  else
    return static_cast<A>(x - y);
}
template <class A>
RILLE_HD inline A wrap_mul(A x, A y) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(static_cast<std::make_unsigned_t<A>>(x) *
                          static_cast<std::make_unsigned_t<A>>(y));
  else
    return static_cast<A>(x * y);
}

/// A script's number in the type that is computed in; as an integer nan is the least.
template <class A>
RILLE_HD inline A limit_as(double limit) {
  if constexpr (std::is_integral_v<A>) {
    if (limit >= 0x1p63) return std::numeric_limits<A>::max();
    return limit > -0x1p63 ? static_cast<A>(limit) : std::numeric_limits<A>::min();
  } else {
    return A(limit);
  }
}

}  // namespace rille
