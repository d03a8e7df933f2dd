#include "ops/matmul.h"

#include <limits>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/gemm.h"
#include "ops/cast.h"
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {
namespace {

// ---- checks
// --------------------------------------------------------------------------------------

DType product_type(const Tensor& x, const Tensor& y, const char* x_name, const char* y_name) {
  if (x.dtype() != y.dtype())
    throw dtype_error("dtypes differ: {} and {}", name(x.dtype()), name(y.dtype()))
        .of(x_name, y_name)
        .hint("convert one of them with t:to(dtype)");
  if (x.dtype() == DType::boolean) throw dtype_error("needs numbers, got bool").of(x_name, y_name);
  return x.dtype();
}

void check_inner(int64_t left, int64_t right, const char* x_name, const char* y_name) {
  if (left != right)
    throw shape_error("inner sizes differ: {} and {}", left, right).of(x_name, y_name);
}

void check_rank(const Tensor& t, int rank, const char* what, const char* field) {
  if (t.rank() != rank)
    throw shape_error("needs {}, got shape {}", what, to_string(t.shape())).of(field);
}
void check_vector(const Tensor& t, const char* field) { check_rank(t, 1, "a vector", field); }
void check_matrix(const Tensor& t, const char* field) { check_rank(t, 2, "a matrix", field); }
void check_batch(const Tensor& t, const char* field) {
  check_rank(t, 3, "a batch of matrices", field);
}

void check_batches(const Tensor& x, const Tensor& y) {
  check_batch(x, "x");
  check_batch(y, "y");
  if (x.size(0) != y.size(0))
    throw shape_error("batches differ: {} and {}", x.size(0), y.size(0)).of("x", "y");
}

// ---- one product through cpu::gemm
// ---------------------------------------------------------------

// A tensor of matrices as gemm takes it; `t` is a row-major copy where the strides don't fit.
struct Operand {
  Tensor t;
  cpu::Transpose flip;
  int64_t ld;
};

Operand operand(const Tensor& t) {
  const int64_t rows = t.size(-2), cols = t.size(-1);
  const int64_t down = t.strides()[t.rank() - 2], along = t.strides()[t.rank() - 1];
  if ((along == 1 || cols <= 1) && (rows <= 1 || down >= std::max<int64_t>(cols, 1)))
    return {t, cpu::Transpose::no, rows <= 1 ? std::max<int64_t>(cols, 1) : down};
  if ((down == 1 || rows <= 1) && (cols <= 1 || along >= std::max<int64_t>(rows, 1)))
    return {t, cpu::Transpose::yes, cols <= 1 ? std::max<int64_t>(rows, 1) : along};
  const NoGrad quiet;
  return {contiguous(t), cpu::Transpose::no, std::max<int64_t>(cols, 1)};
}

// Dims over which a product is repeated, and how far each operand moves along them.
struct Run {
  int64_t n, x, y, out;
};

// The batch dims, the last one first; those that all operands walk evenly are one.
SmallVector<Run, 4> runs_of(const Tensor& x, const Tensor& y, const Tensor& out) {
  auto outer = [](const Dims& d) { return Dims(d.begin(), d.end() - 2); };
  const Shape batch = outer(out.shape());
  const Strides xs = broadcast_strides(outer(x.shape()), outer(x.strides()), batch);
  const Strides ys = broadcast_strides(outer(y.shape()), outer(y.strides()), batch);
  SmallVector<Run, 4> runs;
  for (int d = batch.size() - 1; d >= 0; --d) {
    if (batch[d] == 1) continue;
    const Run next{batch[d], xs[d], ys[d], out.strides()[d]};
    if (!runs.empty()) {
      Run& last = runs.back();
      if (next.x == last.n * last.x && next.y == last.n * last.y && next.out == last.n * last.out) {
        last.n *= next.n;
        continue;
      }
    }
    runs.push_back(next);
  }
  return runs;
}

// Rows of all of a batch make one product where the right side is the same for all of it.
void join_rows(cpu::Gemm& g, SmallVector<Run, 4>& runs) {
  if (runs.empty() || runs[0].y != 0 || g.ta == cpu::Transpose::yes) return;
  const Run r = runs[0];
  if (g.m == 1 && r.x >= g.k) g.lda = r.x;
  if (r.x != g.m * g.lda || r.out != g.m * g.ldc) return;
  g.m *= r.n;
  for (size_t i = 1; i < runs.size(); ++i) runs[i - 1] = runs[i];
  runs.resize(runs.size() - 1);
}

// out = alpha * x y + beta * out + bias; all of two dims or more, out row-major.
void product(const Tensor& x, const Tensor& y, const Tensor& out, double alpha = 1, double beta = 0,
             const void* bias = nullptr) {
  if (out.numel() == 0) return;
  const Operand a = operand(x), b = operand(y);
  cpu::Gemm g{.m = x.size(-2), .n = y.size(-1), .k = x.size(-1)};
  g.ta = a.flip, g.tb = b.flip;
  g.lda = a.ld, g.ldb = b.ld, g.ldc = g.n;
  g.alpha = alpha, g.beta = beta;
  SmallVector<Run, 4> runs = runs_of(a.t, b.t, out);
  join_rows(g, runs);
  size_t outer = 0;
  if (!runs.empty()) {
    g.batch = runs[0].n, g.stride_a = runs[0].x, g.stride_b = runs[0].y, g.stride_c = runs[0].out;
    outer = 1;
  }
  Checked products(1);
  for (size_t i = outer; i < runs.size(); ++i) products *= runs[i].n;
  const int64_t item = static_cast<int64_t>(size_of(out.dtype()));
  for (int64_t p = 0; p < products; ++p) {
    int64_t rest = p, at_x = 0, at_y = 0, at_out = 0;
    for (size_t i = outer; i < runs.size(); ++i) {
      const int64_t step = rest % runs[i].n;
      rest /= runs[i].n;
      at_x += step * runs[i].x, at_y += step * runs[i].y;  // fits: matrices that are there
      at_out += step * runs[i].out;                        // fits: likewise
    }
    auto moved = [&](const Tensor& t, int64_t by) {
      return static_cast<char*>(t.data()) + by * item;
    };
    cpu::gemm(out.dtype(), g, moved(a.t, at_x), moved(b.t, at_y), moved(out, at_out), bias);
  }
}

// Looks at vectors as matrices, outside of any graph.
Tensor as_row(const Tensor& t) {
  return t.rank() > 1 ? t : t.alias({1, t.size(0)}, {t.size(0), t.strides()[0]}, t.offset());
}
Tensor as_column(const Tensor& t) {
  return t.rank() > 1 ? t : t.alias({t.size(0), 1}, {t.strides()[0], 1}, t.offset());
}
Tensor as_shape(const Tensor& t, const Shape& s) {
  return t.alias(s, contiguous_strides(s), t.offset());
}

Tensor with_rows(const Tensor& t) { return t.rank() > 1 ? t : unsqueeze(t, 0); }
Tensor with_columns(const Tensor& t) { return t.rank() > 1 ? t : unsqueeze(t, 1); }
// All dims but the last made one. The size is worked out: -1 could be anything where n is 0.
Tensor rows(const Tensor& t) {
  return reshape(t, {numel_of_dims(t.shape(), 0, t.rank() - 1), t.size(-1)});
}

}  // namespace

Tensor matmul(const Tensor& x, const Tensor& y) { return call<Matmul>({.x = x, .y = y}); }

// ---- matmul
// --------------------------------------------------------------------------------------

namespace {

Shape matmul_shape(const Shape& x, const Shape& y) {
  if (x.empty()) throw shape_error("needs at least one dim, got a single value").of("x");
  if (y.empty()) throw shape_error("needs at least one dim, got a single value").of("y");
  check_inner(x.back(), y.size() == 1 ? y[0] : y[y.size() - 2], "x", "y");
  auto outer = [](const Shape& s) { return Shape(s.begin(), s.end() - std::min(s.size(), 2)); };
  Shape out;
  try {
    out = broadcast(outer(x), outer(y));
  } catch (Error& e) {
    throw shape_error("batch dims don't broadcast: {} and {}", to_string(outer(x)),
                      to_string(outer(y)))
        .of("x", "y");
  }
  if (x.size() > 1) out.push_back(x[x.size() - 2]);
  if (y.size() > 1) out.push_back(y.back());
  return out;
}

}  // namespace

Meta Matmul::infer(const Args& a) {
  const Shape shape = matmul_shape(a.x.shape(), a.y.shape());
  return meta_of(shape, product_type(a.x, a.y, "x", "y"), a.x);
}
double Matmul::flops(const Args& a) {
  const Shape shape = matmul_shape(a.x.shape(), a.y.shape());
  return 2.0 * static_cast<double>(numel_of_dims(shape, 0)) * static_cast<double>(a.x.size(-1));
}
void Matmul::cpu(const Args& a, Tensor& y) {
  const Tensor left = as_row(a.x), right = as_column(a.y);
  Shape shape = y.shape();
  if (a.x.rank() == 1) shape.insert(a.y.rank() == 1 ? 0 : shape.size() - 1, 1);
  if (a.y.rank() == 1) shape.push_back(1);
  product(left, right, as_shape(y, shape));
}
Matmul::Args Matmul::grad(const Back<Matmul>& b) {
  const Tensor x = with_rows(b.a.x), y = with_columns(b.a.y);
  Shape shape = b.dy.shape();
  if (b.a.x.rank() == 1) shape.insert(b.a.y.rank() == 1 ? 0 : shape.size() - 1, 1);
  if (b.a.y.rank() == 1) shape.push_back(1);
  const Tensor dy = reshape(b.dy, shape);
  Args g;
  if (b.need(&Args::x)) {
    g.x = matmul(dy, transpose(y));
    if (b.a.x.rank() == 1) g.x = squeeze(g.x, -2);
  }
  if (b.need(&Args::y)) {
    // One product for all of a batch: a matrix on the right has seen all of its rows.
    const bool folds = y.rank() == 2 && x.rank() > 2;
    g.y = folds ? matmul(transpose(rows(x)), rows(dy)) : matmul(transpose(x), dy);
    if (b.a.y.rank() == 1) g.y = squeeze(g.y, -1);
  }
  return g;
}
void Matmul::samples(SampleList& s) {
  auto add = [&](Tensor x, Tensor y) {
    add_sample<Matmul>(s, {.x = std::move(x), .y = std::move(y)});
  };
  add(grid({2, 3}, -1, 1), grid({3, 4}, -1, 2));
  add(strided(grid({2, 3}, -1, 1)), strided(grid({3, 4}, -1, 2)));
  add(grid({3}, -1, 1), grid({3}, -1, 2));
  add(grid({3}, -1, 1), grid({3, 2}, -1, 2));
  add(grid({2, 3}, -1, 1), grid({3}, -1, 2));
  add(grid({3}, -1, 1), grid({2, 3, 2}, -1, 2));
  add(grid({2, 2, 3}, -1, 1), grid({3}, -1, 2));
  add(grid({2, 2, 3}, -1, 1), grid({3, 2}, -1, 2));
  add(grid({2, 3}, -1, 1), grid({2, 3, 2}, -1, 2));
  add(grid({2, 1, 2, 3}, -1, 1), strided(grid({2, 3, 2}, -1, 2)));
  add(grid({2, 0}, -1, 1), grid({0, 3}, -1, 1));
  add(grid({0, 2}, -1, 1), grid({2, 3}, -1, 1));
  add(grid({2, 0, 2}, -1, 1), grid({2, 3}, -1, 1));
}

// ---- linear
// --------------------------------------------------------------------------------------

Meta Linear::infer(const Args& a) {
  if (a.x.rank() == 0) throw shape_error("needs at least one dim, got a single value").of("x");
  if (a.weight.rank() < 1 || a.weight.rank() > 2)
    throw shape_error("needs weights [out, in], got shape {}", to_string(a.weight.shape()))
        .of("weight");
  check_inner(a.x.size(-1), a.weight.size(-1), "x", "weight");
  Shape shape(a.x.shape().begin(), a.x.shape().end() - 1);
  if (a.weight.rank() == 2) shape.push_back(a.weight.size(0));
  const DType d = product_type(a.x, a.weight, "x", "weight");
  if (a.bias) {
    const int rank = a.weight.rank() - 1;
    if (a.bias->rank() != rank || (rank == 1 && a.bias->size(0) != a.weight.size(0)))
      throw shape_error("bias {} does not fit weight {}", to_string(a.bias->shape()),
                        to_string(a.weight.shape()))
          .of("weight", "bias");
    product_type(a.weight, *a.bias, "weight", "bias");
  }
  return meta_of(shape, d, a.x);
}
double Linear::flops(const Args& a) {
  const double width = static_cast<double>(a.x.size(-1));
  return width == 0 ? 0
                    : 2.0 * static_cast<double>(a.x.numel()) / width *
                          static_cast<double>(a.weight.numel());
}
void Linear::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor x = as_row(a.x), w = as_row(a.weight);
  const Tensor turned =
      w.alias({w.size(1), w.size(0)}, {w.strides()[1], w.strides()[0]}, w.offset());
  Shape shape(x.shape().begin(), x.shape().end() - 1);
  shape.push_back(w.size(0));
  const Tensor bias = a.bias ? contiguous(*a.bias) : Tensor();
  product(x, turned, as_shape(y, shape), 1, 0, bias ? bias.data() : nullptr);
}
Tensor Linear::compose(const Args& a) {
  const Tensor y = matmul(a.x, a.weight.rank() == 2 ? transpose(a.weight) : a.weight);
  return a.bias ? y + *a.bias : y;
}
Linear::Args Linear::grad(const Back<Linear>& b) {
  const Tensor dy = b.a.weight.rank() == 2 ? b.dy : unsqueeze(b.dy, -1);
  Args g;
  if (b.need(&Args::x)) g.x = matmul(dy, with_rows(b.a.weight));
  if (b.need(&Args::weight)) {
    g.weight = matmul(transpose(rows(dy)), rows(b.a.x));
    if (b.a.weight.rank() == 1) g.weight = squeeze(g.weight, 0);
  }
  if (b.need(&Args::bias)) {
    const Tensor all = rows(dy);
    g.bias = call<Sum>({.x = all, .dims = {0}, .dtype = all.dtype()});
    if (b.a.weight.rank() == 1) g.bias = squeeze(*g.bias, 0);
  }
  return g;
}
void Linear::samples(SampleList& s) {
  auto add = [&](Tensor x, Tensor w, std::optional<Tensor> b) {
    add_sample<Linear>(s, {.x = std::move(x), .weight = std::move(w), .bias = std::move(b)});
  };
  add(grid({2, 3}, -1, 1), grid({4, 3}, -1, 2), grid({4}, 0, 1));
  add(grid({2, 2, 3}, -1, 1), strided(grid({2, 3}, -1, 2)), grid({2}, 0, 1));
  add(strided(grid({2, 2, 3}, -1, 1)), grid({2, 3}, -1, 2), {});
  add(grid({3}, -1, 1), grid({2, 3}, -1, 2), grid({2}, 0, 1));
  add(grid({2, 3}, -1, 1), grid({3}, -1, 2), grid({}, 0, 1));
  add(grid({0, 3}, -1, 1), grid({2, 3}, -1, 2), grid({2}, 0, 1));
  add(grid({2, 0}, -1, 1), grid({2, 0}, -1, 2), grid({2}, 0, 1));
}

