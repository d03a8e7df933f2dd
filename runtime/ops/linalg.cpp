#include "ops/linalg.h"

#include <cmath>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "core/threads.h"
#include "cpu/linalg.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {

// ---- checks
// --------------------------------------------------------------------------------------

void check_matrices(const Tensor& x, const char* field) {
  if (x.rank() < 2)
    throw shape_error("needs matrices, got shape {}", to_string(x.shape())).of(field);
  if (x.dtype() != DType::f32 && x.dtype() != DType::f64)
    throw dtype_error("needs f32 or f64, got {}", name(x.dtype()))
        .of(field)
        .hint("convert it with t:to \"f32\"");
}
void check_square(const Tensor& x, const char* field) {
  check_matrices(x, field);
  if (x.size(-1) != x.size(-2))
    throw shape_error("needs square matrices, got shape {}", to_string(x.shape())).of(field);
}

Shape batch_of(const Tensor& x) { return Shape(x.shape().begin(), x.shape().end() - 2); }
Tensor in_f64(const Tensor& x) { return contiguous(cast(x, DType::f64)); }
Tensor identity_like(const Tensor& x, int64_t n) {
  return call<Eye>({.n = n, .dtype = x.dtype(), .device = x.device()});
}

namespace {

void check_system(const Tensor& a, const Tensor& b, const char* field) {
  check_square(a, "a");
  check_matrices(b, field);
  if (a.dtype() != b.dtype())
    throw dtype_error("dtypes differ: {} and {}", name(a.dtype()), name(b.dtype())).of("a", field);
  if (a.size(-1) != b.size(-2))
    throw shape_error("sizes differ: {} unknowns and {} rows", a.size(-1), b.size(-2))
        .of("a", field);
}

void must_share_batch(const Tensor& a, const Tensor& b) {
  if (batch_of(a) != batch_of(b))
    throw shape_error("batches differ: {} and {}", to_string(batch_of(a)), to_string(batch_of(b)))
        .of("a", "b");
}

// The same batch for both.
void share_batch(Tensor& a, Tensor& b) {
  const Shape batch = broadcast(batch_of(a), batch_of(b));
  for (Tensor* t : {&a, &b}) {
    Shape s = batch;
    s.push_back(t->size(-2)), s.push_back(t->size(-1));
    *t = expand(*t, s);
  }
}

// ---- one matrix after the other
// ------------------------------------------------------------------

// Copies to compute in, and where each matrix of a batch begins.
struct Matrices {
  Tensor t;
  int64_t size;  // of one
  explicit Matrices(const Tensor& x) : t(in_f64(x)), size(numel_of_dims(x.shape(), x.rank() - 2)) {
    if (t.storage().get() == x.storage().get()) t = clone(t);
  }
  double* at(int64_t i) const { return t.data_as<double>() + i * size; }
  int64_t batch() const { return size == 0 ? checked_numel(batch_of(t)) : t.numel() / size; }
};

// work(i) for every matrix; those that return false are reported by the first of them.
void each_matrix(int64_t batch, const char* what, FunctionRef<bool(int64_t)> work) {
  std::vector<char> good(static_cast<size_t>(batch), 1);
  parallel_for(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) good[static_cast<size_t>(i)] = work(i);
  });
  for (int64_t i = 0; i < batch; ++i) {
    if (good[static_cast<size_t>(i)]) continue;
    if (batch == 1) throw fail(Kind::argument, "E_SINGULAR", "the matrix is {}", what);
    throw fail(Kind::argument, "E_SINGULAR", "matrix {} of the batch is {}", i + 1, what);
  }
}

// A factored copy of a square matrix.
struct Factored {
  CountedVector<double> lu;
  CountedVector<int64_t> rows;
  int sign;
  Factored(int64_t n, const double* a)
      : lu(a, a + n * n),  // fits: a matrix that is there
        rows(static_cast<size_t>(n)) {
    sign = cpu::lu_factor(n, lu.data(), rows.data());
  }
};

