#include "ops/decompose.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "core/threads.h"
#include "cpu/linalg.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/extreme.h"
#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

Shape matrix_shape(const Tensor& x, int64_t rows, int64_t cols) {
  Shape s = batch_of(x);
  s.push_back(rows), s.push_back(cols);
  return s;
}
Shape vector_shape(const Tensor& x, int64_t n) {
  Shape s = batch_of(x);
  s.push_back(n);
  return s;
}

// Room in f64 for a result of any dtype, one part of it for each matrix.
struct Room {
  Tensor t;
  int64_t size;
  Room(const Tensor& y, int dims)
      : t(Tensor::empty(y.shape(), DType::f64)), size(numel_of_dims(y.shape(), y.rank() - dims)) {}
  double* at(int64_t i) const { return t.data_as<double>() + i * size; }
};

void each_matrix(const Tensor& x, FunctionRef<void(int64_t)> work) {
  parallel_for(checked_numel(batch_of(x)), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work(i);
  });
}

Tensor columns(const Tensor& s) { return unsqueeze(s, -2); }  // scales columns
Tensor rows(const Tensor& s) { return unsqueeze(s, -1); }     // scales rows
Tensor symmetric(const Tensor& x) { return (x + transpose(x)) * 0.5; }
Tensor skew(const Tensor& x) { return x - transpose(x); }
Tensor divided(const Tensor& x, const Tensor& y) { return call<DivideOrZero>({.x = x, .y = y}); }
// s[j] - s[i] at [i, j]
Tensor differences(const Tensor& s) { return columns(s) - rows(s); }
Tensor diagonal_of(const Tensor& s) { return call<DiagEmbed>({.x = s}); }

Tensor sample_symmetric(const Shape& shape) {
  const NoGrad quiet;
  const Tensor x = grid(shape, -1, 1);
  return x + transpose(x);
}

}  // namespace

// ---- QR
// ------------------------------------------------------------------------------------------

std::array<Meta, 2> Qr::infer(const Args& a) {
  check_matrices(a.x, "x");
  const int64_t m = a.x.size(-2), n = a.x.size(-1),
                k = a.mode == Mode::complete ? m : std::min(m, n);
  const Shape q = a.mode == Mode::r ? Shape{0} : matrix_shape(a.x, m, k);
  return {meta_of(q, a.x.dtype(), a.x), meta_of(matrix_shape(a.x, k, n), a.x.dtype(), a.x)};
}
void Qr::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const int64_t m = a.x.size(-2), n = a.x.size(-1), k = y.r.size(-2);
  const Tensor x = clone(in_f64(a.x));
  const bool wanted = a.mode != Mode::r;
  const Room q(y.q, wanted ? 2 : 0), r(y.r, 2);
  each_matrix(x, [&](int64_t i) {
    cpu::qr_factor(m, n, k, x.data_as<double>() + i * m * n, wanted ? q.at(i) : nullptr, r.at(i));
  });
  if (wanted) copy_(y.q, q.t);
  copy_(y.r, r.t);
}

namespace {

// Of a tall x, with M = r dr^T - dq^T q: (dq + q (M's lower part, mirrored)) r^-T.
Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  const Tensor m = matmul(r, transpose(dr)) - matmul(transpose(dq), q);
  const Tensor mirrored = call<Tril>({.x = m}) + transpose(call<Tril>({.x = m, .k = -1}));
  return transpose(solve_triangle(r, transpose(dq + matmul(q, mirrored)), true));
}

}  // namespace

