// The reduction engine: folds a tensor of any strides and dtype over any of its dims. A reducer is
// compiled only for contiguous elements of its compute type (cpu/reducers.h); this engine merges
// dims, converts blocks of elements and decides which way to walk. Work is cut by shape alone and
// parts are joined in a fixed order, so the bits of a result do not depend on the number of
// threads.
#pragma once
#include <cstdint>

#include "core/tensor.h"

namespace rille::cpu {

/// Elements of a row that are folded into parts before these are joined.
inline constexpr int64_t kReducerBlock = 1024;

/// Elements are folded a block at a time into parts of the element's own width; parts are joined
/// into totals of eight bytes (double or int64). Both are arrays of plain numbers.
struct Reducer {
  const void* functor;
  DType in;   // what it reads; the dtype of params too
  DType out;  // f64 or i64: what `done` leaves in the place of the totals

  /// total = total + fold of x[0..n)
  void (*row)(const void* functor, const void* x, int64_t n, const void* param, void* total);
  /// parts[j] = parts[j] + fold of x[j + k * stride] for k in [0, rows), j in [0, n)
  void (*columns)(const void* functor, const void* x, int64_t rows, int64_t stride, int64_t n,
                  const void* params, void* parts);
  void (*clear_parts)(void* parts, int64_t n);
  void (*clear_totals)(void* totals, int64_t n);
  /// totals[j % period] = totals[j % period] + parts[j]
  void (*flush)(const void* parts, int64_t n, int64_t period, void* totals);
  void (*join)(void* totals, const void* more, int64_t n);
  void (*done)(const void* functor, void* totals, const void* params, int64_t n);
};

/// A set of dims, one bit each.
using DimSet = uint32_t;

/// y = fold of x over `dims`. y is contiguous and holds what remains, with or without dims of size
/// 1 in the place of the reduced ones; so does `param`, which is of dtype `reducer.in`.
void reduce(const Tensor& x, DimSet dims, const Reducer& reducer, const Tensor& y,
            const Tensor* param = nullptr);

}  // namespace rille::cpu