// ---- products of given ranks
// ---------------------------------------------------------------------

Tensor Mm::compose(const Args& a) {
  check_matrix(a.x, "x");
  check_matrix(a.y, "y");
  return matmul(a.x, a.y);
}
void Mm::samples(SampleList& s) {
  add_sample<Mm>(s, {.x = grid({2, 3}, -1, 1), .y = grid({3, 4}, -1, 2)});
  add_sample<Mm>(s, {.x = grid({0, 3}, -1, 1), .y = grid({3, 4}, -1, 2)});
}

Tensor Mv::compose(const Args& a) {
  check_matrix(a.x, "x");
  check_vector(a.y, "y");
  return matmul(a.x, a.y);
}
void Mv::samples(SampleList& s) {
  add_sample<Mv>(s, {.x = grid({2, 3}, -1, 1), .y = grid({3}, -1, 2)});
  add_sample<Mv>(s, {.x = strided(grid({2, 3}, -1, 1)), .y = grid({3}, -1, 2)});
}

Tensor Bmm::compose(const Args& a) {
  check_batches(a.x, a.y);
  return matmul(a.x, a.y);
}
void Bmm::samples(SampleList& s) {
  add_sample<Bmm>(s, {.x = grid({2, 2, 3}, -1, 1), .y = grid({2, 3, 2}, -1, 2)});
  add_sample<Bmm>(s, {.x = strided(grid({2, 2, 3}, -1, 1)), .y = strided(grid({2, 3, 2}, -1, 2))});
  add_sample<Bmm>(s, {.x = grid({0, 2, 3}, -1, 1), .y = grid({0, 3, 2}, -1, 2)});
}