Qr::Args Qr::grad(const Back<Qr>& b) {
  const int64_t m = b.a.x.size(-2), n = b.a.x.size(-1);
  if (b.a.mode == Mode::r || (b.a.mode == Mode::complete && m > n))
    throw fail(Kind::state, "E_NO_GRADIENT",
               "there is no gradient: mode '{}' hides or invents columns of q",
               b.a.mode == Mode::r ? "r" : "complete")
        .hint("use mode 'reduced'");
  const Tensor &q = b.y.q, &r = b.y.r;
  if (m >= n) return {.x = qr_gradient(q, r, b.dy.q, b.dy.r)};
  // A wide x is [x1, x2] with x1 = q r1 and x2 = q r2: q comes of x1 alone.
  const Tensor r1 = narrow(r, -1, 0, m), r2 = narrow(r, -1, m, n - m);
  const Tensor dr1 = narrow(b.dy.r, -1, 0, m), dr2 = narrow(b.dy.r, -1, m, n - m);
  const Tensor dq = b.dy.q + matmul(matmul(q, r2), transpose(dr2));
  return {.x = cat({qr_gradient(q, r1, dq, dr1), matmul(q, dr2)}, -1)};
}
void Qr::samples(SampleList& s) {
  add_sample<Qr>(s, {.x = grid({3, 3}, -1, 1.2)});
  add_sample<Qr>(s, {.x = strided(grid({2, 3, 2}, -1, 1.2))});
  add_sample<Qr>(s, {.x = grid({2, 3}, -1, 1.2)});
  add_sample<Qr>(s, {.x = grid({2, 3}, -1, 1.2), .mode = Mode::complete});
  add_sample<Qr>(s, {.x = grid({3, 2}, -1, 1.2), .mode = Mode::complete}).gradient = false;
  add_sample<Qr>(s, {.x = grid({3, 2}, -1, 1.2), .mode = Mode::r}).gradient = false;
  add_sample<Qr>(s, {.x = grid({0, 2, 2}, -1, 1)});
}

// ---- eigenvalues
// ---------------------------------------------------------------------------------

namespace {

// The lower half is worked on: it is made of the half, or the halves, that count.
void fold_halves(int64_t n, double* a, Half half) {
  if (half == Half::L) return;
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < r; ++c) {
      const double upper = a[c * n + r];
      a[r * n + c] = half == Half::U ? upper : (a[r * n + c] + upper) / 2;
    }
}

// A symmetric gradient, given to the half that was read.
Tensor to_half(const Tensor& g, Half half) {
  if (half == Half::both) return g;
  if (half == Half::L) return call<Tril>({.x = g}) + call<Tril>({.x = g, .k = -1});
  return call<Triu>({.x = g}) + call<Triu>({.x = g, .k = 1});
}

void eigen(const Tensor& given, Half half, const Tensor& values, const Tensor& vectors) {
  const Tensor x = clone(in_f64(given));
  const int64_t n = x.size(-1);
  const Room d(values, 1);
  const Tensor basis = Tensor::empty(x.shape(), DType::f64);
  each_matrix(x, [&](int64_t i) {
    double *a = x.data_as<double>() + i * n * n, *v = basis.data_as<double>() + i * n * n;
    fold_halves(n, a, half);
    cpu::eigen_symmetric(n, a, d.at(i), v);
  });
  copy_(values, d.t);
  if (vectors) copy_(vectors, transpose(basis));
}

}  // namespace

std::array<Meta, 2> Eigh::infer(const Args& a) {
  check_square(a.x, "x");
  return {meta_of(vector_shape(a.x, a.x.size(-1)), a.x.dtype(), a.x),
          meta_of(a.x.shape(), a.x.dtype(), a.x)};
}
void Eigh::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  eigen(a.x, a.half, y.values, y.vectors);
}
// dx = V (diag(dL) + (V^T dV) / (L_j - L_i)) V^T, of which the symmetric part counts.
Eigh::Args Eigh::grad(const Back<Eigh>& b) {
  const Tensor &v = b.y.vectors, vt = transpose(v);
  const Tensor inner =
      divided(matmul(vt, b.dy.vectors), differences(b.y.values)) + diagonal_of(b.dy.values);
  return {.x = to_half(symmetric(matmul(matmul(v, inner), vt)), b.a.half)};
}
void Eigh::samples(SampleList& s) {
  add_sample<Eigh>(s, {.x = sample_symmetric({3, 3})});
  add_sample<Eigh>(s, {.x = strided(sample_symmetric({2, 2, 2}))});
  add_sample<Eigh>(s, {.x = grid({3, 3}, -1, 1.2), .half = Half::L});
  add_sample<Eigh>(s, {.x = grid({1, 1}, -1, 1)});
  add_sample<Eigh>(s, {.x = grid({0, 0}, -1, 1)});
}

