#include "nn/linear.h"

#include "core/fail.h"
#include "nn/init.h"
#include "nn/register.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/rectifier.h"
#include "ops/view.h"

namespace rille::nn {

Linear::Linear(const Options& o) : options(o) {
  check_size(o.in, "in");
  check_size(o.out, "out");
  weight = uniform_parameter({o.out, o.in}, fan_bound(o.in), place_of(o));
  if (o.bias) bias = uniform_parameter({o.out}, fan_bound(o.in), place_of(o));
}
Tensor Linear::forward(const Tensor& x) const {
  return call<rille::Linear>({.x = x, .weight = weight, .bias = maybe(bias)});
}

Bilinear::Bilinear(const Options& o) : options(o) {
  check_size(o.in1, "in1", 1);
  check_size(o.in2, "in2");
  check_size(o.out, "out");
  weight = uniform_parameter({o.out, o.in1, o.in2}, fan_bound(o.in1), place_of(o));
  if (o.bias) bias = uniform_parameter({o.out}, fan_bound(o.in1), place_of(o));
}
Tensor Bilinear::forward(const Inputs& i) const {
  const Shape& w = weight.shape();
  const auto fits = [](const Tensor& t, int64_t n) { return t.rank() > 0 && t.size(-1) == n; };
  Shape lead(i.x.shape().begin(), i.x.shape().end() - (i.x.rank() > 0));
  Shape lead_y(i.y.shape().begin(), i.y.shape().end() - (i.y.rank() > 0));
  if (!fits(i.x, w[1]) || !fits(i.y, w[2]) || lead != lead_y)
    throw shape_error("needs [..., {}] and [..., {}] with equal first dims, got {} and {}", w[1],
                      w[2], to_string(i.x.shape()), to_string(i.y.shape()))
        .op(name);
  // One product with all matrices side by side, then one with y for each row.
  const Tensor sides = reshape(permute(weight, {1, 0, 2}), {w[1], w[0] * w[2]});
  Shape rows = lead, column = lead;
  for (const int64_t n : {w[0], w[2]}) rows.push_back(n);
  for (const int64_t n : {w[2], int64_t{1}}) column.push_back(n);
  const Tensor left = reshape(matmul(i.x, sides), rows);
  const Tensor out = squeeze(matmul(left, reshape(i.y, column)), -1);
  return bias ? out + bias : out;
}

PReLU::PReLU(const Options& o) : options(o) {
  check_size(o.count, "count", 1);
  weight = constant_parameter({o.count}, o.init, place_of(o));
}
Tensor PReLU::forward(const Tensor& x) const {
  return call<rille::Prelu>({.x = x, .weight = weight});
}

LayerFamily layers_linear() { return list_layers<Linear, Bilinear, PReLU>(); }

}  // namespace rille::nn
