// The one path of every operation: from Lua, from C++, from backward, from a replayed graph.
#pragma once
#include "ops/op.h"

namespace rille {

/// Sums a gradient over the dims along which `x` was broadcast and casts it to its dtype.
Tensor fit_gradient(Tensor dx, const Tensor& x, std::string_view op);

}  // namespace rille
