// Sets, counts and places: unique elements, histograms, binary search. Inputs are contiguous.
#pragma once
#include <cstdint>

#include "core/budget.h"
#include "core/tensor.h"

namespace rille::cpu {

/// Equal rows of x, which is looked at as [n, width].
struct Groups {
  CountedVector<int64_t> first;   // of each group, the row that stands for it
  CountedVector<int64_t> counts;  // rows in each group
};
/// Groups in ascending order, or, `consecutive`, runs of neighbours in the order in which they
/// stand. group_of (may be null) receives the group of each row. A nan equals nothing.
Groups unique_rows(const Tensor& x, int64_t n, int64_t width, bool consecutive, int64_t* group_of);

/// counts[x[i]] += weights[i] (1 where there are none). counts is f64 or i64 and starts as zeros.
void count_values(const Tensor& x, const Tensor* weights, Tensor& counts);

/// Counts of x in `bins` equal parts of [low, high], the last part closed; others are left out.
void histogram(const Tensor& x, int64_t bins, double low, double high, double* counts);

/// ids[i] = the first place in a line of `sorted` whose element is not below values[i] (or,
/// `right`, is above it). `sorted` holds one line, or one for each line of values.
void search_sorted(const Tensor& sorted, const Tensor& values, bool right, int64_t* ids);

}  // namespace rille::cpu
