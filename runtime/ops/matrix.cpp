#include "ops/matrix.h"

#include "core/fail.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/decompose.h"
#include "ops/extreme.h"
#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/rounding.h"
#include "ops/scan.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {

Tensor Trace::compose(const Args& a) {
  if (a.x.rank() != 2)
    throw shape_error("needs a matrix, got shape {}", to_string(a.x.shape())).of("x");
  return call<Sum>({.x = call<Diagonal>({.x = a.x})});
}
void Trace::samples(SampleList& s) {
  add_sample<Trace>(s, {.x = grid({3, 3}, -1, 1)});
  add_sample<Trace>(s, {.x = strided(grid({2, 4}, -1, 1))});
  add_sample<Trace>(s, {.x = grid({0, 2}, -1, 1)});
}

Tensor Cross::compose(const Args& a) {
  for (const auto& [t, field] : {std::pair{&a.x, "x"}, std::pair{&a.y, "y"}})
    if (t->rank() == 0 || t->size(a.dim.value) != 3)
      throw shape_error("needs 3 elements along the dim, got shape {}", to_string(t->shape()))
          .of(field);
  auto turned = [&](const Tensor& t, int64_t by) {
    return call<Roll>({.x = t, .shifts = {by}, .dims = {a.dim.value}});
  };
  return turned(a.x, -1) * turned(a.y, -2) - turned(a.x, -2) * turned(a.y, -1);
}
void Cross::samples(SampleList& s) {
  add_sample<Cross>(s, {.x = grid({3}, -1, 1), .y = grid({3}, -1, 2)});
  add_sample<Cross>(s, {.x = grid({2, 3}, -1, 1), .y = grid({3}, -1, 2)});
  add_sample<Cross>(s, {.x = strided(grid({3, 2}, -1, 1)), .y = grid({3, 2}, -1, 2), .dim = {-2}});
}

// ---- norms
// ---------------------------------------------------------------------------------------

namespace {

// x with the two dims last, rows before columns.
Tensor matrices_last(const Tensor& x, const Axes& dims) {
  if (x.rank() < 2) throw shape_error("needs matrices, got shape {}", to_string(x.shape())).of("x");
  if (dims.all || dims.list.size() != 2) throw arg_error("'dims' must name two dims");
  const int row = axis(dims.list[0], x.rank()), col = axis(dims.list[1], x.rank());
  if (row == col) throw arg_error("dim {} is named twice", row + 1);
  Dims order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != row && d != col) order.push_back(d);
  order.push_back(row), order.push_back(col);
  return permute(x, order);
}

// Sums of absolute values along one of the last dims, the largest or the smallest along the other.
Tensor extreme_sum(const Tensor& x, int64_t along, bool largest) {
  const Tensor sums = call<Sum>({.x = call<Abs>({.x = x}), .dims = {along}, .dtype = x.dtype()});
  return largest ? call<Amax>({.x = sums, .dims = {-1}}) : call<Amin>({.x = sums, .dims = {-1}});
}

Tensor norm_of(const Tensor& x, MatrixNorm::Ord ord) {
  using Ord = MatrixNorm::Ord;
  switch (ord) {
    case Ord::fro: return call<Norm>({.x = x, .dims = {-2, -1}});
    case Ord::nuc:
      return call<Sum>({.x = call<Svdvals>({.x = x}), .dims = {-1}, .dtype = x.dtype()});
    case Ord::two: return call<Amax>({.x = call<Svdvals>({.x = x}), .dims = {-1}});
    case Ord::minus_two: return call<Amin>({.x = call<Svdvals>({.x = x}), .dims = {-1}});
    case Ord::one:
    case Ord::minus_one: return extreme_sum(x, -2, ord == Ord::one);
    case Ord::inf:
    case Ord::minus_inf: return extreme_sum(x, -1, ord == Ord::inf);
  }
  return {};
}

}  // namespace

Tensor MatrixNorm::compose(const Args& a) {
  const Tensor x = matrices_last(a.x, a.dims);
  if (!x.is_float())
    throw dtype_error("needs a float tensor, got {}", rille::name(x.dtype())).of("x");
  Tensor y = norm_of(x, a.ord);
  if (!a.keepdim) return y;
  Shape s = a.x.shape();
  for (const int64_t d : a.dims.list) s[axis(d, a.x.rank())] = 1;
  return reshape(y, s);
}
void MatrixNorm::samples(SampleList& s) {
  // Values that are not evenly spaced: sums of rows or columns that tie would have no gradient.
  const auto uneven = [](const Shape& shape) {
    const Tensor t = grid(shape, 0.3, 1.7);
    return t * t * t - t;
  };
  using enum Ord;
  for (const Ord ord : {fro, nuc, two, minus_two, one, minus_one, inf, minus_inf})
    add_sample<MatrixNorm>(s, {.x = uneven({2, 3}), .ord = ord});
  add_sample<MatrixNorm>(
      s, {.x = strided(uneven({2, 2, 3})), .ord = one, .dims = {2, 0}, .keepdim = true});
}

