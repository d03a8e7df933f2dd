#include "ops/math.h"

#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {

OpFamily family_math() {
  return list_ops(OpList<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Square, Reciprocal,
                         Erf, Erfc, Erfinv, Lgamma, Digamma, Polygamma, Sinc>{},
                  "math");
}

}  // namespace rille
