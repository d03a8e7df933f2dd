// The reducers: what cpu/reduce.h folds with. Each is named by what it computes; `make` picks the
// compiled form for the dtype that is folded in.
#pragma once
#include "cpu/reduce.h"

namespace rille::cpu {

enum class Fold {
  sum,   // x
  mean,  // x, divided by `number`
  prod,  // the product
  max,
  min,  // nan wins
  any,
  all,
  count,  // of x != 0
  l1,
  l2,  // sum |x|, sqrt(sum x^2)
  lp,  // (sum |x|^number)^(1/number)
  largest,
  smallest,  // of |x|
  var,
  std,        // sum (x - param)^2 divided by `number`, and its root
  logsumexp,  // param + log(sum exp(x - param)), the param being the maximum
  valid_sum,  // x, without nan
};

/// y = fold of x over `dims`, elements read as the compute type of `as`. `param` holds one value of
/// that type for each result.
void fold(Fold what, const Tensor& x, DimSet dims, DType as, const Tensor& y, double number = 0,
          const Tensor* param = nullptr);

}  // namespace rille::cpu
