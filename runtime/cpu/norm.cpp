// layer_norm and rms_norm: one row in the first-level cache, read twice. rms_norm is layer_norm
// without the mean, so both are instances of the same rows.
#include <algorithm>
#include <cmath>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/reduce_row.h"
#include "cpu/row_access.h"
#include "cpu/rows.h"

namespace rille::cpu {
namespace {

template <class A>
struct Stats {
  A mean, rstd;
};

template <class A, bool kCentred>
RILLE_CLONES Stats<A> stats_row(const A* x, int64_t n, A eps) {
  A mean = 0;
  if (kCentred) {
    LaneSum<A> sum;
    for (Pieces p(n); p.more(); p.next())
      each_lane<A>(p.begin, p.end, [&](int64_t i, int64_t j) { sum.lane[j] += x[i]; });
    mean = sum.total() / static_cast<A>(n);
  }
  LaneSum<A> square;
  for (Pieces p(n); p.more(); p.next())
    each_lane<A>(p.begin, p.end,
                 [&](int64_t i, int64_t j) { square.lane[j] += (x[i] - mean) * (x[i] - mean); });
  return {mean, A(1) / std::sqrt(square.total() / static_cast<A>(n) + eps)};
}

template <class A, bool kCentred>
RILLE_CLONES void normalise_row(const A* x, const A* w, const A* b, Stats<A> s, A* y, int64_t n) {
  const A mean = kCentred ? s.mean : A(0);
  if (w && b) {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
      for (int64_t i = p.begin; i < p.end; ++i) y[i] = (x[i] - mean) * s.rstd * w[i] + b[i];
    }
  } else if (w) {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
      for (int64_t i = p.begin; i < p.end; ++i) y[i] = (x[i] - mean) * s.rstd * w[i];
    }
  } else if (b) {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
      for (int64_t i = p.begin; i < p.end; ++i) y[i] = (x[i] - mean) * s.rstd + b[i];
    }
  } else {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
      for (int64_t i = p.begin; i < p.end; ++i) y[i] = (x[i] - mean) * s.rstd;
    }
  }
}

template <class A>
struct Sums {
  A g, gx;  // of the gradient of xhat, and of its product with x - mean
};

// g(i) is the gradient of xhat[i]. dw and db, which rows share, are summed on the way.
template <class A, class G>
[[gnu::always_inline]] inline Sums<A> sums_of(const A* x, const A* dy, G g, Stats<A> s, A* dw,
                                              A* db, int64_t n) {
  LaneSum<A> sum_g, sum_gx;
  if (dw && db) {
    for (Pieces p(n); p.more(); p.next())
      each_lane<A>(p.begin, p.end, [&](int64_t i, int64_t j) {
        const A centred = x[i] - s.mean;
        sum_g.lane[j] += g(i);
        sum_gx.lane[j] += g(i) * centred;
        dw[i] += dy[i] * (centred * s.rstd);
        db[i] += dy[i];
      });
    return {sum_g.total(), sum_gx.total()};
  }
  for (Pieces p(n); p.more(); p.next())
    each_lane<A>(p.begin, p.end, [&](int64_t i, int64_t j) {
      sum_g.lane[j] += g(i);
      sum_gx.lane[j] += g(i) * (x[i] - s.mean);
    });
#pragma omp simd
  for (int64_t i = 0; i < (dw ? n : 0); ++i) dw[i] += dy[i] * ((x[i] - s.mean) * s.rstd);
#pragma omp simd
  for (int64_t i = 0; i < (db ? n : 0); ++i) db[i] += dy[i];
  return {sum_g.total(), sum_gx.total()};
}

template <class A>
RILLE_CLONES Sums<A> sums_row(const A* x, const A* dy, const A* w, Stats<A> s, A* dw, A* db,
                              int64_t n) {
  if (w)
    return sums_of(
        x, dy, [=](int64_t i) { return dy[i] * w[i]; }, s, dw, db, n);
  return sums_of(
      x, dy, [=](int64_t i) { return dy[i]; }, s, dw, db, n);
}

template <class A, bool kCentred>
RILLE_CLONES void dx_row(const A* x, const A* dy, const A* w, Stats<A> s, Sums<A> sums, A* dx,
                         int64_t n) {
  const A count = static_cast<A>(n);
  const A mean_g = kCentred ? sums.g / count : A(0), mean_gx = sums.gx * s.rstd / count;
  if (w) {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
      for (int64_t i = p.begin; i < p.end; ++i)
        dx[i] = s.rstd * (dy[i] * w[i] - mean_g - (x[i] - s.mean) * s.rstd * mean_gx);
    }
  } else {
    for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
      for (int64_t i = p.begin; i < p.end; ++i)
        dx[i] = s.rstd * (dy[i] - mean_g - (x[i] - s.mean) * s.rstd * mean_gx);
    }
  }
}

template <class A>
RILLE_CLONES void add_row(const A* x, A* y, int64_t n) {
  for (Pieces p(n); p.more(); p.next()) {
#pragma omp simd
    for (int64_t i = p.begin; i < p.end; ++i) y[i] += x[i];
  }
}

// An affine's vector as accumulator values for the whole call.
template <class A>
class Vector {
 public:
  Vector(DType d, const void* data, int64_t n) : reader_(d, data, data ? n : 0) {
    if (data) values_ = reader_.at(0);
  }
  const A* get() const { return values_; }

