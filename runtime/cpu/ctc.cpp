#include "cpu/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/budget.h"
#include "core/threads.h"

namespace rille::cpu {
namespace {

template <class A>
constexpr A kNever = -std::numeric_limits<A>::infinity();

constexpr int64_t kStateWork = 8;  // elements that one state with its exponentials counts for

template <class A>
A log_sum(A a, A b, A c) {
  const A m = std::max({a, b, c});
  if (m == kNever<A>) return m;
  return m + std::log(std::exp(a - m) + std::exp(b - m) + std::exp(c - m));
}

// One row: states 0, 2, 4... are blanks, state 2 i + 1 is label i.
template <class A>
class Row {
 public:
  Row(const Ctc& c, const A* x, int64_t n)
      : c_(c),
        x_(x + n * c.classes),
        labels_(c.targets + n * c.labels),
        time(c.input_lengths[n]),
        states(2 * c.target_lengths[n] + 1) {}

  int64_t label(int64_t s) const { return s % 2 == 0 ? c_.blank : labels_[s / 2]; }
  A emission(int64_t t, int64_t s) const { return x_[t * c_.batch * c_.classes + label(s)]; }
  /// Whether s may follow s - 2: not past a blank, nor between equal labels.
  bool skips(int64_t s) const { return s % 2 == 1 && s >= 3 && label(s) != label(s - 2); }

  /// The logarithm of the sum over the last two states.
  A last(const A* row) const {
    return log_sum(row[states - 1], states > 1 ? row[states - 2] : kNever<A>, kNever<A>);
  }

 private:
  const Ctc& c_;
  const A* x_;
  const int64_t* labels_;

 public:
  const int64_t time, states;
};

template <class A>
A forward_row(const Row<A>& row, int64_t stride, A* alpha) {
  if (row.time == 0) return row.states == 1 ? A(0) : -kNever<A>;
  for (int64_t s = 0; s < row.states; ++s) alpha[s] = s < 2 ? row.emission(0, s) : kNever<A>;
  Poll poll;
  for (int64_t t = 1; t < row.time; ++t, poll(kStateWork * row.states)) {
    const A* before = alpha + (t - 1) * stride;
    A* now = alpha + t * stride;
    for (int64_t s = 0; s < row.states; ++s) {
      const A step = s > 0 ? before[s - 1] : kNever<A>;
      const A skip = row.skips(s) ? before[s - 2] : kNever<A>;
      now[s] = log_sum(before[s], step, skip) + row.emission(t, s);
    }
  }
  return -row.last(alpha + (row.time - 1) * stride);
}

// beta[s]: the log-probability of all ways from state s at time t to the end, without the emission
// at t. Moves it from t + 1 to t.
template <class A>
void step_back(const Row<A>& row, int64_t t, CountedVector<A>& beta) {
  for (int64_t s = 0; s < row.states; ++s) beta[static_cast<size_t>(s)] += row.emission(t + 1, s);
  for (int64_t s = 0; s < row.states; ++s) {
    const auto at = [&](int64_t i) { return beta[static_cast<size_t>(i)]; };
    const A step = s + 1 < row.states ? at(s + 1) : kNever<A>;
    const A skip = s + 2 < row.states && row.skips(s + 2) ? at(s + 2) : kNever<A>;
    beta[static_cast<size_t>(s)] = log_sum(at(s), step, skip);
  }
}

template <class A>
void backward_row(const Ctc& c, const Row<A>& row, A loss, const A* alpha, A dloss, A* dx) {
  if (std::isinf(loss) || dloss == 0) return;
  CountedVector<A> beta(static_cast<size_t>(row.states), kNever<A>);
  for (int64_t s = std::max<int64_t>(0, row.states - 2); s < row.states; ++s)
    beta[static_cast<size_t>(s)] = 0;
  Poll poll;
  for (int64_t t = row.time - 1; t >= 0; --t, poll(kStateWork * row.states)) {
    if (t < row.time - 1) step_back(row, t, beta);
    const A* now = alpha + t * c.states();
    for (int64_t s = 0; s < row.states; ++s)
      dx[t * c.batch * c.classes + row.label(s)] -=
          dloss * std::exp(now[s] + beta[static_cast<size_t>(s)] + loss);
  }
}

}  // namespace

template <class A>
void ctc_forward(const Ctc& c, const A* x, A* loss, A* alpha) {
  parallel_for(c.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      loss[n] = forward_row(Row<A>(c, x, n), c.states(), alpha + n * c.time * c.states());
  });
}

template <class A>
void ctc_backward(const Ctc& c, const A* x, const A* loss, const A* alpha, const A* dloss, A* dx) {
  polled(c.time * c.batch * c.classes,
         [&](int64_t i, int64_t end) { std::fill(dx + i, dx + end, A(0)); });
  parallel_for(c.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      backward_row(c, Row<A>(c, x, n), loss[n], alpha + n * c.time * c.states(), dloss[n],
                   dx + n * c.classes);
  });
}

template void ctc_forward(const Ctc&, const float*, float*, float*);
template void ctc_forward(const Ctc&, const double*, double*, double*);
template void ctc_backward(const Ctc&, const float*, const float*, const float*, const float*,
                           float*);
template void ctc_backward(const Ctc&, const double*, const double*, const double*, const double*,
                           double*);

}  // namespace rille::cpu
