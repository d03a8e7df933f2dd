#include "ops/trig.h"

#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {

OpFamily family_trig() {
  return list_ops(OpList<Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh>{},
                  "trig");
}

}  // namespace rille
