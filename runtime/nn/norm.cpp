#include "nn/norm.h"

#include "core/fail.h"
#include "nn/init.h"
#include "nn/register.h"
#include "ops/norm.h"

namespace rille::nn {
namespace {

Shape shape_of(const Sizes& s) {
  if (s.list.empty()) throw arg_error("'shape' must name at least one dim");
  for (const int64_t n : s.list) check_size(n, "shape");
  return Shape(s.list.begin(), s.list.end());
}

}  // namespace

LayerNorm::LayerNorm(const Options& o) : options(o) {
  const Shape shape = shape_of(o.shape);
  if (!o.affine) return;
  weight = constant_parameter(shape, 1, place_of(o));
  if (o.bias) bias = constant_parameter(shape, 0, place_of(o));
}
Tensor LayerNorm::forward(const Tensor& x) const {
  return call<rille::LayerNorm>({.x = x,
                                 .weight = maybe(weight),
                                 .bias = maybe(bias),
                                 .eps = options.eps,
                                 .shape = options.shape});
}

RMSNorm::RMSNorm(const Options& o) : options(o) {
  const Shape shape = shape_of(o.shape);
  if (o.affine) weight = constant_parameter(shape, 1, place_of(o));
}
Tensor RMSNorm::forward(const Tensor& x) const {
  return call<rille::RmsNorm>(
      {.x = x, .weight = maybe(weight), .eps = options.eps, .shape = options.shape});
}

LayerFamily layers_norm() { return list_layers<LayerNorm, RMSNorm>(); }

}  // namespace rille::nn