Meta Eigvalsh::infer(const Args& a) {
  check_square(a.x, "x");
  return meta_of(vector_shape(a.x, a.x.size(-1)), a.x.dtype(), a.x);
}
void Eigvalsh::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  eigen(a.x, a.half, y, {});
}
Eigvalsh::Args Eigvalsh::grad(const Back<Eigvalsh>& b) {
  const Tensor v = call<Eigh>({b.a.x, b.a.half}).vectors;
  return {.x = to_half(matmul(v * columns(b.dy), transpose(v)), b.a.half)};
}
void Eigvalsh::samples(SampleList& s) {
  add_sample<Eigvalsh>(s, {.x = sample_symmetric({2, 3, 3})});
  add_sample<Eigvalsh>(s, {.x = grid({3, 3}, -1, 1.2), .half = Half::U});
  add_sample<Eigvalsh>(s, {.x = grid({0, 0}, -1, 1)});
}

// ---- singular values
// -----------------------------------------------------------------------------

std::array<Meta, 3> Svd::infer(const Args& a) {
  check_matrices(a.x, "x");
  const int64_t m = a.x.size(-2), n = a.x.size(-1), k = std::min(m, n);
  const DType d = a.x.dtype();
  return {meta_of(matrix_shape(a.x, m, a.full_matrices ? m : k), d, a.x),
          meta_of(vector_shape(a.x, k), d, a.x),
          meta_of(matrix_shape(a.x, a.full_matrices ? n : k, n), d, a.x)};
}
void Svd::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const Tensor x = in_f64(a.x);
  const int64_t m = x.size(-2), n = x.size(-1);
  const Room u(y.u, 2), s(y.s, 1), vh(y.vh, 2);
  each_matrix(x, [&](int64_t i) {
    cpu::singular_values(m, n, x.data_as<double>() + i * m * n, y.u.size(-1), y.vh.size(-2),
                         u.at(i), s.at(i), vh.at(i));
  });
  copy_(y.u, u.t);
  copy_(y.s, s.t);
  copy_(y.vh, vh.t);
}
// dx = u (skew(u^T du) / E s + s skew(v^T dv) / E + diag(ds)) vh with E[i, j] = s_j^2 - s_i^2, and
// what du and dv have outside of the spaces that u and v span.
Svd::Args Svd::grad(const Back<Svd>& b) {
  const int64_t m = b.a.x.size(-2), n = b.a.x.size(-1);
  if (b.a.full_matrices && m != n)
    throw fail(Kind::state, "E_NO_GRADIENT", "there is no gradient: full_matrices invents columns")
        .hint("leave full_matrices out");
  const Tensor &u = b.y.u, &s = b.y.s, &vh = b.y.vh, &du = b.dy.u, &dvh = b.dy.vh;
  const Tensor e = differences(s * s);
  const Tensor utdu = matmul(transpose(u), du), vtdv = matmul(vh, transpose(dvh));
  const Tensor inner =
      divided(skew(utdu), e) * columns(s) + rows(s) * divided(skew(vtdv), e) + diagonal_of(b.dy.s);
  Tensor dx = matmul(matmul(u, inner), vh);
  if (m > n) dx = dx + matmul(divided(du - matmul(u, utdu), columns(s)), vh);
  if (m < n) dx = dx + matmul(u, divided(dvh - matmul(transpose(vtdv), vh), rows(s)));
  return {.x = dx};
}
void Svd::samples(SampleList& s) {
  add_sample<Svd>(s, {.x = grid({2, 2}, -1, 1.2)});
  add_sample<Svd>(s, {.x = strided(grid({2, 3, 2}, -1, 1.2))});
  add_sample<Svd>(s, {.x = grid({2, 3}, -1, 1.2)});
  add_sample<Svd>(s, {.x = grid({3, 2}, -1, 1.2), .full_matrices = true}).gradient = false;
  add_sample<Svd>(s, {.x = grid({2, 4}, -1, 1.2), .full_matrices = true}).gradient = false;
  add_sample<Svd>(s, {.x = grid({0, 2}, -1, 1)});
}

Meta Svdvals::infer(const Args& a) {
  check_matrices(a.x, "x");
  return meta_of(vector_shape(a.x, std::min(a.x.size(-1), a.x.size(-2))), a.x.dtype(), a.x);
}
void Svdvals::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  copy_(y, call<Svd>({.x = a.x}).s);
}
Svdvals::Args Svdvals::grad(const Back<Svdvals>& b) {
  const auto parts = call<Svd>({.x = b.a.x});
  return {.x = matmul(parts.u * columns(b.dy), parts.vh)};
}
void Svdvals::samples(SampleList& s) {
  add_sample<Svdvals>(s, {.x = grid({2, 3, 2}, -1, 1.2)});
  add_sample<Svdvals>(s, {.x = grid({2, 3}, -1, 1.2)});
}

