// What operands of products are made of: numbers, or pairs of bf16 that are neighbours along the
// depth, which one instruction multiplies and adds to a sum in f32 (AVX512-BF16; cpu/isa.h's
// has_bf16_pairs). A pair takes two steps of the depth; behind an odd depth the last one holds a
// zero. Subnormal numbers in pairs count as 0.
#pragma once
#include <cstdint>
#include <type_traits>

namespace rille::cpu {

struct Pair {
  uint32_t bits;  // the first number in the low half
};

template <class Cell>
struct CellOf {
  using Sum = Cell;
  static constexpr int64_t numbers = 1;
};
template <>
struct CellOf<Pair> {
  using Sum = float;
  static constexpr int64_t numbers = 2;
};
template <class Cell>
using SumOfCells = typename CellOf<Cell>::Sum;
template <class Cell>
inline constexpr bool kPairs = CellOf<Cell>::numbers == 2;

inline int64_t pairs_of(int64_t n) { return (n + 1) / 2; }

/// A cell as add_product wants it: a number as it is, a pair repeated in a vector V of sums.
template <class Cell, class V>
using Repeated = std::conditional_t<kPairs<Cell>, V, Cell>;

template <class Cell, class V>
[[gnu::always_inline]] inline void repeat(Repeated<Cell, V>& x, const Cell* from) {
  if constexpr (kPairs<Cell>) {
    typedef uint32_t Bits __attribute__((vector_size(sizeof(V))));
    x = reinterpret_cast<V>(Bits{} + from->bits);
  } else {
    x = *from;
  }
}

/// sum += x * row. Vectors of pairs travel as vectors of sums, whose bits nobody looks at. Their
/// instruction is written out: the compiler knows it only in functions that are compiled for
/// processors that have it.
template <class Cell, class V>
[[gnu::always_inline]] inline void add_product(V& sum, const Repeated<Cell, V>& x, const V& row) {
  if constexpr (kPairs<Cell>) {
#if defined(__x86_64__) && !defined(__clang__)
    V now = sum;  // the compiler keeps an array in registers only if no element is an operand
    asm("vdpbf16ps %2, %1, %0" : "+v"(now) : "v"(x), "v"(row));
    sum = now;
#endif
  } else {
    sum += x * row;
  }
}

}  // namespace rille::cpu
