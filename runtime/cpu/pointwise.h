// The pointwise engine: y[i] = f(a[i], b[i], ...) over operands of any strides and dtypes. A
// functor is compiled only for contiguous tiles of its compute types (ops/pointwise_kernels.h);
// this engine finds the tiles, converts what has another dtype, and repeats what is broadcast. Work
// is cut into tiles of fixed size, so an element's bits do not depend on the number of threads.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "core/shape.h"
#include "core/tensor.h"

namespace rille::cpu {

inline constexpr int kMaxOperands = 6;

/// Elements of a tile. What goes past the caches is computed a tile at a time and stored between
/// two: the shorter, the less the memory waits (of 256 to 2048, 512 was the fastest, 1024 took a
/// fifth longer to add).
inline constexpr int64_t kTile = 512;

/// out[0..n) from the inputs' first n elements, all in the compute types that the functor wants.
using Tile = void (*)(const void* functor, void* out, const void* const* in, int64_t n);

struct Operand {
  const Tensor* tensor;
  DType compute;  // what the tile reads or writes
};

/// Runs `tile` over the elements of `out`. Inputs broadcast to its shape.
void pointwise(Operand out, const Operand* in, int inputs, Tile tile, const void* functor);

/// The type that arithmetic on `d` happens in: f64 and i64 in themselves, the other floats in f32
/// (narrow ones are only moved and compared in it), the other integers and bool in i64.
inline DType compute_type(DType d) {
  if (d == DType::f64) return DType::f64;
  return category(d) == Category::floating ? DType::f32 : DType::i64;
}

}  // namespace rille::cpu
