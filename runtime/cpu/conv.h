// Convolutions of 1, 2 or 3 spatial dimensions on contiguous memory: x [batch, in_channels, in...],
// w [out_channels, in_channels / groups, kernel...], y [batch, out_channels, out...].
//   y[b, o, t] = bias[o] + sum over c, k of x[b, c, t * stride + k * dilation - pad_begin] w[o, c,
//   k]
// The two gradients are the transposes of this map, whatever the geometry; a transposed convolution
// is conv_backward_data with its sizes given. Sums as in gemm.h; the same bits on every run.
// Called by the conv ops, which have checked the sizes.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "core/sizes.h"

namespace rille::cpu {

struct Conv {
  int dims = 2;  // how many entries of the arrays below count
  int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  int64_t pad_begin[3] = {0, 0, 0}, pad_end[3] = {0, 0, 0};
};

/// Output size of one dimension; 0 where the kernel does not fit.
inline int64_t conv_out(int64_t in, int64_t kernel, int64_t stride, int64_t dilation,
                        int64_t pad_begin, int64_t pad_end) {
  const int64_t room = window_room(in, kernel, dilation, pad_begin, pad_end);
  return room < 0 ? 0 : room / stride + 1;
}

enum class ConvPass { forward, backward_data, backward_weights };

/// y from x and w; `bias` holds out_channels or is null.
void conv_forward(DType dtype, const Conv& c, const void* x, const void* w, void* y,
                  const void* bias = nullptr);
/// dx from dy and w; `bias` (of in_channels) is for transposed convolutions.
void conv_backward_data(DType dtype, const Conv& c, const void* dy, const void* w, void* dx,
                        const void* bias = nullptr);
/// dw from x and dy.
void conv_backward_weights(DType dtype, const Conv& c, const void* x, const void* dy, void* dw);

/// The same without oneDNN. Operands in the order of the functions above, the result last.
void conv_builtin(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
                  void* result, const void* bias = nullptr);

}  // namespace rille::cpu
