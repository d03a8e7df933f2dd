#include "cpu/scan.h"

#include <cmath>

#include "core/budget.h"
#include "core/threads.h"
#include "cpu/convert.h"
#include "cpu/lines.h"
#include "cpu/scratch.h"

namespace rille::cpu {
namespace {

constexpr int64_t kColumns = 64;  // lines that are scanned side by side

template <class A>
struct Plus {
  static A first() { return A(0); }
  static A next(A sum, A x) { return sum + x; }
};
template <>
struct Plus<int64_t> {
  static int64_t first() { return 0; }
  static int64_t next(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
template <class A>
struct Times {
  static A first() { return A(1); }
  static A next(A product, A x) { return product * x; }
};
template <>
struct Times<int64_t> {
  static int64_t first() { return 1; }
  static int64_t next(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct LogPlus {
  static double first() { return -INFINITY; }
  static double next(double a, double b) {
    const double high = a > b || a != a ? a : b, low = a > b || a != a ? b : a;
    return std::isinf(high) || high != high ? high + (low != low ? low : 0)
                                            : high + std::log1p(std::exp(low - high));
  }
};

// Rows of a band of neighbouring lines: [n, width], converted to A.
template <class A>
class Band {
 public:
  explicit Band(const Lines& l)
      : n_(l.n), inner_(l.inner), room_(l.n * std::min(kColumns, l.inner)) {}
  A* load(const Tensor& x, int64_t start, int64_t width) {
    each_run(width, [&](int64_t i, int64_t at, int64_t n) {
      convert(x.dtype(), element_at(x, start + i), kCompute<A>, room_.data() + at, n);
    });
    return room_.data();
  }
  void store(Tensor& y, int64_t start, int64_t width) {
    each_run(width, [&](int64_t i, int64_t at, int64_t n) {
      convert(kCompute<A>, room_.data() + at, y.dtype(), element_of(y, start + i), n);
    });
  }
  A* data() const { return room_.data(); }

 private:
  // body(offset in the tensor, offset in the band, count) for neighbours on both sides.
  template <class Body>
  void each_run(int64_t width, Body&& body) const {
    if (inner_ == 1) return polled(n_, [&](int64_t i, int64_t end) { body(i, i, end - i); });
    Poll poll;
    for (int64_t i = 0; i < n_; ++i, poll(width)) body(i * inner_, i * width, width);
  }

  int64_t n_, inner_;
  Scratch<A> room_;
};

// Calls body(start, width) for each band of lines; `make` gives a thread its scratch.
template <class Make, class Body>
void each_band(const Lines& l, Make&& make, Body&& body) {
  const int64_t tiles = (l.inner + kColumns - 1) / kColumns;
  const int64_t width = std::min(kColumns, l.inner);
  parallel_for(l.outer * tiles, std::max<int64_t>(1, l.grain() / width),
               [&](int64_t first, int64_t last) {
                 auto scratch = make();
                 for (int64_t t = first; t < last; ++t) {
                   const int64_t c = t % tiles * kColumns;
                   body(scratch, t / tiles * l.n * l.inner + c, std::min(kColumns, l.inner - c));
                 }
               });
}

// Streams through the lines, a row of neighbours or a stretch of one line at a time.
template <class A, class Step>
void run(const Tensor& x, int dim, bool reverse, Tensor& y) {
  constexpr int64_t kStretch = 1024;
  const Lines l(x, dim);
  const auto make = [] { return Scratch<A>(kStretch); };
  each_band(l, make, [&](Scratch<A>& room, int64_t start, int64_t width) {
    [[gnu::uninitialized]] A sum[kColumns];
    std::fill_n(sum, width, Step::first());
    const int64_t stretch = l.inner == 1 ? kStretch : 1;
    Poll poll;
    for (int64_t done = 0; done < l.n; done += stretch) {
      const int64_t rows = std::min(stretch, l.n - done), n = rows * width;
      const int64_t at = start + (reverse ? l.n - done - rows : done) * l.inner;
      poll(n);
      convert(x.dtype(), element_at(x, at), kCompute<A>, room.data(), n);
      if (width > 1) {
        for (int64_t j = 0; j < n; ++j) room[j] = sum[j] = Step::next(sum[j], room[j]);
      } else if (reverse) {
        for (int64_t i = n - 1; i >= 0; --i) room[i] = sum[0] = Step::next(sum[0], room[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) room[i] = sum[0] = Step::next(sum[0], room[i]);
      }
      convert(kCompute<A>, room.data(), y.dtype(), element_of(y, at), n);
    }
  });
}

}  // namespace

void scan(Scan what, const Tensor& x, int dim, bool reverse, Tensor& y) {
  if (y.numel() == 0) return;
  const bool whole = !is_float(y.dtype());
  switch (what) {
    case Scan::sum:
      return whole ? run<int64_t, Plus<int64_t>>(x, dim, reverse, y)
                   : run<double, Plus<double>>(x, dim, reverse, y);
    case Scan::prod:
      return whole ? run<int64_t, Times<int64_t>>(x, dim, reverse, y)
                   : run<double, Times<double>>(x, dim, reverse, y);
    case Scan::logsumexp: return run<double, LogPlus>(x, dim, reverse, y);
  }
}

void scan_extreme(bool largest, const Tensor& x, int dim, Tensor& y, Tensor& ids) {
  if (y.numel() == 0) return;
  const Lines l(x, dim);
  with_compute(x.dtype(), [&]<class A>() {
    each_band(
        l, [&] { return Band<A>(l); },
        [&](Band<A>& band, int64_t start, int64_t width) {
          A* v = band.load(x, start, width);
          int64_t at[kColumns];
          for (int64_t j = 0; j < width; ++j) at[j] = 0;
          Poll poll;
          for (int64_t i = 0; i < l.n; ++i, poll(width)) {
            for (int64_t j = 0; j < width; ++j) {
              A& now = v[i * width + j];
              const A best = v[at[j] * width + j];
              if (now != now || (best == best && (largest ? now >= best : now <= best))) at[j] = i;
              now = v[at[j] * width + j];
              ids.data_as<int64_t>()[start + i * l.inner + j] = at[j];
            }
          }
          band.store(y, start, width);
        });
  });
}

void scan_prod_grad(const Tensor& x, const Tensor& dy, int dim, Tensor& dx) {
  if (dx.numel() == 0) return;
  const Lines l(x, dim);
  struct Two {
    Band<double> x, dy;
  };
  each_band(
      l,
      [&] {
        return Two{Band<double>(l), Band<double>(l)};
      },
      [&](Two& t, int64_t start, int64_t width) {
        const double* v = t.x.load(x, start, width);
        double* g = t.dy.load(dy, start, width);
        // From the end: what element i's change does to y[i..n), without the factor x[0..i).
        Poll poll;
        for (int64_t i = l.n - 2; i >= 0; --i, poll(width))
          for (int64_t j = 0; j < width; ++j)
            g[i * width + j] += v[(i + 1) * width + j] * g[(i + 1) * width + j];
        double before[kColumns];
        std::fill_n(before, width, 1.0);
        for (int64_t i = 0; i < l.n; ++i, poll(width)) {
          for (int64_t j = 0; j < width; ++j) {
            g[i * width + j] *= before[j];
            before[j] *= v[i * width + j];
          }
        }
        t.dy.store(dx, start, width);
      });
}

void products_of_others(const Tensor& x, int dim, Tensor& y) {
  if (y.numel() == 0) return;
  const Lines l(x, dim);
  struct Two {
    Band<double> x, y;
  };
  each_band(
      l,
      [&] {
        return Two{Band<double>(l), Band<double>(l)};
      },
      [&](Two& t, int64_t start, int64_t width) {
        const double* v = t.x.load(x, start, width);
        double* out = t.y.data();
        double product[kColumns];
        std::fill_n(product, width, 1.0);
        Poll poll;
        for (int64_t i = 0; i < l.n; ++i, poll(width)) {
          for (int64_t j = 0; j < width; ++j) {
            out[i * width + j] = product[j];
            product[j] *= v[i * width + j];
          }
        }
        std::fill_n(product, width, 1.0);
        for (int64_t i = l.n - 1; i >= 0; --i, poll(width)) {
          for (int64_t j = 0; j < width; ++j) {
            out[i * width + j] *= product[j];
            product[j] *= v[i * width + j];
          }
        }
        t.y.store(y, start, width);
      });
}

// With m[i] the largest of x[0..i] and s[i] the sum of exp(x[j] - m[i]) up to i, y[i] is
// m[i] + log(s[i]), and dx[i] = exp(x[i] - m[i]) a[i], where a[i] = dy[i] / s[i] +
// a[i + 1] exp(m[i] - m[i + 1]). No exponent is positive, and y itself, which has no digit left for
// log(s) beside a large m, is not needed.
void scan_logsumexp_grad(const Tensor& x, const Tensor& dy, int dim, Tensor& dx) {
  if (dx.numel() == 0) return;
  const Lines l(x, dim);
  struct Four {
    Band<double> x, dy, most, sum;
  };
  const auto make = [&] {
    return Four{Band<double>(l), Band<double>(l), Band<double>(l), Band<double>(l)};
  };
  // exp(-inf - -inf): a line that begins with -inf has no slope there.
  const auto ratio = [](double a, double b) { return a == -INFINITY ? 0.0 : std::exp(a - b); };
  each_band(l, make, [&](Four& t, int64_t start, int64_t width) {
    const double* v = t.x.load(x, start, width);
    double* g = t.dy.load(dy, start, width);
    double *m = t.most.data(), *sum = t.sum.data();
    Poll poll;
    for (int64_t i = 0; i < l.n; ++i, poll(width))
      for (int64_t k = i * width; k < (i + 1) * width; ++k) {
        const double before = i == 0 ? -INFINITY : m[k - width];
        m[k] = v[k] > before || v[k] != v[k] ? v[k] : before;
        sum[k] = (i == 0 ? 0 : sum[k - width] * ratio(before, m[k])) + ratio(v[k], m[k]);
      }
    for (int64_t i = l.n - 1; i >= 0; --i, poll(width))
      for (int64_t k = i * width; k < (i + 1) * width; ++k) {
        g[k] = sum[k] == 0 ? 0 : g[k] / sum[k];
        if (i + 1 < l.n) g[k] += g[k + width] * ratio(m[k], m[k + width]);
      }
    polled(l.n * width, [&](int64_t k, int64_t end) {
      for (; k < end; ++k) g[k] *= ratio(v[k], m[k]);
    });
    t.dy.store(dx, start, width);
  });
}

}  // namespace rille::cpu
