// Strips of 64 columns: maxima and sums of a strip are arrays of 64, updated row by row, so that
// all steps are vector operations. Rows of a strip lie `inner` apart, or, for 16-bit storage, in a
// copy.
#include "cpu/softmax_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/budget.h"
#include "core/macros.h"
#include "core/threads.h"
#include "cpu/fast_exp.h"
#include "cpu/row_access.h"

namespace rille::cpu {
namespace {

constexpr int64_t kStrip = 64;

template <class A>
struct Strip {
  const A *x, *dy;
  A* out;
  int64_t row;      // between rows of x and dy
  int64_t out_row;  // between rows of out
  int64_t n, width;
};

template <class A>
[[gnu::always_inline]] inline void maxima(const Strip<A>& s, A* m) {
  Poll poll;
  std::fill_n(m, kStrip, -std::numeric_limits<A>::infinity());
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k) {
      const A x = s.x[i * s.row + k];
      m[k] = x > m[k] ? x : m[k];
    }
  }
}

template <class A>
RILLE_CLONES void softmax_strip(const Strip<A> s) {
  Poll poll;
  A m[kStrip], sum[kStrip] = {};
  maxima(s, m);
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k) {
      const A e = fast_exp(s.x[i * s.row + k] - m[k]);
      s.out[i * s.out_row + k] = e;
      sum[k] += e;
    }
  }
  for (int64_t k = 0; k < s.width; ++k) sum[k] = A(1) / sum[k];
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k) s.out[i * s.out_row + k] *= sum[k];
  }
}

template <class A>
RILLE_CLONES void log_softmax_strip(const Strip<A> s) {
  Poll poll;
  A m[kStrip], sum[kStrip] = {};
  maxima(s, m);
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k) sum[k] += fast_exp(s.x[i * s.row + k] - m[k]);
  }
#pragma omp simd
  for (int64_t k = 0; k < s.width; ++k) sum[k] = math::log(sum[k]);
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k)
      s.out[i * s.out_row + k] = (s.x[i * s.row + k] - m[k]) - sum[k];
  }
}

// An infinite maximum is the answer itself, unless there is a nan: then the sum shows it.
template <class A>
RILLE_CLONES void logsumexp_strip(const Strip<A> s) {
  Poll poll;
  constexpr A infinity = std::numeric_limits<A>::infinity();
  A m[kStrip], sum[kStrip] = {};
  maxima(s, m);
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k) {
      const A x = s.x[i * s.row + k], less = std::fabs(m[k]) == infinity ? A(0) : m[k];
      sum[k] += fast_exp(x - less > A(0) ? A(0) : x - less);
    }
  }
#pragma omp simd
  for (int64_t k = 0; k < s.width; ++k)
    s.out[k] = std::fabs(m[k]) == infinity ? m[k] + A(0) * sum[k] : m[k] + math::log(sum[k]);
}

template <class A>
RILLE_CLONES void softmax_backward_strip(const Strip<A> s) {
  Poll poll;
  A dot[kStrip] = {};
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k) dot[k] += s.x[i * s.row + k] * s.dy[i * s.row + k];
  }
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k)
      s.out[i * s.out_row + k] = s.x[i * s.row + k] * (s.dy[i * s.row + k] - dot[k]);
  }
}

template <class A>
RILLE_CLONES void log_softmax_backward_strip(const Strip<A> s) {
  Poll poll;
  A sum[kStrip] = {};
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k) sum[k] += s.dy[i * s.row + k];
  }
  for (int64_t i = 0; i < s.n && !poll.over(s.width); ++i) {
#pragma omp simd
    for (int64_t k = 0; k < s.width; ++k)
      s.out[i * s.out_row + k] = s.dy[i * s.row + k] - fast_exp(s.x[i * s.row + k]) * sum[k];
  }
}

template <class A>
void run(Columns op, const Strip<A>& s) {
  switch (op) {
    case Columns::softmax: return softmax_strip(s);
    case Columns::log_softmax: return log_softmax_strip(s);
    case Columns::logsumexp: return logsumexp_strip(s);
    case Columns::softmax_backward: return softmax_backward_strip(s);
    case Columns::log_softmax_backward: return log_softmax_backward_strip(s);
  }
}

struct Call {
  Columns op;
  DType d;
  const void *x, *dy;
  void* out;
  Axis axis;
  int64_t out_rows() const { return op == Columns::logsumexp ? 1 : axis.n; }
};

template <class A>
const A* copied(DType d, const void* from, int64_t at, const Strip<A>& s, int64_t inner, A* room) {
  if (!from) return nullptr;
  for (int64_t i = 0; i < s.n; ++i)
    convert(d, element(from, d, at + i * inner), kDType<A>, room + i * kStrip, s.width);
  return room;
}

// Columns [column, column + width) of one outer index; `room` holds three strips of n rows.
template <class A>
void strip_at(const Call& c, int64_t outer, int64_t column, A* room) {
  const int64_t inner = c.axis.inner, n = c.axis.n;
  const int64_t at = outer * n * inner + column, to = outer * c.out_rows() * inner + column;
  Strip<A> s{nullptr, nullptr, nullptr, inner, inner, n, std::min(kStrip, inner - column)};
  char* target = element(c.out, c.d, to);
  if (c.d == kDType<A>) {
    s.x = reinterpret_cast<const A*>(element(c.x, c.d, at));
    if (c.dy) s.dy = reinterpret_cast<const A*>(element(c.dy, c.d, at));
    s.out = reinterpret_cast<A*>(target);
    return run(c.op, s);
  }
  s.row = s.out_row = kStrip;
  s.x = copied(c.d, c.x, at, s, inner, room);
  s.dy = copied(c.d, c.dy, at, s, inner, room + n * kStrip);
  s.out = room + 2 * n * kStrip;
  run(c.op, s);
  for (int64_t i = 0; i < c.out_rows(); ++i)
    convert(kDType<A>, s.out + i * kStrip, c.d, element(c.out, c.d, to + i * inner), s.width);
}

}  // namespace

void over_columns(Columns op, DType d, const void* x, const void* dy, void* out, Axis axis) {
  const Call call{op, d, x, dy, out, axis};
  const int64_t strips = (axis.inner + kStrip - 1) / kStrip;
  with_accumulator(d, [&]<class A>() {
    parallel_for(
        axis.outer * strips, rows_per_chunk(axis.n * kStrip), [&](int64_t begin, int64_t end) {
          Scratch<A> room(d == kDType<A> ? 0
                                         : (2 * axis.n + std::max<int64_t>(1, axis.n)) * kStrip);
          for (int64_t i = begin; i < end; ++i)
            strip_at(call, i / strips, i % strips * kStrip, room.data());
        });
  });
}

}  // namespace rille::cpu
