// The one path of every operation: from Lua, from C++, from backward, from a replayed graph.
#pragma once
#include "ops/op.h"

namespace rille {

/// A mode beside those of core/context.h: products of narrow floats happen in f32, an op at a time,
/// and are rounded to their dtype again (amp.f8.allow_mm).
constexpr uint32_t kNarrowProducts = 1u << 29;

/// Sums a gradient over the dims along which `x` was broadcast and casts it to its dtype.
Tensor fit_gradient(Tensor dx, const Tensor& x, std::string_view op);

}  // namespace rille
