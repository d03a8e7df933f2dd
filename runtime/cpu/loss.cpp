// Cross-entropy of logits [rows, classes] against class ids. Forward reads a row twice, the second
// time from the cache; backward reads and writes it once. Bound by memory above some 10^4 classes.
#include <algorithm>
#include <cmath>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/fast_exp.h"
#include "cpu/reduce_row.h"
#include "cpu/row_access.h"
#include "cpu/rows.h"

namespace rille::cpu {
namespace {

template <class A>
struct RowSums {
  A max, exp;  // sum of exp(x - max)
  A weighted;  // sum of w * (x - max), for label smoothing
};

template <class A>
RILLE_CLONES RowSums<A> sums_row(const A* x, const A* w, bool smooth, int64_t n) {
  const A m = row_max(x, n);
  A sum = 0, weighted = 0;
  if (!smooth) {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd reduction(+ : sum)
      for (int64_t i = p.begin; i < p.end; ++i) sum += fast_exp(x[i] - m);
    }
  } else if (!w) {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd reduction(+ : sum, weighted)
      for (int64_t i = p.begin; i < p.end; ++i) {
        sum += fast_exp(x[i] - m);
        weighted += x[i] - m;
      }
    }
  } else {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd reduction(+ : sum, weighted)
      for (int64_t i = p.begin; i < p.end; ++i) {
        sum += fast_exp(x[i] - m);
        weighted += w[i] * (x[i] - m);
      }
    }
  }
  return {m, sum, weighted};
}

// What a row's exponentials are relative to: its maximum, and the logarithm of their sum.
template <class A>
struct LogSum {
  A max, log_sum;
};

// dx = scale * exp(x - lse) - shift * w; the target's own part is the caller's.
template <class A>
RILLE_CLONES void dlogits_row(const A* x, const A* w, LogSum<A> lse, A scale, A shift, A* dx,
                              int64_t n) {
  const A m = lse.max, log_sum = lse.log_sum;
  if (w && shift != 0) {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
      for (int64_t i = p.begin; i < p.end; ++i)
        dx[i] = scale * fast_exp((x[i] - m) - log_sum) - shift * w[i];
    }
  } else {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
      for (int64_t i = p.begin; i < p.end; ++i)
        dx[i] = scale * fast_exp((x[i] - m) - log_sum) - shift;
    }
  }
}

template <class A>
A total_weight(const CrossEntropy& c) {
  if (!c.class_weight) return static_cast<A>(c.classes);
  double sum = 0;
  for (int64_t i = 0; i < c.classes; ++i) sum += static_cast<const A*>(c.class_weight)[i];
  return static_cast<A>(sum);
}

template <class A>
A weight_of(const CrossEntropy& c, int64_t target) {
  return c.class_weight ? static_cast<const A*>(c.class_weight)[target] : A(1);
}

template <class A>
CrossEntropyTotals count(const CrossEntropy& c) {
  CrossEntropyTotals totals;
  Poll poll;
  for (int64_t r = 0; r < c.rows; ++r) {
    poll(1);
    const int64_t t = c.targets[r];
    if (t == c.ignore_index) continue;
    if (t < 0 || t >= c.classes) {
      totals.bad_row = r;
      return totals;
    }
    totals.weight += static_cast<double>(weight_of<A>(c, t));
    ++totals.counted;
  }
  return totals;
}

template <class A>
CrossEntropyTotals forward(DType d, const void* logits, const CrossEntropy& c, A* loss,
                           LogSum<A>* lse) {
  const CrossEntropyTotals totals = count<A>(c);
  if (totals.bad_row >= 0) return totals;
  const A s = static_cast<A>(c.label_smoothing), all = total_weight<A>(c);
  const A* w = static_cast<const A*>(c.class_weight);
  parallel_evenly(c.rows, rows_per_chunk(c.classes), 1, [&](int64_t begin, int64_t end) {
    RowReader<A> in(d, logits, c.classes);
    for (int64_t r = begin; r < end; ++r) {
      const A* x = in.at(r * c.classes);
      const RowSums<A> sums = sums_row(x, w, s != 0, c.classes);
      const A log_sum = math::log(sums.exp);
      if (lse) lse[r] = {sums.max, log_sum};
      if (!loss) continue;
      loss[r] = 0;
      if (c.targets[r] == c.ignore_index) continue;
      const int64_t t = c.targets[r];
      loss[r] = (1 - s) * weight_of<A>(c, t) * (log_sum - (x[t] - sums.max));
      if (s != 0) loss[r] += s / static_cast<A>(c.classes) * (all * log_sum - sums.weighted);
    }
  });
  return totals;
}

struct Backward {
  const void *lse, *scale;
  int64_t scale_stride;
};

template <class A>
void backward(DType d, const void* logits, const CrossEntropy& c, const Backward& b,
              void* dlogits) {
  const A s = static_cast<A>(c.label_smoothing), all = total_weight<A>(c);
  const A* w = static_cast<const A*>(c.class_weight);
  const A* scales = static_cast<const A*>(b.scale);
  parallel_evenly(c.rows, rows_per_chunk(c.classes), 1, [&](int64_t begin, int64_t end) {
    RowReader<A> in(d, logits, c.classes);
    RowWriter<A> out(d, dlogits, c.classes, c.rows);
    for (int64_t r = begin; r < end; ++r) {
      A* dx = out.at(r * c.classes);
      const int64_t t = c.targets[r];
      if (t == c.ignore_index) {
        std::fill_n(dx, c.classes, A(0));
      } else {
        const A scale = scales[r * b.scale_stride], target = scale * (1 - s) * weight_of<A>(c, t);
        const A shift = scale * s / static_cast<A>(c.classes);
        dlogits_row(in.at(r * c.classes), w, static_cast<const LogSum<A>*>(b.lse)[r],
                    target + shift * all, shift, dx, c.classes);
        dx[t] -= target;
      }
      out.done();
    }
  });
}

}  // namespace

CrossEntropyTotals cross_entropy(DType d, const void* logits, const CrossEntropy& args, void* loss,
                                 void* lse) {
  return with_accumulator(d, [&]<class A>() {
    return forward<A>(d, logits, args, static_cast<A*>(loss), static_cast<LogSum<A>*>(lse));
  });
}

void cross_entropy_backward(DType d, const void* logits, const CrossEntropy& args, const void* lse,
                            const void* scale, int64_t scale_stride, void* dlogits) {
  with_accumulator(d, [&]<class A>() {
    backward<A>(d, logits, args, {lse, scale, scale_stride}, dlogits);
  });
}

}  // namespace rille::cpu
