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
  return list_ops(OpList<Silu, Sigmoid, Gelu, Elu, Selu, Celu, Mish, Softplus, Logsigmoid, Softsign,
                         Tanhshrink, Logit, Glu>{},
                  "activation");
}

}  // namespace rille