Meta scalar_meta(const Tensor& x) {
  check_square(x, "x");
  return meta_of(batch_of(x), x.dtype(), x);
}
Meta square_meta(const Tensor& x) {
  check_square(x, "x");
  return meta_of(x.shape(), x.dtype(), x);
}
Tensor per_matrix(const Tensor& t) { return unsqueeze(unsqueeze(t, -1), -1); }

// Samples whose matrices are far from singular, and not symmetric.
Tensor sample_matrices(const Shape& shape) {
  const NoGrad quiet;
  const Tensor x = grid(shape, -1, 1);
  return x + identity_like(x, shape.back()) * 2.0;
}
Tensor sample_definite(const Shape& shape) {
  const NoGrad quiet;
  const Tensor x = grid(shape, -1, 1);
  return matmul(x, transpose(x)) + identity_like(x, shape.back());
}

}  // namespace

// ---- systems
// -------------------------------------------------------------------------------------

Meta SolveMatrix::infer(const Args& a) {
  check_system(a.a, a.b, "b");
  must_share_batch(a.a, a.b);
  return meta_of(a.b.shape(), a.b.dtype(), a.b);
}
void SolveMatrix::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const Matrices m(a.a), b(a.b);
  const int64_t n = a.a.size(-1), columns = a.b.size(-1);
  each_matrix(b.batch(), "singular", [&](int64_t i) {
    const Factored f(n, m.at(i));
    if (f.sign == 0) return false;
    cpu::lu_solve(n, f.lu.data(), f.rows.data(), columns, b.at(i));
    return true;
  });
  copy_(y, b.t);
}
SolveMatrix::Args SolveMatrix::grad(const Back<SolveMatrix>& b) {
  Args g;
  g.b = call<SolveMatrix>({.a = transpose(b.a.a), .b = b.dy});
  if (b.need(&Args::a)) g.a = -matmul(g.b, transpose(b.y));
  return g;
}
void SolveMatrix::samples(SampleList& s) {
  add_sample<SolveMatrix>(s, {.a = sample_matrices({2, 3, 3}), .b = grid({2, 3, 2}, -1, 1)});
}

Tensor Solve::compose(const Args& a) {
  check_square(a.a, "a");
  const bool vector =
      a.b.rank() == 1 || (a.b.rank() == a.a.rank() - 1 &&
                          a.b.shape() == Shape(a.a.shape().begin(), a.a.shape().end() - 1));
  Tensor m = a.a, b = vector ? unsqueeze(a.b, -1) : a.b;
  const bool right = !a.left && !vector;
  if (right) m = transpose(m), b = transpose(b);
  if (vector && !a.left) m = transpose(m);
  check_system(m, b, "b");
  share_batch(m, b);
  const Tensor x = call<SolveMatrix>({.a = m, .b = b});
  return vector ? squeeze(x, -1) : right ? transpose(x) : x;
}
void Solve::samples(SampleList& s) {
  const Tensor m = sample_matrices({3, 3});
  add_sample<Solve>(s, {.a = m, .b = grid({3}, -1, 1)});
  add_sample<Solve>(s, {.a = strided(m), .b = strided(grid({2, 3, 2}, -1, 1))});
  add_sample<Solve>(s, {.a = m, .b = grid({2, 3}, -1, 1), .left = false});
  add_sample<Solve>(s, {.a = sample_matrices({0, 2, 2}), .b = grid({0, 2}, -1, 1)});
}