Tensor Dot::compose(const Args& a) {
  check_vector(a.x, "x");
  check_vector(a.y, "y");
  return matmul(a.x, a.y);
}
void Dot::samples(SampleList& s) {
  add_sample<Dot>(s, {.x = grid({5}, -1, 1), .y = grid({5}, -1, 2)});
  add_sample<Dot>(s, {.x = grid({0}, -1, 1), .y = grid({0}, -1, 2)});
}

Tensor Vdot::compose(const Args& a) { return call<Dot>({.x = a.x, .y = a.y}); }
void Vdot::samples(SampleList& s) {
  add_sample<Vdot>(s, {.x = grid({5}, -1, 1), .y = grid({5}, -1, 2)});
}

Tensor Vecdot::compose(const Args& a) {
  product_type(a.x, a.y, "x", "y");
  const int d = axis(a.dim.value, a.x.rank()), e = axis(a.dim.value, a.y.rank());
  if (a.x.rank() == 0 || a.y.rank() == 0)
    throw shape_error("needs at least one dim, got a single value");
  const Tensor x = transpose(a.x, d, -1), y = transpose(a.y, e, -1);
  check_inner(x.size(-1), y.size(-1), "x", "y");
  const Tensor z = squeeze(squeeze(matmul(unsqueeze(x, -2), unsqueeze(y, -1)), -1), -1);
  const int rank = std::max(a.x.rank(), a.y.rank());
  const int from = axis(a.dim.value < 0 ? a.dim.value : (rank == a.x.rank() ? d : e), rank);
  if (from == rank - 1 || rank < 3) return z;
  Dims order;  // the last dim went where the vectors were: back to the end
  for (int i = 0; i < rank - 1; ++i)
    if (i != from) order.push_back(i);
  order.push_back(from);
  return permute(z, order);
}
void Vecdot::samples(SampleList& s) {
  add_sample<Vecdot>(s, {.x = grid({2, 3}, -1, 1), .y = grid({3}, -1, 2)});
  add_sample<Vecdot>(s, {.x = grid({3, 2, 4}, -1, 1), .y = grid({3, 2, 4}, -1, 2), .dim = {0}});
  add_sample<Vecdot>(s, {.x = grid({2, 3, 4}, -1, 1), .y = grid({3, 4}, -1, 2), .dim = {-2}});
}

