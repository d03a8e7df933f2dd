// Pooling over windows of 1, 2 or 3 spatial dimensions: x [planes, in...], y [planes, out...],
// where planes = batch * channels. Sums and quotients are taken in the accumulator type and rounded
// once. Each plane is one thread's work, in a fixed order: the same bits on any number of threads.
// Called by the pooling ops, which have checked the sizes.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille::cpu {

struct Pool {
  int dims = 2;  // how many entries of the arrays below count
  int64_t planes = 1;
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  int64_t pad_begin[3] = {0, 0, 0}, pad_end[3] = {0, 0, 0};
  bool adaptive = false;      // window i is [i * in / out, ceil((i + 1) * in / out)); no kernel
  bool count_padding = true;  // avg: padding counts as zeros
  int64_t divisor = 0;        // avg: instead of the number of elements, unless 0
};

/// Output size of one dimension. With `ceil` a last window may hang over the end, as long as it
/// starts inside the input or the padding before it.
int64_t pool_out(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad_begin,
                 int64_t pad_end, bool ceil);

/// y = the window's largest element, nan if it has one; `ids` (may be null) = its place in the
/// flattened spatial input, the first of equals (of nans the last). Padding is never chosen; a
/// window with nothing else gives the lowest value and -1. Any dtype.
void max_pool(DType dtype, const Pool& p, const void* x, void* y, int64_t* ids);
/// dx[ids] += dy, the rest 0.
void max_pool_backward(DType dtype, const Pool& p, const void* dy, const int64_t* ids, void* dx);

/// y = sum of the window over its size. Any dtype but boolean; integers divide towards zero.
void avg_pool(DType dtype, const Pool& p, const void* x, void* y);
void avg_pool_backward(DType dtype, const Pool& p, const void* dy, void* dx);

}  // namespace rille::cpu
