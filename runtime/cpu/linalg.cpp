#include "cpu/linalg.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/budget.h"
#include "core/macros.h"

namespace rille::cpu {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

// y += w x
RILLE_CLONES void add_scaled(double* y, const double* x, double w, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += w * x[i];
}

RILLE_CLONES double dot(const double* x, const double* y, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// x' = c x + s y, y' = c y - s x
RILLE_CLONES void rotate(double* x, double* y, double c, double s, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double a = x[i], b = y[i];
    x[i] = c * a + s * b;
    y[i] = c * b - s * a;
  }
}

// x[0..n) becomes v with (1 - tau v v^T) x = beta e0 and v[0] = 1; returns tau, 0 for nothing to
// do.
double reflector(double* x, int64_t n, double& beta) {
  beta = n > 0 ? x[0] : 0;
  double scale = 0;
  for (int64_t i = 1; i < n; ++i) scale = std::max(scale, std::abs(x[i]));
  if (n < 2 || scale == 0) {
    if (n > 0) x[0] = 1;
    return 0;
  }
  scale = std::max(scale, std::abs(x[0]));
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += (x[i] / scale) * (x[i] / scale);
  const double head = x[0];
  beta = head < 0 ? scale * std::sqrt(sum) : -scale * std::sqrt(sum);
  const double divisor = head - beta;
  for (int64_t i = 1; i < n; ++i) x[i] /= divisor;
  x[0] = 1;
  return (beta - head) / beta;
}

// rows [first, m) of b [., n] become (1 - tau v v^T) of them
void reflect_rows(double* b, int64_t stride, int64_t n, const double* v, double tau, int64_t m,
                  double* room) {
  if (tau == 0) return;
  end_if_over();
  std::fill_n(room, n, 0.0);
  for (int64_t i = 0; i < m; ++i) add_scaled(room, b + i * stride, v[i], n);
  for (int64_t i = 0; i < m; ++i) add_scaled(b + i * stride, room, -tau * v[i], n);
}

// The sign that makes the largest element positive.
double positive(const double* x, int64_t n, int64_t stride = 1) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i)
    if (std::abs(x[i * stride]) > std::abs(largest)) largest = x[i * stride];
  return largest < 0 ? -1 : 1;
}

}  // namespace

// ---- LU and triangles
// ----------------------------------------------------------------------------

int lu_factor(int64_t n, double* a, int64_t* rows) {
  int sign = 1;
  for (int64_t k = 0; k < n; ++k) {
    end_if_over();
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[best * n + k])) best = i;
    rows[k] = best;
    if (best != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
      sign = -sign;
    }
    const double pivot = a[k * n + k];
    if (pivot == 0) {
      sign = 0;
      continue;
    }
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] /= pivot;
      if (factor != 0) add_scaled(a + i * n + k + 1, a + k * n + k + 1, -factor, n - k - 1);
    }
  }
  return sign;
}

void lu_solve(int64_t n, const double* lu, const int64_t* rows, int64_t columns, double* b) {
  for (int64_t k = 0; k < n; ++k)
    if (rows[k] != k)
      std::swap_ranges(b + k * columns, b + (k + 1) * columns, b + rows[k] * columns);
  solve_triangle(n, lu, false, true, columns, b);
  solve_triangle(n, lu, true, false, columns, b);
}

void solve_triangle(int64_t n, const double* a, bool upper, bool unit, int64_t columns, double* b) {
  for (int64_t step = 0; step < n; ++step) {
    end_if_over();
    const int64_t i = upper ? n - 1 - step : step;
    double* x = b + i * columns;
    for (int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j)
      if (a[i * n + j] != 0) add_scaled(x, b + j * columns, -a[i * n + j], columns);
    if (unit) continue;
    const double pivot = a[i * n + i];
    for (int64_t c = 0; c < columns; ++c) x[c] /= pivot;
  }
}

bool cholesky_factor(int64_t n, double* a) {
  for (int64_t i = 0; i < n; ++i) {
    end_if_over();
    for (int64_t j = 0; j <= i; ++j) {
      const double rest = a[i * n + j] - dot(a + i * n, a + j * n, j);
      if (i != j)
        a[i * n + j] = rest / a[j * n + j];
      else if (rest > 0)
        a[i * n + i] = std::sqrt(rest);
      else
        return false;
    }
    std::fill(a + i * n + i + 1, a + (i + 1) * n, 0.0);
  }
  return true;
}

// ---- QR
// ------------------------------------------------------------------------------------------

