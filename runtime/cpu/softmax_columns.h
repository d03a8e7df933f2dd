// The softmax family over a dimension that is not the last: [outer, n, inner] with inner > 1, where
// vectors run along inner. Called by softmax.cpp alone.
#pragma once
#include "cpu/rows.h"

namespace rille::cpu {

enum class Columns : uint8_t {
  softmax,
  log_softmax,
  logsumexp,
  softmax_backward,
  log_softmax_backward
};

/// The forward ones read x and not dy; logsumexp writes [outer, inner].
void over_columns(Columns op, DType d, const void* x, const void* dy, void* out, Axis axis);

}  // namespace rille::cpu
