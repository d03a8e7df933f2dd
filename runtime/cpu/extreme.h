// The largest or smallest element along a dim, with its position: max, min, argmax, argmin. The
// first of equal elements counts; a nan counts as more extreme than any number.
#pragma once
#include "core/tensor.h"

namespace rille::cpu {

/// x is contiguous, its dim not empty. values (may be null) has the dtype of x, ids is i64.
void extreme(bool largest, const Tensor& x, int dim, Tensor* values, Tensor& ids);

}  // namespace rille::cpu
