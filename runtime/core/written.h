// Writes that no op makes (steps of optimizers, clipping, unscaling) still count as changes in
// place.
#pragma once
#include "core/tensor.h"

namespace rille {

/// Throws E_READONLY for memory that may only be read.
void check_writable(const Tensor& t);
/// `by` must live as long as the process.
void mark_written(const Tensor& t, const char* by);

}  // namespace rille
