// Rotary position embedding (Su et al., 2021). Called by ops/rotary.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille::cpu {

struct Rotary {
  int64_t rows, width;  // x is [rows, width]
  int64_t turned;       // the first elements of a row, even: these turn, in turned / 2 planes
  int64_t places;       // row i stands at place i % places
  bool interleaved;     // planes are (2 i, 2 i + 1), else (i, i + turned / 2)
};

/// y = a cos - b sin, b cos + a sin in each plane (a, b); cos and sin are [places, turned / 2], of
/// type double for f64, else float.
void rotary(DType d, const Rotary& r, const void* x, const void* cos, const void* sin, void* y);

}  // namespace rille::cpu