Tensor Outer::compose(const Args& a) {
  check_vector(a.x, "x");
  check_vector(a.y, "y");
  return unsqueeze(a.x, 1) * a.y;
}
void Outer::samples(SampleList& s) {
  add_sample<Outer>(s, {.x = grid({3}, -1, 1), .y = grid({4}, -1, 2)});
  add_sample<Outer>(s, {.x = grid({0}, -1, 1), .y = grid({4}, -1, 2)});
}

// ---- chains
// --------------------------------------------------------------------------------------

namespace {

// Splits of the cheapest order: split[i * n + j] is the last factor of the left half of i..j.
CountedVector<size_t> cheapest_splits(const std::vector<Tensor>& t) {
  const size_t n = t.size();
  std::vector<double> size;
  CountedVector<double> cost(n * n, 0);
  CountedVector<size_t> split(n * n, 0);
  Poll poll;
  for (const Tensor& x : t) size.push_back(static_cast<double>(x.size(0)));
  size.push_back(static_cast<double>(t.back().size(1)));
  for (size_t length = 1; length < n; ++length)
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      poll(static_cast<int64_t>(length));
      double& best = cost[i * n + j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double c =
            cost[i * n + k] + cost[(k + 1) * n + j] + size[i] * size[k + 1] * size[j + 1];
        if (c >= best) continue;
        best = c;
        split[i * n + j] = k;
      }
    }
  return split;
}