Meta Inverse::infer(const Args& a) { return square_meta(a.x); }
void Inverse::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const int64_t n = a.x.size(-1);
  const Matrices m(a.x), out(expand(identity_like(a.x, n), a.x.shape()));
  each_matrix(m.batch(), "singular", [&](int64_t i) {
    const Factored f(n, m.at(i));
    if (f.sign == 0) return false;
    cpu::lu_solve(n, f.lu.data(), f.rows.data(), n, out.at(i));
    return true;
  });
  copy_(y, out.t);
}
Inverse::Args Inverse::grad(const Back<Inverse>& b) {
  const Tensor yt = transpose(b.y);
  return {.x = -matmul(matmul(yt, b.dy), yt)};
}
void Inverse::samples(SampleList& s) {
  add_sample<Inverse>(s, {.x = sample_matrices({3, 3})});
  add_sample<Inverse>(s, {.x = strided(sample_matrices({2, 2, 2}))});
  add_sample<Inverse>(s, {.x = grid({0, 0}, -1, 1)});
}
Tensor inverse(const Tensor& x) { return call<Inverse>({.x = x}); }

// ---- determinants
// --------------------------------------------------------------------------------

namespace {

// f(i, determinant's sign, logarithm of its absolute value, determinant)
template <class F>
void each_determinant(const Tensor& x, F&& f) {
  const Matrices m(x);
  const int64_t n = x.size(-1);
  each_matrix(m.batch(), "", [&](int64_t i) {
    const Factored lu(n, m.at(i));
    double sign = lu.sign, log = 0, det = lu.sign;
    for (int64_t k = 0; k < n; ++k) {
      const double d = lu.lu[static_cast<size_t>(k * n + k)];
      det *= d;
      log += std::log(std::abs(d));
      if (d < 0) sign = -sign;
      if (std::isnan(d)) sign = d;
    }
    f(i, sign, log, det);
    return true;
  });
}

}  // namespace

Meta Det::infer(const Args& a) { return scalar_meta(a.x); }
void Det::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor out = Tensor::empty(y.shape(), DType::f64);
  each_determinant(a.x,
                   [&](int64_t i, double, double, double det) { out.data_as<double>()[i] = det; });
  copy_(y, out);
}
Det::Args Det::grad(const Back<Det>& b) {
  return {.x = per_matrix(b.dy) * call<Cofactor>({.x = b.a.x})};
}
void Det::samples(SampleList& s) {
  add_sample<Det>(s, {.x = sample_matrices({3, 3})});
  add_sample<Det>(s, {.x = strided(sample_matrices({2, 2, 2}))});
  add_sample<Det>(s, {.x = Tensor::of(std::vector<double>{1, 2, 2, 4}, {2, 2}, DType::f64)})
      .second_gradient = false;
  add_sample<Det>(s, {.x = grid({0, 2, 2}, -1, 1)});
}

Meta Cofactor::infer(const Args& a) { return square_meta(a.x); }
// By x = u s vt: det(u) det(vt) u diag(products of the other singular values) vt.
void Cofactor::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const Matrices m(a.x);
  const int64_t n = a.x.size(-1);
  const auto count = static_cast<size_t>(n);
  each_matrix(m.batch(), "", [&](int64_t b) {
    CountedVector<double> u(count * count), s(count), vt(count * count), rest(count, 1);
    double* out = m.at(b);
    cpu::singular_values(n, n, out, n, n, u.data(), s.data(), vt.data());
    auto sign = [&](const CountedVector<double>& t) {  // of an orthogonal matrix
      const Factored f(n, t.data());
      double d = f.sign;
      for (size_t k = 0; k < count; ++k) d *= f.lu[k * count + k] < 0 ? -1 : 1;
      return d;
    };
    const double side = sign(u) * sign(vt);
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count; ++j) rest[i] *= i == j ? side : s[j];
    std::fill_n(out, m.size, 0.0);
    for (size_t i = 0; i < count; ++i)
      for (size_t k = 0; k < count; ++k)
        for (size_t j = 0; j < count; ++j)
          out[i * count + j] += u[i * count + k] * rest[k] * vt[k * count + j];
    return true;
  });
  copy_(y, m.t);
}
Tensor Cofactor::compose(const Args& a) {
  return per_matrix(call<Det>({.x = a.x})) * transpose(inverse(a.x));
}
void Cofactor::samples(SampleList& s) {
  add_sample<Cofactor>(s, {.x = sample_matrices({2, 3, 3})});
}

