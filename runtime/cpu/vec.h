// Vectors of a chosen number of bytes as the compiler's own vector types: + - * work lane by lane
// and with a scalar, on any instruction set. Loads widen 16-bit floats to f32. Passed by reference
// only, so that no calling convention is involved.
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

/// What products of S are summed in: f32 for 16-bit floats, else S itself.
template <class S>
using SumOf = std::conditional_t<std::is_same_v<S, bf16> || std::is_same_v<S, f16>, float, S>;

template <class S, class V>
[[gnu::always_inline]] inline void load_as(V& v, const S* p) {
  using T = SumOf<S>;
  constexpr int lanes = sizeof(V) / sizeof(T);
  if constexpr (std::is_same_v<S, T>) {
    __builtin_memcpy(&v, p, sizeof v);
  } else if constexpr (lanes == 1) {
    v = static_cast<T>(*p);
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

/// Lanes of f32 rounded to nearest even into p[0..lanes): bf16_bits and f16_bits, lane by lane.
template <class S, class V>
[[gnu::always_inline]] inline void store_rounded(S* p, const V& v) {
  using U = Vec<uint32_t, sizeof(V)>;
  const U u = reinterpret_cast<U>(v), a = u & 0x7fffffffu;
  U bits;
  if constexpr (std::is_same_v<S, bf16>) {
    bits = a > 0x7f800000u ? U{} + 0x7fc0u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  } else {
    const U normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
    const U small = reinterpret_cast<U>(reinterpret_cast<V>(a) + 0.5f) - 0x3f000000u;
    bits = a < 0x38800000u ? small : normal;
    bits = a >= 0x477ff000u ? U{} + 0x7c00u : bits;
    bits = a > 0x7f800000u ? U{} + 0x7e00u : bits;
    bits |= (u >> 16) & 0x8000u;
  }
  using Narrow = Vec<uint16_t, sizeof(V) / 2>;
  const Narrow narrow = __builtin_convertvector(bits, Narrow);
  __builtin_memcpy(p, &narrow, sizeof narrow);
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