void qr_factor(int64_t m, int64_t n, int64_t k, double* a, double* q, double* r) {
  const int64_t steps = std::min(m, n);
  CountedVector<double> v(static_cast<size_t>(steps * m)), tau(static_cast<size_t>(steps)),
      room(static_cast<size_t>(std::max(n, k)));
  for (int64_t j = 0; j < steps; ++j) {
    double *x = v.data() + j * m, beta = 0;
    for (int64_t i = j; i < m; ++i) x[i - j] = a[i * n + j];
    tau[static_cast<size_t>(j)] = reflector(x, m - j, beta);
    reflect_rows(a + j * n + j + 1, n, n - j - 1, x, tau[static_cast<size_t>(j)], m - j,
                 room.data());
    a[j * n + j] = beta;
    for (int64_t i = j + 1; i < m; ++i) a[i * n + j] = 0;
  }
  std::copy_n(a, std::min(k, m) * n, r);
  if (!q) return;
  std::fill_n(q, m * k, 0.0);
  for (int64_t i = 0; i < std::min(m, k); ++i) q[i * k + i] = 1;
  for (int64_t j = steps; j-- > 0;)
    reflect_rows(q + j * k, k, k, v.data() + j * m, tau[static_cast<size_t>(j)], m - j,
                 room.data());
}

// ---- symmetric eigenvalues
// -----------------------------------------------------------------------

namespace {

// a becomes tridiagonal (d, e); z's rows become the basis: z a z^T is tridiagonal.
void tridiagonal(int64_t n, double* a, double* d, double* e, double* z) {
  CountedVector<double> vs(static_cast<size_t>(n * n)), taus(static_cast<size_t>(n)),
      w(static_cast<size_t>(n)), room(static_cast<size_t>(n));
  for (int64_t k = 0; k + 2 < n; ++k) {
    end_if_over();
    const int64_t m = n - k - 1;
    double *v = vs.data() + k * n, *rest = a + (k + 1) * n + k + 1;
    for (int64_t i = 0; i < m; ++i) v[i] = a[(k + 1 + i) * n + k];
    const double tau = taus[static_cast<size_t>(k)] = reflector(v, m, e[k]);
    if (tau == 0) continue;
    for (int64_t i = 0; i < m; ++i) w[static_cast<size_t>(i)] = tau * dot(rest + i * n, v, m);
    add_scaled(w.data(), v, -tau / 2 * dot(w.data(), v, m), m);
    for (int64_t i = 0; i < m; ++i) {
      add_scaled(rest + i * n, w.data(), -v[i], m);
      add_scaled(rest + i * n, v, -w[static_cast<size_t>(i)], m);
    }
  }
  for (int64_t i = 0; i < n; ++i) d[i] = a[i * n + i];
  if (n > 1) e[n - 2] = a[(n - 1) * n + n - 2];
  // The product of the reflections; its columns are the basis, so they are put into rows at the
  // end.
  std::fill_n(z, n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) z[i * n + i] = 1;
  for (int64_t k = n - 2; k-- > 0;)
    reflect_rows(z + (k + 1) * n, n, n, vs.data() + k * n, taus[static_cast<size_t>(k)], n - k - 1,
                 room.data());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) std::swap(z[i * n + j], z[j * n + i]);
}

// One implicit step with Wilkinson's shift on the unreduced block from lo to hi.
void qr_step(int64_t n, int64_t lo, int64_t hi, double* d, double* e, double* z) {
  const double half = (d[hi - 1] - d[hi]) / 2, below = e[hi - 1];
  const double root = std::hypot(half, below);
  const double shift = d[hi] - below * below / (half + (half < 0 ? -root : root));
  double x = d[lo] - shift, bulge = e[lo];
  end_if_over();
  for (int64_t k = lo; k < hi; ++k) {
    const double r = std::hypot(x, bulge), c = r == 0 ? 1 : x / r, s = r == 0 ? 0 : bulge / r;
    if (k > lo) e[k - 1] = r;
    const double a = d[k], b = e[k], g = d[k + 1];
    d[k] = c * c * a + 2 * c * s * b + s * s * g;
    d[k + 1] = s * s * a - 2 * c * s * b + c * c * g;
    e[k] = c * s * (g - a) + (c * c - s * s) * b;
    x = e[k];
    if (k + 1 < hi) {
      bulge = s * e[k + 1];
      e[k + 1] *= c;
    }
    rotate(z + k * n, z + (k + 1) * n, c, s, n);
  }
}

void diagonalise(int64_t n, double* d, double* e, double* z) {
  const int64_t most = 60 * n;  // two or three a value are usual
  int64_t hi = n - 1;
  for (int64_t steps = 0; hi > 0 && steps < most;) {
    auto small = [&](int64_t k) {
      return std::abs(e[k]) <= kEps * (std::abs(d[k]) + std::abs(d[k + 1]));
    };
    if (small(hi - 1)) {
      e[--hi] = 0;
      continue;
    }
    int64_t lo = hi - 1;
    while (lo > 0 && !small(lo - 1)) --lo;
    qr_step(n, lo, hi, d, e, z);
    ++steps;
  }
}

// Order of values, and rows of `vectors` with them.
void sort_rows(int64_t n, int64_t length, bool ascending, double* values, double* vectors,
               double* more, int64_t more_length) {
  CountedVector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return ascending ? values[i] < values[j] : values[i] > values[j];
  });
  auto arrange = [&](double* rows, int64_t len) {
    const CountedVector<double> old(rows, rows + n * len);
    for (int64_t i = 0; i < n; ++i)
      std::copy_n(old.data() + order[static_cast<size_t>(i)] * len, len, rows + i * len);
  };
  arrange(values, 1);
  arrange(vectors, length);
  if (more) arrange(more, more_length);
}

}  // namespace