std::array<Meta, 2> SlogDet::infer(const Args& a) { return {scalar_meta(a.x), scalar_meta(a.x)}; }
void SlogDet::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const Tensor signs = Tensor::empty(y.sign.shape(), DType::f64),
               logs = Tensor::empty(y.sign.shape(), DType::f64);
  each_determinant(a.x, [&](int64_t i, double sign, double log, double) {
    signs.data_as<double>()[i] = sign;
    logs.data_as<double>()[i] = log;
  });
  copy_(y.sign, signs);
  copy_(y.logabsdet, logs);
}
SlogDet::Args SlogDet::grad(const Back<SlogDet>& b) {
  return {.x = per_matrix(b.dy.logabsdet) * transpose(inverse(b.a.x))};
}
void SlogDet::samples(SampleList& s) {
  add_sample<SlogDet>(s, {.x = sample_matrices({3, 3})});
  add_sample<SlogDet>(s, {.x = strided(sample_matrices({2, 2, 2}))});
}

Tensor LogDet::compose(const Args& a) {
  const auto r = call<SlogDet>({.x = a.x});
  return r.logabsdet + call<Log>({.x = r.sign});
}
void LogDet::samples(SampleList& s) { add_sample<LogDet>(s, {.x = sample_definite({2, 3, 3})}); }

// ---- triangles
// -----------------------------------------------------------------------------------

Meta Cholesky::infer(const Args& a) { return square_meta(a.x); }
void Cholesky::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const Matrices m(a.x);
  const int64_t n = a.x.size(-1);
  each_matrix(m.batch(), "not positive definite", [&](int64_t b) {
    double* x = m.at(b);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j) x[i * n + j] = (x[i * n + j] + x[j * n + i]) / 2;
    if (!cpu::cholesky_factor(n, x)) return false;
    if (!a.upper) return true;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j) std::swap(x[i * n + j], x[j * n + i]);
    return true;
  });
  copy_(y, m.t);
}
// With P = the lower part of L^T dL, its diagonal halved: dx = the symmetric part of L^-T P L^-1.
Cholesky::Args Cholesky::grad(const Back<Cholesky>& b) {
  const Tensor l = b.a.upper ? transpose(b.y) : b.y, dl = b.a.upper ? transpose(b.dy) : b.dy;
  const Tensor lt = transpose(l), ldl = matmul(lt, dl);
  const Tensor p = (call<Tril>({.x = ldl}) + call<Tril>({.x = ldl, .k = -1})) * 0.5;
  const Tensor left = solve_triangle(lt, p, true);
  const Tensor both = transpose(solve_triangle(lt, transpose(left), true));
  return {.x = (both + transpose(both)) * 0.5};
}
void Cholesky::samples(SampleList& s) {
  add_sample<Cholesky>(s, {.x = sample_definite({3, 3})});
  add_sample<Cholesky>(s, {.x = strided(sample_definite({2, 2, 2})), .upper = true});
  add_sample<Cholesky>(s, {.x = grid({0, 0}, -1, 1)});
}

Meta SolveTriangle::infer(const Args& a) {
  check_system(a.a, a.b, "b");
  must_share_batch(a.a, a.b);
  return meta_of(a.b.shape(), a.b.dtype(), a.b);
}
void SolveTriangle::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const Matrices m(a.a), b(a.b);
  const int64_t n = a.a.size(-1), columns = a.b.size(-1);
  each_matrix(b.batch(), "", [&](int64_t i) {
    cpu::solve_triangle(n, m.at(i), a.upper, a.unit, columns, b.at(i));
    return true;
  });
  copy_(y, b.t);
}
SolveTriangle::Args SolveTriangle::grad(const Back<SolveTriangle>& b) {
  Args g;
  g.b = call<SolveTriangle>(
      {.a = transpose(b.a.a), .b = b.dy, .upper = !b.a.upper, .unit = b.a.unit});
  if (!b.need(&Args::a)) return g;
  const Tensor all = -matmul(g.b, transpose(b.y));
  const int64_t off = b.a.unit ? 1 : 0;
  g.a = b.a.upper ? call<Triu>({.x = all, .k = off}) : call<Tril>({.x = all, .k = -off});
  return g;
}
void SolveTriangle::samples(SampleList& s) {
  add_sample<SolveTriangle>(s, {.a = sample_matrices({2, 3, 3}), .b = grid({2, 3, 2}, -1, 1)});
}
Tensor solve_triangle(const Tensor& a, const Tensor& b, bool upper) {
  return call<SolveTriangle>({.a = a, .b = b, .upper = upper});
}

