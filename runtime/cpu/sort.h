// Everything that needs an order along a dim. Inputs are contiguous; nan is larger than any number;
// equal values keep the order in which they stood.
#pragma once
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace rille::cpu {

/// values (may be null) and ids of the sorted lines.
void sort(const Tensor& x, int dim, bool descending, Tensor* values, Tensor& ids);

/// The first k of the sorted lines.
void top(const Tensor& x, int dim, int64_t k, bool largest, Tensor& values, Tensor& ids);

enum class Rank { kth, median, nan_median };
/// The value of rank k (from 0) of each line, or its lower median. A median of a line with a nan is
/// nan, unless nans are left out.
void select(const Tensor& x, int dim, Rank what, int64_t k, Tensor& values, Tensor& ids);

/// The most frequent value of each line, the smallest of several, and its last position.
void mode(const Tensor& x, int dim, Tensor& values, Tensor& ids);

/// Where the quantiles q of each line lie: between the elements `low` and `high`, at `weight` of
/// the way. The results hold one line of q.size() for each line of x.
enum class Between { linear, lower, higher, midpoint, nearest };
void quantile_ids(const Tensor& x, int dim, const std::vector<double>& q, Between how,
                  bool skip_nan, Tensor& low, Tensor& high, Tensor& weight);

}  // namespace rille::cpu
