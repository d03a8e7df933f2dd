// batch_norm and its gradients: each channel of x [batch, channels, size] is normalised by its own
// mean and variance. Storage is any floating dtype; the arithmetic is float (double for f64) and
// rounds once, at the store. Statistics have the accumulator type: double for f64, else float. A
// channel is one thread's work, so that bits do not depend on the number of threads. Called by ops.
#pragma once
#include <cstdint>

#include "core/dtype.h"
#include "cpu/rows.h"

namespace rille::cpu {

/// The layout of x, contiguous; `size` is the product of the dims behind the channels.
struct Channels {
  int64_t batch, channels, size;
};

/// y = (x - mean) / sqrt(var + eps) * weight + bias. With `of_batch`, mean and var [channels] are
/// those of x, var biased, and written first; else they are read.
void batch_norm(DType d, const void* x, Channels shape, Affine affine, double eps, bool of_batch,
                void* mean, void* var, void* y);

/// With g = dy * weight and xhat = (x - mean) * rstd: dx = rstd * (g - mean(g) - xhat * mean(g *
/// xhat)), or rstd * g where the statistics are not those of the batch.
void batch_norm_backward(DType d, const void* x, const void* dy, Channels shape, Affine affine,
                         const void* mean, const void* rstd, bool of_batch, NormGrads grads);

}  // namespace rille::cpu