Tensor Cond::compose(const Args& a) {
  using Ord = MatrixNorm::Ord;
  check_matrices(a.x, "x");
  if (a.p == Ord::two || a.p == Ord::minus_two) {
    const Tensor s = call<Svdvals>({.x = a.x});
    if (s.size(-1) == 0)
      throw shape_error("needs matrices that are not empty, got shape {}", to_string(a.x.shape()))
          .of("x");
    const Tensor first = select(s, -1, 0), last = select(s, -1, s.size(-1) - 1);
    return a.p == Ord::two ? first / last : last / first;
  }
  return norm_of(a.x, a.p) * norm_of(inverse(a.x), a.p);
}
void Cond::samples(SampleList& s) {
  add_sample<Cond>(s, {.x = grid({2, 3}, -1.1, 1.3)});
  add_sample<Cond>(s, {.x = grid({2, 2}, -1.1, 1.3), .p = MatrixNorm::Ord::fro});
  add_sample<Cond>(s, {.x = grid({2, 2, 2}, -1.1, 1.3), .p = MatrixNorm::Ord::one});
}

// ---- powers
// --------------------------------------------------------------------------------------

Tensor MatrixPower::compose(const Args& a) {
  if (a.x.rank() < 2 || a.x.size(-1) != a.x.size(-2))
    throw shape_error("needs square matrices, got shape {}", to_string(a.x.shape())).of("x");
  Tensor base = a.n < 0 ? inverse(a.x) : a.x, y;
  for (uint64_t left = a.n < 0 ? 0 - static_cast<uint64_t>(a.n) : static_cast<uint64_t>(a.n);
       left != 0;) {
    if (left & 1) y = y ? matmul(y, base) : base;
    left >>= 1;
    if (left != 0) base = matmul(base, base);
  }
  return y ? y : expand(identity_like(a.x, a.x.size(-1)), a.x.shape());
}
void MatrixPower::samples(SampleList& s) {
  add_sample<MatrixPower>(s, {.x = grid({2, 3, 3}, -1, 1), .n = 3});
  add_sample<MatrixPower>(s, {.x = grid({2, 2}, -1.1, 1.3), .n = -2});
  add_sample<MatrixPower>(s, {.x = grid({2, 2}, -1, 1), .n = 0});
}

// Running products, so that powers of 0 have their slopes.
Tensor Vander::compose(const Args& a) {
  const Tensor x = a.x.rank() == 0 ? unsqueeze(a.x, 0) : a.x;
  const int64_t n = a.n.value_or(x.size(-1));
  if (n < 0) throw arg_error("'n' must not be negative, got {}", n);
  Shape s = x.shape();
  s.push_back(std::max<int64_t>(0, n - 1));
  const DType d = x.is_float() ? x.dtype() : DType::i64;
  const Tensor powers = call<Cumprod>({.x = expand(unsqueeze(cast(x, d), -1), s), .dim = {-1}});
  s[s.size() - 1] = std::min<int64_t>(1, n);
  const Tensor rising = cat({full(s, 1, d, x.device()), powers}, -1);
  return a.increasing ? rising : flip(rising, -1);
}
void Vander::samples(SampleList& s) {
  add_sample<Vander>(s, {.x = grid({3}, -1.2, 2)});
  add_sample<Vander>(s, {.x = strided(grid({2, 3}, -1.2, 2)), .n = 4, .increasing = true});
  add_sample<Vander>(s, {.x = grid({}, 0, 2), .n = 3});
  add_sample<Vander>(s, {.x = grid({3}, 0, 2), .n = 1});
  add_sample<Vander>(s, {.x = grid({3}, 0, 2), .n = 0});
  add_sample<Vander>(s, {.x = grid({0}, 0, 2)});
}

OpFamily family_matrix() {
  return list_ops(OpList<Trace, Cross, MatrixNorm, Cond, MatrixPower, Vander>{}, "matrix");
}

}  // namespace rille
