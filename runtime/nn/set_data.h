// Giving a parameter other memory while it stays the tensor that optimizers hold.
#pragma once
#include "core/tensor.h"

namespace rille::nn {

/// `t` takes shape, dtype, device and storage of `other` and drops its gradient. It must be a leaf.
void set_data(const Tensor& t, const Tensor& other);

}  // namespace rille::nn