Tensor chain_part(const std::vector<Tensor>& t, const CountedVector<size_t>& split, size_t i,
                  size_t j) {
  if (i == j) return t[i];
  const size_t k = split[i * t.size() + j];
  return matmul(chain_part(t, split, i, k), chain_part(t, split, k + 1, j));
}

Tensor chain(std::vector<Tensor> t) {
  if (t.empty()) throw arg_error("needs at least one tensor");
  if (t.size() == 1) return t[0];
  const bool row = t.front().rank() == 1, column = t.back().rank() == 1;
  t.front() = with_rows(t.front());
  t.back() = with_columns(t.back());
  for (const Tensor& x : t) check_matrix(x, "tensors");
  for (size_t i = 1; i < t.size(); ++i)
    check_inner(t[i - 1].size(1), t[i].size(0), "tensors", "tensors");
  Tensor y = chain_part(t, cheapest_splits(t), 0, t.size() - 1);
  if (row) y = squeeze(y, 0);
  return column ? squeeze(y, -1) : y;
}

}  // namespace

Tensor ChainMatmul::compose(const Args& a) { return chain(a.tensors); }
void ChainMatmul::samples(SampleList& s) {
  add_sample<ChainMatmul>(
      s, {.tensors = {grid({2, 4}, -1, 1), grid({4, 1}, -1, 2), grid({1, 3}, 0, 1)}});
  add_sample<ChainMatmul>(s, {.tensors = {grid({2, 3}, -1, 1)}});
}

