// Decompositions of f64 matrices: their factors multiply to the matrix again, bases are
// orthonormal, values come in order, and what the header says of signs holds.
#include "cpu/linalg.h"

#include <algorithm>

#include "core/fail.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

// Row-major [rows, cols].
struct Matrix {
  int64_t rows, cols;
  Values v;
  Matrix(int64_t r, int64_t c) : rows(r), cols(c), v(at(r * c), 0) {}
  Matrix(int64_t r, int64_t c, Dice& dice) : rows(r), cols(c), v(dice.values(r * c)) {}
  double& operator()(int64_t i, int64_t j) { return v[at(i * cols + j)]; }
  double operator()(int64_t i, int64_t j) const { return v[at(i * cols + j)]; }
  double* data() { return v.data(); }
};

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.cols);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.cols; ++k)
      for (int64_t j = 0; j < b.cols; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.cols, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.cols; ++j) t(j, i) = a(i, j);
  return t;
}

Matrix unit(int64_t n) {
  Matrix e(n, n);
  for (int64_t i = 0; i < n; ++i) e(i, i) = 1;
  return e;
}

// The algorithms are backward stable: off by some roundings of size * the largest element.
std::string apart(const char* what, const Matrix& got, const Matrix& want, double size) {
  Wants w;
  for (const double e : want.v) w.push_back({e, 1e-13 * (size + 10) * (size + 10)});
  return differs(what, DType::f64, got.v, w);
}

Outcome solve(Dice& dice) {
  const int64_t n = dice.size(60), columns = dice.size(9);
  const Matrix b(n, columns, dice);
  Matrix a(n, n, dice);
  for (int64_t i = 0; i < n; ++i)  // far from singular, rows in another order
    a(i, n - 1 - i) += dice.flip() ? 4 * std::sqrt(static_cast<double>(n))
                                   : -4 * std::sqrt(static_cast<double>(n));
  Matrix lu = a, x = b, l = unit(n), u(n, n), turned = a;
  std::vector<int64_t> rows(at(n));
  const int sign = cpu::lu_factor(n, lu.data(), rows.data());
  cpu::lu_solve(n, lu.data(), rows.data(), columns, x.data());
  int turns = 1;
  for (int64_t i = 0; i < n; ++i) {
    if (rows[at(i)] != i) turns = -turns;
    for (int64_t j = 0; j < n; ++j) {
      std::swap(turned(i, j), turned(rows[at(i)], j));
      (j < i ? l : u)(i, j) = lu(i, j);
    }
  }
  const double size = static_cast<double>(n);
  std::string wrong = sign == turns ? "" : "the sign of P";
  if (wrong.empty()) wrong = apart("L U", l * u, turned, size);
  return {fmt::format("n {} columns {}", n, columns),
          wrong.empty() ? apart("A x", a * x, b, size) : wrong};
}

Outcome cholesky(Dice& dice) {
  const int64_t n = dice.size(60), columns = dice.size(9);
  const Matrix half(n, n + 3, dice), b(n, columns, dice);
  const Matrix a = half * transposed(half);
  Matrix l = a, x = b, y = b, twin = a;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) l(i, j) = std::nan("");  // only the lower part is read
  const bool positive = cpu::cholesky_factor(n, l.data());
  const double size = static_cast<double>(n);
  std::string wrong =
      positive ? apart("L Lt", l * transposed(l), a, size) : "not positive definite";
  cpu::solve_triangle(n, l.data(), false, false, columns, x.data());
  // two triangles whose roundings grow with the condition of a: the residual is what is small
  if (wrong.empty()) wrong = apart("L x", l * x, b, size);
  Matrix upper = transposed(l);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) upper(i, j) /= 4 * size + 1;  // with 1 on its diagonal: tame
  Matrix said = upper;
  for (int64_t i = 0; i < n; ++i) {
    said(i, i) = 1;
    for (int64_t j = 0; j < i; ++j) upper(i, j) = std::nan("");
    upper(i, i) = std::nan("");
  }
  cpu::solve_triangle(n, upper.data(), true, true, columns, y.data());
  if (wrong.empty()) wrong = apart("U y", said * y, b, size);
  if (n > 0) {
    twin(n - 1, n - 1) = -1;
    if (wrong.empty() && cpu::cholesky_factor(n, twin.data()))
      wrong = "took it for positive definite";
  }
  return {fmt::format("n {} columns {}", n, columns), wrong};
}

Outcome qr(Dice& dice) {
  const int64_t m = dice.size_from_1(60), n = dice.size_from_1(60);
  const int64_t k = dice.flip() ? std::min(m, n) : m;
  const Matrix a(m, n, dice);
  Matrix work = a, q(m, k), r(k, n);
  cpu::qr_factor(m, n, k, work.data(), q.data(), r.data());
  const double size = static_cast<double>(std::max(m, n));
  std::string wrong = apart("q r", q * r, a, size);
  if (wrong.empty()) wrong = apart("qt q", transposed(q) * q, unit(k), size);
  for (int64_t i = 0; i < k && wrong.empty(); ++i)
    for (int64_t j = 0; j < std::min(i, n); ++j)
      if (r(i, j) != 0) wrong = "r is not upper triangular";
  return {fmt::format("{} x {} columns {}", m, n, k), wrong};
}

Outcome eigen(Dice& dice) {
  const int64_t n = dice.size(40);
  const Matrix half(n, n, dice);
  Matrix a(n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) a(i, j) = half(i, j) + half(j, i);
  Matrix work = a, vectors(n, n), scaled(n, n);
  Values values(at(n));
  cpu::eigen_symmetric(n, work.data(), values.data(), vectors.data());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) scaled(i, j) = values[at(i)] * vectors(i, j);
  const double size = static_cast<double>(n);
  std::string wrong = apart("a v", vectors * a, scaled, size);
  if (wrong.empty()) wrong = apart("v vt", vectors * transposed(vectors), unit(n), size);
  if (wrong.empty() && !std::is_sorted(values.begin(), values.end()))
    wrong = "values not ascending";
  return {fmt::format("n {}", n), wrong};
}

Outcome singular(Dice& dice) {
  const int64_t m = dice.size_from_1(40), n = dice.size_from_1(40), least = std::min(m, n);
  const bool full = dice.flip();
  const int64_t mu = full ? m : least, nv = full ? n : least;
  const Matrix a(m, n, dice);
  Matrix u(m, mu), vt(nv, n), middle(mu, nv);
  Values s(at(least));
  cpu::singular_values(m, n, a.v.data(), mu, nv, u.data(), s.data(), vt.data());
  for (int64_t i = 0; i < least; ++i) middle(i, i) = s[at(i)];
  const double size = static_cast<double>(std::max(m, n));
  std::string wrong = apart("u s vt", u * middle * vt, a, size);
  if (wrong.empty()) wrong = apart("ut u", transposed(u) * u, unit(mu), size);
  if (wrong.empty()) wrong = apart("vt v", vt * transposed(vt), unit(nv), size);
  if (wrong.empty() && !std::is_sorted(s.rbegin(), s.rend())) wrong = "values not descending";
  if (wrong.empty() && least > 0 && s.back() < 0) wrong = "a negative value";
  return {fmt::format("{} x {} full {}", m, n, full), wrong};
}

const Family kFamily("linalg", {{"solve", 200, solve},
                                {"cholesky", 200, cholesky},
                                {"qr", 200, qr},
                                {"eigen", 120, eigen},
                                {"singular", 120, singular}});

}  // namespace
}  // namespace rille::shapes
