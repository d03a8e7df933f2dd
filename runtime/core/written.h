// Writes that no op makes (steps of optimizers, clipping, unscaling) still count as changes in
// place.
#pragma once
#include "core/tensor.h"

namespace rille {

/// Before a write: throws E_READONLY for memory that may only be read, and tells saved-tensor
/// hooks.
void check_writable(const Tensor& t);
/// Tells saved-tensor hooks of a write to come; does nothing without any.
void tell_of_write(const Tensor& t);
/// `by` must live as long as the process.
void mark_written(const Tensor& t, const char* by);

}  // namespace rille