Tensor SolveTriangular::compose(const Args& a) {
  Tensor m = a.a, b = a.b;
  check_square(m, "a");
  check_matrices(b, "b");
  if (!a.left) m = transpose(m), b = transpose(b);
  check_system(m, b, "b");
  share_batch(m, b);
  const bool upper = a.upper == a.left;
  const Tensor x = call<SolveTriangle>({.a = m, .b = b, .upper = upper, .unit = a.unitriangular});
  return a.left ? x : transpose(x);
}
void SolveTriangular::samples(SampleList& s) {
  const Tensor m = sample_matrices({3, 3});
  add_sample<SolveTriangular>(s, {.a = m, .b = grid({2, 3, 2}, -1, 1), .upper = true});
  add_sample<SolveTriangular>(s,
                              {.a = strided(m), .b = grid({3, 1}, -1, 1), .unitriangular = true});
  add_sample<SolveTriangular>(s, {.a = m, .b = grid({2, 3}, -1, 1), .upper = true, .left = false});
}

Tensor TriangularSolve::compose(const Args& a) {
  const Tensor m = a.transpose ? rille::transpose(a.a) : a.a;
  return call<SolveTriangular>(
      {.a = m, .b = a.b, .upper = a.upper != a.transpose, .unitriangular = a.unitriangular});
}
void TriangularSolve::samples(SampleList& s) {
  add_sample<TriangularSolve>(s, {.b = grid({3, 2}, -1, 1), .a = sample_matrices({3, 3})});
  add_sample<TriangularSolve>(
      s,
      {.b = grid({3, 2}, -1, 1), .a = sample_matrices({3, 3}), .upper = false, .transpose = true});
}

Tensor CholeskySolve::compose(const Args& a) {
  Tensor l = a.upper ? transpose(a.l) : a.l, b = a.b;
  check_square(l, "l");
  check_system(l, b, "b");
  share_batch(l, b);
  return solve_triangle(transpose(l), solve_triangle(l, b, false), true);
}
void CholeskySolve::samples(SampleList& s) {
  add_sample<CholeskySolve>(s, {.b = grid({3, 2}, -1, 1), .l = sample_matrices({3, 3})});
  add_sample<CholeskySolve>(
      s, {.b = grid({3, 2}, -1, 1), .l = sample_matrices({2, 3, 3}), .upper = true});
}

Tensor CholeskyInverse::compose(const Args& a) {
  check_square(a.l, "l");
  Tensor one;
  {
    const NoGrad constant;
    one = expand(identity_like(a.l, a.l.size(-1)), a.l.shape());
  }
  return call<CholeskySolve>({.b = one, .l = a.l, .upper = a.upper});
}
void CholeskyInverse::samples(SampleList& s) {
  add_sample<CholeskyInverse>(s, {.l = sample_matrices({3, 3})});
}

OpFamily family_linalg() {
  return list_ops(
      OpList<SolveMatrix, Solve, Inverse, Det, Cofactor, SlogDet, LogDet, Cholesky, SolveTriangle,
             SolveTriangular, TriangularSolve, CholeskySolve, CholeskyInverse>{},
      "linalg");
}

}  // namespace rille
