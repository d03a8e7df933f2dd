#include "ops/activation.h"

#include "core/fail.h"
#include "ops/arith.h"
#include "ops/compare.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"
#include "ops/select.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {

Tensor Prelu::compose(const Args& a) {
  const int64_t channels = a.x.rank() > 1 ? a.x.size(1) : 1, n = a.weight.numel();
  if (a.weight.rank() > 1 || (n != 1 && n != channels))
    throw shape_error("'weight' must have 1 or {} elements, got shape {}", channels,
                      to_string(a.weight.shape()))
        .of("x", "weight");
  Shape fits = Shape::filled(a.x.rank(), 1);
  if (n != 1) fits[1] = n;
  return call<PreluBroadcast>({a.x, reshape(a.weight, fits)});
}
void Prelu::samples(SampleList& s) {
  add_sample<Prelu>(s, {grid({2, 3, 4}, -1, 1), grid({3}, 0.1, 0.5)});
  add_sample<Prelu>(s, {strided(grid({4, 3}, -1, 1)), grid({1}, 0.1, 0.5)});
  add_sample<Prelu>(s, {grid({3}, -1, 1.1), grid({1}, 0.1, 0.5)});
  add_sample<Prelu>(s, {grid({0, 3}, -1, 1), grid({3}, 0.1, 0.5)});
}

PreluBroadcast::Args PreluBroadcast::grad(const Back<PreluBroadcast>& b) {
  const Tensor positive = call<Gt>({b.a.x, Tensor::number(0.0)});
  return {b.need(&Args::x) ? where(positive, b.dy, b.dy * b.a.y) : Tensor(),
          b.need(&Args::y) ? masked_fill(b.dy * b.a.x, positive, 0) : Tensor()};
}
void PreluBroadcast::samples(SampleList& s) { binary_samples<PreluBroadcast>(s, -2, 2.1); }

Tensor Glu::compose(const Args& a) {
  const int d = axis(a.dim.value, a.x.rank());
  const int64_t n = a.x.size(d);
  if (n % 2 != 0) throw shape_error("dim {} must have an even size, got {}", d + 1, n).of("x");
  const auto half = [&](int64_t start) { return call<Narrow>({a.x, {d}, {start}, n / 2}); };
  return half(0) * call<Sigmoid>({half(n / 2)});
}
void Glu::samples(SampleList& s) {
  add_sample<Glu>(s, {grid({2, 6}, -2, 2)});
  add_sample<Glu>(s, {strided(grid({4, 3}, -2, 2)), Axis{0}});
  add_sample<Glu>(s, {grid({2, 0}, -2, 2)});
}

OpFamily family_activation() {
  return list_ops(
      OpList<Silu, Sigmoid, Relu, Gelu, LeakyRelu, Elu, Selu, Celu, Relu6, Hardtanh, Hardsigmoid,
             Hardswish, Mish, Softplus, Logsigmoid, Softsign, Tanhshrink, Softshrink, Hardshrink,
             Threshold, Rrelu, Logit, Prelu, PreluBroadcast, Glu>{},
      "activation");
}

}  // namespace rille
