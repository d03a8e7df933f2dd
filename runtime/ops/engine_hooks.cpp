// The few operations that the engine below needs, handed down when the library is loaded.
#include <cmath>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "core/fail.h"
#include "ops/arith.h"
#include "ops/autocast.h"
#include "ops/call.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/reduce.h"
#include "ops/strided.h"
#include "ops/view.h"

namespace rille {
namespace {

bool has_nan(const Tensor& t) {
  if (!t.is_float() || t.is_meta()) return false;
  const NoGrad quiet;
  if (!std::isnan(call<Sum>({.x = t}).item())) return false;
  return call<Any>({.x = call<IsNan>({.x = t})}).item() != 0;  // infinities may make a nan, too
}

bool has_inf(const Tensor& t) {
  if (!t.is_float() || t.is_meta()) return false;
  const NoGrad quiet;
  return call<Any>({.x = call<IsInf>({.x = t})}).item() != 0;
}

const bool handed_down = [] {
  autograd::EngineOps& e = autograd::engine_ops();
  e.add = [](const Tensor& a, const Tensor& b) { return a + b; };
  e.add_in_place = [](const Tensor& to, const Tensor& b) {
    const NoGrad quiet;
    call_<Add>({.x = to, .y = b});
  };
  e.clone = [](const Tensor& t) { return clone(t); };
  e.ones_like = [](const Tensor& t) { return ones_like(t); };
  e.zeros_like = [](const Tensor& t) {
    // Gradients of narrow values are f32.
    return full(t.shape(), 0, is_narrow(t.dtype()) ? DType::f32 : t.dtype(), t.device());
  };
  e.has_nan = has_nan;
  autograd::has_inf = has_inf;
  e.write_through = write_through;
  e.look_again = look_again;
  e.forget_casts = forget_casts;
  return true;
}();

}  // namespace

Tensor fit_gradient(Tensor dx, const Tensor& x, std::string_view op) {
  if (dx.shape() != x.shape()) {
    Axes dims;
    dims.all = false;
    const int extra = dx.rank() - x.rank();
    for (int d = 0; d < dx.rank(); ++d) {
      const bool repeated = d < extra || (x.shape()[d - extra] == 1 && dx.shape()[d] != 1);
      if (repeated)
        dims.list.push_back(d);
      else if (d >= extra && x.shape()[d - extra] != dx.shape()[d])
        throw internal_error("the gradient of {} has shape {} for an argument of {}", op,
                             to_string(dx.shape()), to_string(x.shape()));
    }
    dx = call<Sum>({.x = dx, .dims = dims, .keepdim = true});
    dx = reshape(dx, x.shape());
  }
  // A gradient in eight bits would lose most of itself: that of a narrow value stays as it comes.
  return x.is_number() || is_narrow(x.dtype()) ? dx : cast(dx, x.dtype());
}

}  // namespace rille
