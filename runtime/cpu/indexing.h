// Reading and writing where ids say. Ids are checked, not negative, i64. Every kernel gives the
// same bits for any number of threads: what falls on one place is taken in the order of the ids.
#pragma once
#include "core/tensor.h"

namespace rille::cpu {

/// How a value meets what is there already.
enum class Combine { assign, add, mul, max, min };

/// Some dims of a tensor addressed together, the others ("outer" before the ids' dims in the
/// values, "inner" behind them) in full. Values are [outer..., count, inner...].
struct Rows {
  int64_t count = 0;                // ids
  int64_t places = 0;               // different places there are
  const int64_t* place = nullptr;   // by id: which of them
  const int64_t* offset = nullptr;  // by id: in elements of the addressed tensor; else place * step
  int64_t step = 0;
  Shape outer, inner;
  Strides outer_steps, inner_steps;    // in the addressed tensor
  Strides outer_values, inner_values;  // in the values
  int64_t value_step = 0;              // from id to id in the values
};

/// values[o, k, i] = x[o, id k, i]
void take_rows(const Rows& r, const Tensor& x, const Tensor& values);
/// y[o, id k, i] is combined with values[o, k, i]: assign takes any dtype, the others f32, f64 or
/// i64.
void put_rows(const Rows& r, const Tensor& y, const Tensor& values, Combine how);

/// values[p] = x[p with ids[p] at `dim`], for each position p of ids. Strides are free.
void gather_lines(const Tensor& x, int dim, const Tensor& ids, const Tensor& values);
/// y[p with ids[p] at `dim`] is combined with values[p]; dtypes as above.
void scatter_lines(const Tensor& y, int dim, const Tensor& ids, const Tensor& values, Combine how);

/// Positions of what is not zero, row-major, appended one dim after another to `out`.
int64_t count_nonzero(const Tensor& contiguous);
void write_nonzero(const Tensor& contiguous, int64_t* out);

}  // namespace rille::cpu
