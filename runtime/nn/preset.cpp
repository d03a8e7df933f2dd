#include "nn/preset.h"

#include "core/fail.h"
#include "nn/register.h"
#include "ops/compare.h"
#include "ops/pointwise.h"
#include "ops/random.h"
#include "ops/rectifier.h"
#include "ops/resize.h"
#include "ops/select.h"
#include "ops/softmax.h"

namespace rille::nn {

Tensor Softmax2d::forward(const Tensor& x) const { return softmax(x, -3); }

template <bool bilinear>
Tensor Upsampling2d<bilinear>::forward(const Tensor& x) const {
  using Mode = Interpolate::Mode;
  return call<Interpolate>({.x = x,
                            .size = options.size,
                            .scale_factor = options.scale_factor,
                            .mode = bilinear ? Mode::bilinear : Mode::nearest,
                            .align_corners = bilinear});
}

RReLU::RReLU(const Options& o) : options(o) {
  if (o.upper < o.lower)
    throw arg_error("'upper' must be at least {}, got {}", o.lower, o.upper).of("upper");
}
Tensor RReLU::forward(const Tensor& x) const {
  const auto [lower, upper] = options;
  if (!training) return call<Rrelu>({.x = x, .lower = lower, .upper = upper});
  const Tensor slopes = call<RandLike>({.x = x}) * (upper - lower) + lower;
  return where(call<Ge>({x, Tensor::number(int64_t{0})}), x, x * slopes);
}

LayerFamily layers_preset() {
  return list_layers<Softmax2d, Upsampling2d<false>, Upsampling2d<true>, RReLU>();
}

}  // namespace rille::nn
