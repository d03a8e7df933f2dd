#include "ops/math.h"

#include "core/fail.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {

Meta Polygamma::infer(const Args& a) {
  if (a.n < 0) throw arg_error("'n' must not be negative, got {}", a.n).of("x");
  return Unary<Polygamma>::infer(a);
}

OpFamily family_math() {
  return list_ops(OpList<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Square, Reciprocal,
                         Erf, Erfc, Erfinv, Lgamma, Digamma, Polygamma, Sinc>{},
                  "math");
}

}  // namespace rille
