#include "ops/rectifier.h"

#include "core/fail.h"
#include "ops/compare.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"
#include "ops/select.h"
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

OpFamily family_rectifier() {
  return list_ops(OpList<Relu, LeakyRelu, Relu6, Hardtanh, Hardsigmoid, Hardswish, Softshrink,
                         Hardshrink, Threshold, Rrelu, Prelu, PreluBroadcast>{},
                  "activation");
}

}  // namespace rille
