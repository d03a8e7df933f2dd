// The elementwise part of a step of an LSTM or a GRU, and its gradient. Backward works the
// activations out again from the gates, so forward keeps nothing. Rows are contiguous, of any
// floating dtype; arithmetic is that of the accumulator. Called by ops/recurrent.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille::cpu {

/// gates are [rows, 4 hidden]: i, f, g, o. i, f, o go through sigmoid, g through tanh:
/// c' = f c + i g, h' = o tanh(c').
struct LstmStep {
  int64_t rows, hidden;
  const void *gates, *c;
};
void lstm_step(DType d, const LstmStep& s, void* next_h, void* next_c);
void lstm_step_backward(DType d, const LstmStep& s, const void* dh, const void* dnext_c,
                        void* dgates, void* dc);

/// Both gates are [rows, 3 hidden]: r, z, n. r = sigmoid(xr + hr), z = sigmoid(xz + hz),
/// n = tanh(xn + r hn), h' = n + z (h - n).
struct GruStep {
  int64_t rows, hidden;
  const void *x_gates, *h_gates, *h;
};
void gru_step(DType d, const GruStep& s, void* next_h);
void gru_step_backward(DType d, const GruStep& s, const void* dnext_h, void* dx_gates,
                       void* dh_gates, void* dh);

}  // namespace rille::cpu