// ---- of singular values
// --------------------------------------------------------------------------

namespace {

double usual_tolerance(const Tensor& x) {
  return static_cast<double>(std::max(x.size(-1), x.size(-2))) * float_info(x.dtype()).eps;
}

}  // namespace

Meta Pinverse::infer(const Args& a) {
  check_matrices(a.x, "x");
  return meta_of(matrix_shape(a.x, a.x.size(-1), a.x.size(-2)), a.x.dtype(), a.x);
}
void Pinverse::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const auto parts = call<Svd>({.x = in_f64(a.x)});
  const Tensor limit = narrow(parts.s, -1, 0, 1) * a.rcond;
  const Tensor kept = parts.s * cast(call<Gt>({.x = parts.s, .y = limit}), DType::f64);
  const Tensor inverted =
      divided(cast(call<Gt>({.x = kept, .y = Tensor::number(0.0)}), DType::f64), kept);
  copy_(y, matmul(transpose(parts.vh), rows(inverted) * transpose(parts.u)));
}
// Golub and Pereyra's formula, arranged so that the products are of the smaller side.
Pinverse::Args Pinverse::grad(const Back<Pinverse>& b) {
  const Tensor &x = b.a.x, &p = b.y, pt = transpose(p), dyt = transpose(b.dy);
  if (x.size(-2) <= x.size(-1)) {
    const Tensor k = matmul(dyt, p), kpt = matmul(k, pt);
    return {.x = kpt - transpose(matmul(p, k)) - matmul(matmul(x, p), kpt) +
                 matmul(matmul(pt, p), dyt - matmul(k, x))};
  }
  const Tensor k = matmul(p, dyt), ptk = matmul(pt, k);
  return {.x = ptk - transpose(matmul(k, p)) + matmul(matmul(dyt - matmul(x, k), p), pt) -
               matmul(matmul(ptk, p), x)};
}
void Pinverse::samples(SampleList& s) {
  add_sample<Pinverse>(s, {.x = grid({3, 2}, -1, 1.2)});
  add_sample<Pinverse>(s, {.x = strided(grid({2, 2, 3}, -1, 1.2))});
  add_sample<Pinverse>(s, {.x = grid({0, 3}, -1, 1)});
}

Tensor Lstsq::compose(const Args& a) {
  check_matrices(a.a, "a");
  check_matrices(a.b, "b");
  if (a.a.size(-2) != a.b.size(-2))
    throw shape_error("rows differ: {} and {}", a.a.size(-2), a.b.size(-2)).of("a", "b");
  return matmul(call<Pinverse>({.x = a.a, .rcond = a.rcond.value_or(usual_tolerance(a.a))}), a.b);
}
void Lstsq::samples(SampleList& s) {
  add_sample<Lstsq>(s, {.a = grid({3, 2}, -1, 1.2), .b = grid({3, 2}, -1, 1)});
  add_sample<Lstsq>(s, {.a = grid({2, 2, 3}, -1, 1.2), .b = grid({2, 1}, -1, 1)});
}

Tensor MatrixRank::compose(const Args& a) {
  check_matrices(a.x, "x");
  const NoGrad constant;
  const Tensor s = call<Svdvals>({.x = a.x});
  if (s.size(-1) == 0) return call<Sum>({.x = s, .dims = {-1}, .dtype = DType::i64});
  const double relative = a.rtol.value_or(a.atol ? 0 : usual_tolerance(a.x));
  const Tensor limit = call<ClampMin>(
      {.x = narrow(s, -1, 0, 1) * relative, .min = Tensor::number(a.atol.value_or(0))});
  return call<Sum>({.x = call<Gt>({.x = s, .y = limit}), .dims = {-1}, .dtype = DType::i64});
}
void MatrixRank::samples(SampleList& s) {
  add_sample<MatrixRank>(s, {.x = grid({2, 3, 2}, -1, 1)});
  add_sample<MatrixRank>(s, {.x = grid({3, 3}, 1, 1), .atol = 0.5});
}

OpFamily family_decompose() {
  return list_ops(OpList<Qr, Eigh, Eigvalsh, Svd, Svdvals, Pinverse, Lstsq, MatrixRank>{},
                  "decompose");
}

}  // namespace rille