 private:
  RowReader<A> reader_;
  const A* values_ = nullptr;
};

struct Forward {
  DType d;
  const void* x;
  Affine affine;
  double eps;
  void *y, *mean, *rstd;
  int64_t rows, n;
};

template <class A, bool kCentred>
void forward(const Forward& f) {
  const Vector<A> w(f.affine.dtype, f.affine.weight, f.n), b(f.affine.dtype, f.affine.bias, f.n);
  parallel_evenly(f.rows, rows_per_chunk(f.n), 1, [&](int64_t begin, int64_t end) {
    RowReader<A> in(f.d, f.x, f.n);
    RowWriter<A> out(f.d, f.y, f.n, f.rows);
    for (int64_t r = begin; r < end; ++r) {
      const A* x = in.at(r * f.n);
      const Stats<A> s = stats_row<A, kCentred>(x, f.n, static_cast<A>(f.eps));
      normalise_row<A, kCentred>(x, w.get(), b.get(), s, out.at(r * f.n), f.n);
      out.done();
      if (f.mean) static_cast<A*>(f.mean)[r] = s.mean;
      if (f.rstd) static_cast<A*>(f.rstd)[r] = s.rstd;
    }
  });
}

struct Backward {
  DType d;
  const void *x, *dy;
  Affine affine;
  const void *mean, *rstd;
  NormGrads grads;
  int64_t rows, n;
};

template <class A, bool kCentred>
void backward_rows(const Backward& b, const A* w, int64_t begin, int64_t end, A* dw, A* db) {
  RowReader<A> value(b.d, b.x, b.n), slope(b.d, b.dy, b.n);
  RowWriter<A> out(b.d, b.grads.dx, b.n, b.rows);
  Poll poll;
  for (int64_t r = begin; r < end; ++r) {
    poll(b.n);
    const A *x = value.at(r * b.n), *dy = slope.at(r * b.n);
    const Stats<A> s{kCentred ? static_cast<const A*>(b.mean)[r] : A(0),
                     static_cast<const A*>(b.rstd)[r]};
    const Sums<A> sums = sums_row(x, dy, w, s, dw, db, b.n);
    if (!b.grads.dx) continue;
    dx_row<A, kCentred>(x, dy, w, s, sums, out.at(r * b.n), b.n);
    out.done();
  }
}

// Sums over the rows: one partial sum for each of at most 32 chunks, whose number depends on the
// sizes alone, added up in order.
template <class A, bool kCentred>
void backward(const Backward& b) {
  const Vector<A> w(b.affine.dtype, b.affine.weight, b.n);
  const int64_t per_chunk = std::max(rows_per_chunk(b.n), (b.rows + 31) / 32);
  const int64_t chunks = (b.rows + per_chunk - 1) / per_chunk;
  const bool want_dw = b.grads.dweight, want_db = b.grads.dbias;
  Scratch<A> dw(want_dw ? std::max<int64_t>(1, chunks) * b.n : 0);
  Scratch<A> db(want_db ? std::max<int64_t>(1, chunks) * b.n : 0);
  if (want_dw) std::fill_n(dw.data(), std::max<int64_t>(1, chunks) * b.n, A(0));
  if (want_db) std::fill_n(db.data(), std::max<int64_t>(1, chunks) * b.n, A(0));
  parallel_for(chunks, 1, [&](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c)
      backward_rows<A, kCentred>(b, w.get(), c * per_chunk, std::min(b.rows, (c + 1) * per_chunk),
                                 want_dw ? dw.data() + c * b.n : nullptr,
                                 want_db ? db.data() + c * b.n : nullptr);
  });
  for (int64_t c = 1; c < chunks; ++c) {
    if (want_dw) add_row(dw.data() + c * b.n, dw.data(), b.n);
    if (want_db) add_row(db.data() + c * b.n, db.data(), b.n);
  }
  if (want_dw) convert(kDType<A>, dw.data(), b.affine.dtype, b.grads.dweight, b.n);
  if (want_db) convert(kDType<A>, db.data(), b.affine.dtype, b.grads.dbias, b.n);
}

}  // namespace

void layer_norm(DType d, const void* x, Affine affine, double eps, void* y, void* mean, void* rstd,
                int64_t rows, int64_t n) {
  with_accumulator(d, [&]<class A>() {
    forward<A, true>({d, x, affine, eps, y, mean, rstd, rows, n});
  });
}

void rms_norm(DType d, const void* x, Affine affine, double eps, void* y, void* rstd, int64_t rows,
              int64_t n) {
  with_accumulator(d, [&]<class A>() {
    forward<A, false>({d, x, affine, eps, y, nullptr, rstd, rows, n});
  });
}

void layer_norm_backward(DType d, const void* x, const void* dy, Affine affine, const void* mean,
                         const void* rstd, NormGrads grads, int64_t rows, int64_t n) {
  with_accumulator(d, [&]<class A>() {
    backward<A, true>({d, x, dy, affine, mean, rstd, grads, rows, n});
  });
}

void rms_norm_backward(DType d, const void* x, const void* dy, Affine affine, const void* rstd,
                       NormGrads grads, int64_t rows, int64_t n) {
  with_accumulator(d, [&]<class A>() {
    backward<A, false>({d, x, dy, affine, nullptr, rstd, grads, rows, n});
  });
}

}  // namespace rille::cpu
