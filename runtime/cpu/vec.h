// Vectors of a chosen number of bytes as the compiler's own vector types: + - * work lane by lane
// and with a scalar, on any instruction set. Loads widen 16-bit floats and narrow integers to the
// type that sums are kept in. Passed by reference only, so that no calling convention is involved.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/half.h"

namespace rille::cpu {

template <class T, int Bytes>
struct VecOf {
  typedef T Type __attribute__((vector_size(Bytes)));
};
template <class T>
struct VecOf<T, sizeof(T)> {
  using Type = T;
};
/// Bytes / sizeof(T) lanes of T; T itself for one lane.
template <class T, int Bytes>
using Vec = typename VecOf<T, Bytes>::Type;

/// What products of S are summed in: integers wrap, so they are summed unsigned.
template <class S>
using SumOf = std::conditional_t<std::is_same_v<S, double>, double,
                                 std::conditional_t<std::is_integral_v<S>, uint64_t, float>>;

template <class S, class V>
[[gnu::always_inline]] inline void load_as(V& v, const S* p) {
  using T = SumOf<S>;
  constexpr int lanes = sizeof(V) / sizeof(T);
  if constexpr (sizeof(S) == sizeof(T)) {
    __builtin_memcpy(&v, p, sizeof v);
  } else if constexpr (lanes == 1) {
    v = static_cast<T>(*p);
  } else if constexpr (std::is_integral_v<S>) {
    Vec<S, lanes * sizeof(S)> narrow;
    __builtin_memcpy(&narrow, p, sizeof narrow);
    v = __builtin_convertvector(narrow, V);
  } else {
    Vec<uint16_t, lanes * 2> narrow;
    __builtin_memcpy(&narrow, p, sizeof narrow);
    using U = Vec<uint32_t, sizeof(V)>;
    const U wide = __builtin_convertvector(narrow, U);
    if constexpr (std::is_same_v<S, bf16>) {
      v = reinterpret_cast<V>(wide << 16);
    } else {
      // As f16_value: a multiplication moves the exponent, inf and nan get theirs set.
      const U sign = (wide & 0x8000u) << 16, rest = (wide & 0x7fffu) << 13;
      const U special = reinterpret_cast<U>((wide & 0x7c00u) == 0x7c00u) & 0x7f800000u;
      v = reinterpret_cast<V>(sign | special |
                              reinterpret_cast<U>(reinterpret_cast<V>(rest) * 0x1p112f));
    }
  }
}

template <class V, class T>
[[gnu::always_inline]] inline void store_to(T* p, const V& v) {
  __builtin_memcpy(p, &v, sizeof v);
}

/// Sums of one type, stored as S: one rounding, or the low bits of an integer.
template <class S, class T>
[[gnu::always_inline]] inline S round_to(T sum) {
  if constexpr (std::is_same_v<S, bf16> || std::is_same_v<S, f16>)
    return S(static_cast<float>(sum));
  else
    return static_cast<S>(sum);
}

/// Lanes 0..3 of four rows become four columns: rows[i][j] -> rows[j][i].
template <class V>
[[gnu::always_inline]] inline void transpose4(V (&rows)[4]) {
  const V a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const V b = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const V c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const V d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

}  // namespace rille::cpu