Tensor MultiDot::compose(const Args& a) { return chain(a.tensors); }
void MultiDot::samples(SampleList& s) {
  add_sample<MultiDot>(s, {.tensors = {grid({3}, -1, 1), grid({3, 2}, -1, 2), grid({2}, 0, 1)}});
}

// ---- beta * c + alpha * product
// ------------------------------------------------------------------

namespace {

using AddArgs = AddedProduct::Args;

Meta added_meta(const AddArgs& a) {
  const Shape shape = matmul_shape(a.x.shape(), a.y.shape());
  const DType d = product_type(a.x, a.y, "x", "y");
  product_type(a.c, a.x, "c", "x");
  const Shape c = a.c.rank() > shape.size() ? Shape() : broadcast(a.c.shape(), shape);
  if (c != shape)
    throw shape_error("shape {} does not broadcast to {}", to_string(a.c.shape()), to_string(shape))
        .of("c");
  return meta_of(shape, d, a.x);
}

void added_product(const AddArgs& a, Tensor& y) {
  const NoGrad quiet;
  if (a.beta != 0) copy_(y, a.c);
  product(a.x, a.y, y, a.alpha, a.beta);
}

Tensor scaled(const Tensor& t, double factor) { return factor == 1 ? t : t * factor; }

Tensor composed(const AddArgs& a) {
  const Tensor xy = scaled(matmul(a.x, a.y), a.alpha);
  return a.beta == 0 ? xy : xy + scaled(a.c, a.beta);
}

template <class B>
AddArgs added_grad(const B& b) {
  AddArgs g;
  if (b.need(&AddArgs::c)) g.c = scaled(b.dy, b.a.beta);
  if (b.need(&AddArgs::x)) g.x = scaled(matmul(b.dy, transpose(b.a.y)), b.a.alpha);
  if (b.need(&AddArgs::y)) g.y = scaled(matmul(transpose(b.a.x), b.dy), b.a.alpha);
  return g;
}

template <class O>
void added_samples(SampleList& s, const Shape& c, const Shape& x, const Shape& y) {
  add_sample<O>(s, {.c = grid(c, -1, 1), .x = grid(x, -1, 1), .y = grid(y, -1, 2)});
  add_sample<O>(
      s, {.c = grid(c, -1, 1), .x = grid(x, -1, 1), .y = grid(y, -1, 2), .beta = 0.5, .alpha = -2});
  add_sample<O>(s, {.c = grid({}, -1, 1), .x = grid(x, -1, 1), .y = grid(y, -1, 2), .beta = 2});
}

}  // namespace

