// Windows of images: y[c, ky, kx, oy, ox] = x[c, oy s - p + ky d, ox s - p + kx d], zero outside,
// and its adjoint, which adds. Memory-bound; planes (images times channels) are spread over
// threads.
#pragma once
#include "core/tensor.h"

namespace rille::cpu {

/// Index 0 is the vertical dim, 1 the horizontal one.
struct Windows {
  int64_t planes;
  int64_t size[2], kernel[2], dilation[2], padding[2], stride[2], count[2];
};

/// columns [planes, kh, kw, oh, ow] = windows of images [planes, h, w]; contiguous, of one dtype.
void unfold_windows(const Windows& w, const Tensor& images, const Tensor& columns);
/// The reverse way: images are the sums of what falls on a pixel, in a fixed order.
void fold_windows(const Windows& w, const Tensor& columns, const Tensor& images);

}  // namespace rille::cpu
