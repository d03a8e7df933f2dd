// Connectionist temporal classification (Graves et al., 2006): the probability of a label sequence
// summed over all its alignments, in logarithms. The labels of a row, with blanks between and
// around them, make states = 2 * labels + 1; alpha[n, t, s] is the log-probability of all ways to
// state s at time t, the emission at t included. Rows run in parallel, each in a fixed order, so
// bits do not depend on the number of threads. x and alpha are of type A. Called by ops/ctc_loss.
#pragma once
#include <cstdint>

namespace rille::cpu {

struct Ctc {
  int64_t time, batch, classes;  // x is [time, batch, classes]
  int64_t labels;                // targets are [batch, labels]
  const int64_t* targets;
  const int64_t* input_lengths;   // [batch], each at most time
  const int64_t* target_lengths;  // [batch], each at most labels
  int64_t blank;
  int64_t states() const { return 2 * labels + 1; }
};

/// loss[n] = -log p(targets[n] | x[:, n]); inf where no alignment fits. alpha[batch, time, states]
/// is kept for backward.
template <class A>
void ctc_forward(const Ctc& c, const A* x, A* loss, A* alpha);

/// dx[t, n, k] = -dloss[n] * (probability that class k is emitted at t, given the labels); 0 past
/// the row's length and for rows whose loss is infinite.
template <class A>
void ctc_backward(const Ctc& c, const A* x, const A* loss, const A* alpha, const A* dloss, A* dx);

}  // namespace rille::cpu