Meta Addmm::infer(const Args& a) {
  check_matrix(a.x, "x");
  check_matrix(a.y, "y");
  return added_meta(a);
}
void Addmm::cpu(const Args& a, Tensor& y) { added_product(a, y); }
Tensor Addmm::compose(const Args& a) { return composed(a); }
Addmm::Args Addmm::grad(const Back<Addmm>& b) { return added_grad(b); }
void Addmm::samples(SampleList& s) {
  added_samples<Addmm>(s, {2, 4}, {2, 3}, {3, 4});
  add_sample<Addmm>(s, {.c = grid({3}, -1, 1), .x = grid({2, 0}, -1, 1), .y = grid({0, 3}, -1, 1)});
}

Meta Baddbmm::infer(const Args& a) {
  check_batches(a.x, a.y);
  return added_meta(a);
}
void Baddbmm::cpu(const Args& a, Tensor& y) { added_product(a, y); }
Tensor Baddbmm::compose(const Args& a) { return composed(a); }
Baddbmm::Args Baddbmm::grad(const Back<Baddbmm>& b) { return added_grad(b); }
void Baddbmm::samples(SampleList& s) { added_samples<Baddbmm>(s, {2, 2, 2}, {2, 2, 3}, {2, 3, 2}); }

Tensor Addbmm::compose(const Args& a) {
  check_batches(a.x, a.y);
  check_inner(a.x.size(2), a.y.size(1), "x", "y");
  const int64_t batch = a.x.size(0), m = a.x.size(1), k = a.x.size(2), n = a.y.size(2);
  const Tensor x = reshape(transpose(a.x, 0, 1), {m, Checked(batch) * k});
  return call<Addmm>({.c = a.c,
                      .x = x,
                      .y = reshape(a.y, {Checked(batch) * k, n}),
                      .beta = a.beta,
                      .alpha = a.alpha});
}
void Addbmm::samples(SampleList& s) { added_samples<Addbmm>(s, {2, 4}, {2, 2, 3}, {2, 3, 4}); }

Tensor Addmv::compose(const Args& a) {
  check_matrix(a.x, "x");
  check_vector(a.y, "y");
  const Tensor c = a.c.rank() == 1 ? unsqueeze(a.c, 1) : a.c;
  return squeeze(
      call<Addmm>({.c = c, .x = a.x, .y = unsqueeze(a.y, 1), .beta = a.beta, .alpha = a.alpha}), 1);
}
void Addmv::samples(SampleList& s) { added_samples<Addmv>(s, {2}, {2, 3}, {3}); }

Tensor Addr::compose(const Args& a) {
  check_vector(a.x, "x");
  check_vector(a.y, "y");
  return call<Addmm>(
      {.c = a.c, .x = unsqueeze(a.x, 1), .y = unsqueeze(a.y, 0), .beta = a.beta, .alpha = a.alpha});
}
void Addr::samples(SampleList& s) { added_samples<Addr>(s, {2, 3}, {2}, {3}); }

OpFamily family_matmul() {
  return list_ops(OpList<Matmul, Linear, Mm, Mv, Bmm, Dot, Vdot, Vecdot, Outer, ChainMatmul,
                         MultiDot, Addmm, Baddbmm, Addbmm, Addmv, Addr>{},
                  "matmul");
}

}  // namespace rille
