// Rows into columns: y[r * step + s] = x[r + s * stride]. Squares of one vector register by as many
// are turned in registers, so that both sides are touched a whole vector at a time. Bound by
// memory: a result that no cache holds is written past the caches, where a line is one vector.
#pragma once
#include <cstdint>

namespace rille::cpu {

template <class U>
struct Turn {
  U* y;
  const U* x;
  int64_t rows, cols;    // of y: r counts the former, s the latter
  int64_t step, stride;  // in elements
  bool past_caches = false;
};

/// On the calling thread. Instances for unsigned integers of 1, 2, 4 and 8 bytes.
template <class U>
void turn(const Turn<U>& t);

/// How many rows of y make a fair piece of work: they share the lines of x that a block reads.
inline constexpr int64_t kTurnRows = 64;

}  // namespace rille::cpu
