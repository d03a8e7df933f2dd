// Fused kernels over rows: softmax family, normalisations, cross-entropy, lookups. One pass over
// memory each, nothing of the size of the input is made on the way.
// Storage is any floating dtype; the arithmetic is float (double for f64) and rounds once, at the
// store. "stat" pointers (mean, rstd, lse, loss) and row scales hold the accumulator type: double
// for f64, else float. Bits do not depend on the number of threads. Called by ops and optim.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille::cpu {

/// The layout outer x n x inner, reduced over n. The last dimension has inner == 1.
struct Axis {
  int64_t outer, n, inner = 1;
};

/// y = exp(x - max) / sum exp(x - max). y may be x.
void softmax(DType d, const void* x, void* y, Axis axis);
/// y = x - max - log(sum exp(x - max)). y may be x.
void log_softmax(DType d, const void* x, void* y, Axis axis);
/// dx = y * (dy - sum(y * dy)). dx may be dy.
void softmax_backward(DType d, const void* y, const void* dy, void* dx, Axis axis);
/// dx = dy - exp(y) * sum(dy). dx may be dy.
void log_softmax_backward(DType d, const void* y, const void* dy, void* dx, Axis axis);
/// y[outer, inner] = max + log(sum exp(x - max)), stored as d; -inf for a row of -inf.
void logsumexp(DType d, const void* x, void* y, Axis axis);

/// A scale or shift of [n], possibly absent (null) and of its own dtype.
struct Affine {
  DType dtype = DType::f32;
  const void* weight = nullptr;
  const void* bias = nullptr;
};

/// xhat = (x - mean) * rstd; y = xhat * weight + bias; rstd = 1 / sqrt(var + eps), var over n.
void layer_norm(DType d, const void* x, Affine affine, double eps, void* y, void* mean, void* rstd,
                int64_t rows, int64_t n);
/// y = x * rstd * weight; rstd = 1 / sqrt(mean(x^2) + eps).
void rms_norm(DType d, const void* x, Affine affine, double eps, void* y, void* rstd, int64_t rows,
              int64_t n);

/// What a normalisation's backward shall compute; null means not wanted. dweight and dbias have the
/// dtype of the affine.
struct NormGrads {
  void* dx = nullptr;
  void* dweight = nullptr;
  void* dbias = nullptr;
};
/// With g = dy * weight: dx = rstd * (g - mean(g) - xhat * mean(g * xhat)).
void layer_norm_backward(DType d, const void* x, const void* dy, Affine affine, const void* mean,
                         const void* rstd, NormGrads grads, int64_t rows, int64_t n);
/// dx = rstd * (g - xhat * mean(g * xhat)).
void rms_norm_backward(DType d, const void* x, const void* dy, Affine affine, const void* rstd,
                       NormGrads grads, int64_t rows, int64_t n);

/// Softmax cross-entropy against class ids.
struct CrossEntropy {
  int64_t rows, classes;
  const int64_t* targets;
  const void* class_weight = nullptr;  // [classes], accumulator type
  int64_t ignore_index = -100;
  double label_smoothing = 0;
};
struct CrossEntropyTotals {
  double weight = 0;     // sum of class_weight[target] over rows that count: a mean divides by it
  int64_t counted = 0;   // rows that are not ignored
  int64_t bad_row = -1;  // first row whose target is no class, or -1; nothing else is valid then
};
/// loss = (1 - s) * w[t] * (lse - x[t]) + s / classes * sum_c w[c] * (lse - x[c]); 0 if ignored.
/// Writes loss[rows] and lse[rows, 2], the maximum of a row and the logarithm of the sum of
/// exp(x - maximum); either may be null. In one number the logarithm would be lost beside a large
/// maximum.
CrossEntropyTotals cross_entropy(DType d, const void* logits, const CrossEntropy& args, void* loss,
                                 void* lse);
/// dlogits = scale * dloss/dlogits, zero in ignored rows. The scale of row i is
/// scale[i * scale_stride], accumulator type. dlogits may be logits.
void cross_entropy_backward(DType d, const void* logits, const CrossEntropy& args, const void* lse,
                            const void* scale, int64_t scale_stride, void* dlogits);

/// Rows picked by id: out[outer, count, row] = table[outer, rows, row], any dtype by its bytes.
/// Returns the first position whose id is outside [0, rows), having written nothing, or -1.
struct Lookup {
  int64_t outer, rows, count;
  const int64_t* ids;
};
int64_t take_rows(const Lookup& args, int64_t row_bytes, const void* table, void* out);

/// The gradient of take_rows: dtable[outer, id] (+)= sum of dy[outer, position] over the positions
/// that hold id, in their order. Without `accumulate` every row is written, 0 where no id points;
/// with it, rows that no id points to are left alone. Positions that hold `skip` are left out.
/// Returns as take_rows does.
int64_t add_rows(DType d, const Lookup& args, int64_t width, const void* dy, void* dtable,
                 bool accumulate = false, int64_t skip = -1);

}  // namespace rille::cpu
