#include <cmath>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/fast_exp.h"
#include "cpu/reduce_row.h"
#include "cpu/row_access.h"
#include "cpu/rows.h"
#include "cpu/softmax_columns.h"

namespace rille::cpu {
namespace {

template <class A>
RILLE_CLONES void softmax_row(const A* x, A* y, int64_t n) {
  const A m = row_max(x, n);
  A sum = 0;
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = p.begin; i < p.end; ++i) {
      const A e = fast_exp(x[i] - m);
      y[i] = e;
      sum += e;
    }
  }
  const A inverse = A(1) / sum;
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
    for (int64_t i = p.begin; i < p.end; ++i) y[i] *= inverse;
  }
}

template <class A>
RILLE_CLONES A logsumexp_row(const A* x, int64_t n) {
  const A m = row_max(x, n);
  if (std::isinf(m)) {  // all -inf, or one inf: that is the answer, unless there is a nan
    for (int64_t i = 0; i < n; ++i)
      if (std::isnan(x[i])) return x[i];
    return m;
  }
  A sum = 0;
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = p.begin; i < p.end; ++i) sum += fast_exp(x[i] - m);
  }
  return m + math::log(sum);
}

template <class A>
RILLE_CLONES void log_softmax_row(const A* x, A* y, int64_t n) {
  const A m = row_max(x, n);
  A sum = 0;
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = p.begin; i < p.end; ++i) sum += fast_exp(x[i] - m);
  }
  const A log_sum = math::log(sum);
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
    for (int64_t i = p.begin; i < p.end; ++i) y[i] = (x[i] - m) - log_sum;
  }
}

template <class A>
RILLE_CLONES void softmax_backward_row(const A* y, const A* dy, A* dx, int64_t n) {
  A dot = 0;
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd reduction(+ : dot)
    for (int64_t i = p.begin; i < p.end; ++i) dot += y[i] * dy[i];
  }
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
    for (int64_t i = p.begin; i < p.end; ++i) dx[i] = y[i] * (dy[i] - dot);
  }
}

template <class A>
RILLE_CLONES void log_softmax_backward_row(const A* y, const A* dy, A* dx, int64_t n) {
  A sum = 0;
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = p.begin; i < p.end; ++i) sum += dy[i];
  }
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
    for (int64_t i = p.begin; i < p.end; ++i) dx[i] = dy[i] - fast_exp(y[i]) * sum;
  }
}

template <class A>
using RowMap = void (*)(const A*, A*, int64_t);
template <class A>
using RowMap2 = void (*)(const A*, const A*, A*, int64_t);

template <class A>
void map_rows(DType d, const void* x, void* y, Axis axis, RowMap<A> map) {
  parallel_evenly(axis.outer, rows_per_chunk(axis.n), 1, [&](int64_t begin, int64_t end) {
    RowReader<A> in(d, x, axis.n);
    RowWriter<A> out(d, y, axis.n, axis.outer);
    for (int64_t r = begin; r < end; ++r) {
      map(in.at(r * axis.n), out.at(r * axis.n), axis.n);
      out.done();
    }
  });
}

template <class A>
void map_rows(DType d, const void* y, const void* dy, void* dx, Axis axis, RowMap2<A> map) {
  parallel_evenly(axis.outer, rows_per_chunk(axis.n), 1, [&](int64_t begin, int64_t end) {
    RowReader<A> value(d, y, axis.n), slope(d, dy, axis.n);
    RowWriter<A> out(d, dx, axis.n, axis.outer);
    for (int64_t r = begin; r < end; ++r) {
      map(value.at(r * axis.n), slope.at(r * axis.n), out.at(r * axis.n), axis.n);
      out.done();
    }
  });
}

}  // namespace

void softmax(DType d, const void* x, void* y, Axis axis) {
  if (axis.inner != 1) return over_columns(Columns::softmax, d, x, nullptr, y, axis);
  with_accumulator(d, [&]<class A>() { map_rows<A>(d, x, y, axis, softmax_row<A>); });
}

void log_softmax(DType d, const void* x, void* y, Axis axis) {
  if (axis.inner != 1) return over_columns(Columns::log_softmax, d, x, nullptr, y, axis);
  with_accumulator(d, [&]<class A>() { map_rows<A>(d, x, y, axis, log_softmax_row<A>); });
}

void softmax_backward(DType d, const void* y, const void* dy, void* dx, Axis axis) {
  if (axis.inner != 1) return over_columns(Columns::softmax_backward, d, y, dy, dx, axis);
  with_accumulator(d, [&]<class A>() { map_rows<A>(d, y, dy, dx, axis, softmax_backward_row<A>); });
}

void log_softmax_backward(DType d, const void* y, const void* dy, void* dx, Axis axis) {
  if (axis.inner != 1) return over_columns(Columns::log_softmax_backward, d, y, dy, dx, axis);
  with_accumulator(
      d, [&]<class A>() { map_rows<A>(d, y, dy, dx, axis, log_softmax_backward_row<A>); });
}

void logsumexp(DType d, const void* x, void* y, Axis axis) {
  if (axis.inner != 1) return over_columns(Columns::logsumexp, d, x, nullptr, y, axis);
  with_accumulator(d, [&]<class A>() {
    parallel_evenly(axis.outer, rows_per_chunk(axis.n), 1, [&](int64_t begin, int64_t end) {
      RowReader<A> in(d, x, axis.n);
      for (int64_t r = begin; r < end; ++r) {
        const A value = logsumexp_row(in.at(r * axis.n), axis.n);
        convert(kDType<A>, &value, d, element(y, d, r), 1);
      }
    });
  });
}

}  // namespace rille::cpu
