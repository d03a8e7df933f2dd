// Scans along a dim: y[i] is folded from x[0..i]. Floats accumulate in double, integers in int64.
// All tensors are contiguous.
#pragma once
#include "core/tensor.h"

namespace rille::cpu {

enum class Scan { sum, prod, logsumexp };

/// `reverse`: y[i] is folded from x[i..n). y may have another dtype than x.
void scan(Scan what, const Tensor& x, int dim, bool reverse, Tensor& y);

/// The running maximum or minimum and where it was last reached; once seen, nan stays.
void scan_extreme(bool largest, const Tensor& x, int dim, Tensor& y, Tensor& ids);

/// dx[i] = sum over j >= i of dy[j] * (product of x[0..j] without x[i]).
void scan_prod_grad(const Tensor& x, const Tensor& dy, int dim, Tensor& dx);

/// y[i] = product of the line without x[i].
void products_of_others(const Tensor& x, int dim, Tensor& y);

/// dx[i] = sum over j >= i of dy[j] * exp(x[i] - y[j]), where y = logcumsumexp(x).
void scan_logsumexp_grad(const Tensor& x, const Tensor& dy, int dim, Tensor& dx);

}  // namespace rille::cpu
