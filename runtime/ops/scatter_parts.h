// What the scatter ops are made of: ops/scatter.cpp, which defines it, and ops/scatter_reduce.cpp.
#pragma once
#include "core/threads.h"
#include "cpu/indexing.h"
#include "ops/op_info.h"

namespace rille {

/// Runs on a copy of x (or y itself, holding x) in a type that can sum, and stores it in y.
void in_wide_type(const Tensor& y, const Tensor& x, FunctionRef<void(const Tensor&)> f);
/// y at the ids along a dim is combined with source (0-d: with that everywhere).
void scatter_into(const Tensor& y, Axis dim, const Tensor& index, const Tensor& source,
                  cpu::Combine how);
/// dy at the ids, in the shape of source: what lies beyond index gets zeros.
Tensor gathered(const Tensor& dy, Axis dim, const Tensor& index, const Tensor& source);
/// dy with zeros where something was written.
Tensor with_zeros(const Tensor& dy, Axis dim, const Tensor& index);

}  // namespace rille