void eigen_symmetric(int64_t n, double* a, double* values, double* vectors) {
  if (n == 0) return;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) a[i * n + j] = a[j * n + i];
  CountedVector<double> e(static_cast<size_t>(n));
  tridiagonal(n, a, values, e.data(), vectors);
  diagonalise(n, values, e.data(), vectors);
  sort_rows(n, n, true, values, vectors, nullptr, 0);
  for (int64_t i = 0; i < n; ++i) {
    const double sign = positive(vectors + i * n, n);
    for (int64_t j = 0; j < n; ++j) vectors[i * n + j] *= sign;
  }
}

// ---- singular values
// -----------------------------------------------------------------------------

namespace {

// Rows of w [n, m] made orthogonal by rotating pairs of them (one-sided Jacobi); v's rows follow.
void orthogonalise(int64_t n, int64_t m, double* w, double* v) {
  const double size = std::sqrt(dot(w, w, n * m)), nothing = kEps * size;
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool turned = false;
    for (int64_t p = 0; p + 1 < n; ++p) {
      end_if_over();
      for (int64_t q = p + 1; q < n; ++q) {
        double *x = w + p * m, *y = w + q * m;
        const double a = dot(x, x, m), b = dot(y, y, m), g = dot(x, y, m);
        const double sizes = std::sqrt(a) * std::sqrt(b);
        if (std::abs(g) <= 4 * kEps * sizes || sizes <= nothing * nothing) continue;
        const double zeta = (b - a) / (2 * g);
        const double t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        rotate(x, y, c, -s, m);
        rotate(v + p * n, v + q * n, c, -s, n);
        turned = true;
      }
    }
    if (!turned) return;
  }
}

// Rows from `known` on become unit vectors orthogonal to all before them.
void complete(int64_t known, int64_t rows, int64_t m, double* w) {
  int64_t axis = 0;
  for (int64_t r = known; r < rows; ++r) {
    end_if_over();
    double* x = w + r * m;
    for (double norm = 0; norm < 0.1;
         ++axis) {  // some axis has a part of at least 1 / sqrt(m) left
      std::fill_n(x, m, 0.0);
      x[axis % m] = 1;
      for (int twice = 0; twice < 2; ++twice)
        for (int64_t i = 0; i < r; ++i) add_scaled(x, w + i * m, -dot(x, w + i * m, m), m);
      norm = std::sqrt(dot(x, x, m));
      const double limit = 0.5 / std::sqrt(static_cast<double>(m));
      if (norm < limit) {
        norm = 0;
        continue;
      }
      for (int64_t i = 0; i < m; ++i) x[i] /= norm;
      norm = 1;
    }
  }
}

// w [n, m], n <= m, rows: the columns of a tall matrix. Afterwards the first n rows of
// basis [full, m] are its left vectors and v [n, n]'s rows its right ones.
void tall(int64_t n, int64_t m, double* w, int64_t full, double* basis, double* s, double* v) {
  std::fill_n(v, n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) v[i * n + i] = 1;
  orthogonalise(n, m, w, v);
  for (int64_t i = 0; i < n; ++i) s[i] = std::sqrt(dot(w + i * m, w + i * m, m));
  sort_rows(n, m, false, s, w, v, n);
  int64_t rank = 0;  // rows of nothing but rounding are no directions
  while (rank < n && s[rank] > kEps * s[0] && s[rank] > 0) ++rank;
  for (int64_t i = 0; i < rank; ++i)
    for (int64_t j = 0; j < m; ++j) basis[i * m + j] = w[i * m + j] / s[i];
  complete(rank, full, m, basis);
}

void transpose_into(int64_t rows, int64_t cols, const double* a, double* b) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) b[j * rows + i] = a[i * cols + j];
}

}  // namespace

void singular_values(int64_t m, int64_t n, const double* a, int64_t mu, int64_t nv, double* u,
                     double* s, double* vt) {
  const int64_t k = std::min(m, n);
  CountedVector<double> w(static_cast<size_t>(m * n));
  if (m >= n) {
    CountedVector<double> basis(static_cast<size_t>(mu * m));
    transpose_into(m, n, a, w.data());
    tall(n, m, w.data(), mu, basis.data(), s, vt);
    transpose_into(mu, m, basis.data(), u);
  } else {
    CountedVector<double> left(static_cast<size_t>(m * m));
    std::copy_n(a, m * n, w.data());
    tall(m, n, w.data(), nv, vt, s, left.data());
    transpose_into(m, m, left.data(), u);
  }
  for (int64_t i = 0; i < k; ++i) {
    if (positive(u + i, m, mu) > 0) continue;
    for (int64_t r = 0; r < m; ++r) u[r * mu + i] *= -1;
    for (int64_t c = 0; c < n; ++c) vt[i * n + c] *= -1;
  }
}

}  // namespace rille::cpu
