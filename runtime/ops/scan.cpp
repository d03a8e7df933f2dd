#include "ops/scan.h"

#include "core/budget.h"
#include "core/fail.h"
#include "cpu/scan.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/compare.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/register.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

Meta scan_meta(const Tensor& x, const Axis& dim, std::optional<DType> dtype) {
  axis(dim.value, x.rank());
  return meta_of(x.shape(), dtype.value_or(Sum::dtype(x)), x);
}

void run(cpu::Scan what, const Tensor& x, const Axis& dim, bool reverse, Tensor& y) {
  const NoGrad quiet;
  cpu::scan(what, contiguous(x), axis(dim.value, x.rank()), reverse, y);
}

template <class O>
void scan_samples(SampleList& s) {
  add_sample<O>(s, {.x = grid({3, 4}, -1.3, 2.1), .dim = {0}});
  add_sample<O>(s, {.x = strided(grid({2, 3, 2}, -1.3, 2.1)), .dim = {-1}});
  add_sample<O>(s, {.x = grid({}, 0.5, 2.1), .dim = {0}});
  add_sample<O>(s, {.x = grid({2, 0}, 0, 1), .dim = {1}});
}

bool before(int64_t row, int64_t column) { return column < row; }
bool same(int64_t row, int64_t column) { return column == row; }

// A scan's gradient written out as a sum over pairs of elements: i along -2, j along -1.
struct Pairs {
  Pairs(const Tensor& like, const Axis& along) : rank(like.rank()), dim(along.value) {
    n = rank == 0 ? 1 : like.size(dim);
    shape = last(like).shape();
    shape.push_back(n);
  }
  Tensor last(const Tensor& t) const { return rank == 0 ? reshape(t, {1}) : transpose(t, dim, -1); }
  Tensor along_rows(const Tensor& t) const { return expand(unsqueeze(last(t), -1), shape); }
  Tensor along_columns(const Tensor& t) const { return expand(unsqueeze(last(t), -2), shape); }
  Tensor mask(const Tensor& t, bool (*holds)(int64_t, int64_t), double value) const {
    return masked_fill(t, index_mask(n, t.device(), holds), value);
  }
  Tensor sum(const Tensor& t) const {
    const Tensor y = call<Sum>({.x = t, .dims = {-1}});
    return rank == 0 ? reshape(y, {}) : transpose(y, dim, -1);
  }
  int rank;
  int64_t dim, n;
  Shape shape;
};

}  // namespace

Meta Cumsum::infer(const Args& a) { return scan_meta(a.x, a.dim, a.dtype); }
void Cumsum::cpu(const Args& a, Tensor& y) { run(cpu::Scan::sum, a.x, a.dim, a.reverse, y); }
Cumsum::Args Cumsum::grad(const Back<Cumsum>& b) {
  return {.x = call<Cumsum>({.x = b.dy, .dim = b.a.dim, .reverse = !b.a.reverse})};
}
void Cumsum::samples(SampleList& s) {
  scan_samples<Cumsum>(s);
  add_sample<Cumsum>(s, {.x = grid({2, 3}, -1, 1), .dim = {0}, .reverse = true});
}

Meta Cumprod::infer(const Args& a) { return scan_meta(a.x, a.dim, a.dtype); }
void Cumprod::cpu(const Args& a, Tensor& y) { run(cpu::Scan::prod, a.x, a.dim, false, y); }
Cumprod::Args Cumprod::grad(const Back<Cumprod>& b) {
  return {.x = call<CumprodGrad>({.x = b.a.x, .dy = b.dy, .dim = b.a.dim})};
}
void Cumprod::samples(SampleList& s) {
  scan_samples<Cumprod>(s);
  const std::array with_zeros{0.5, 0.0, 2.0, -1.5, 0.0, 3.0, 1.2, 0.0};
  add_sample<Cumprod>(s, {.x = Tensor::of(with_zeros, {2, 4}, DType::f64), .dim = {1}});
}

Meta CumprodGrad::infer(const Args& a) {
  axis(a.dim.value, a.x.rank());
  must_be_float(a.dy, "dy");
  must_have_shape(a.dy, a.x.shape(), "dy");
  return meta_of(a.x.shape(), a.dy.dtype(), a.x);
}
void CumprodGrad::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  cpu::scan_prod_grad(contiguous(a.x), contiguous(a.dy), axis(a.dim.value, a.x.rank()), y);
}
Tensor CumprodGrad::compose(const Args& a) {
  const Pairs p(a.x, a.dim);
  const Tensor others = call<Cumprod>({.x = p.mask(p.along_columns(a.x), same, 1), .dim = {-1}});
  return p.sum(p.mask(others, before, 0) * p.along_columns(a.dy));
}
void CumprodGrad::samples(SampleList& s) {
  add_sample<CumprodGrad>(s, {.x = grid({3, 2}, -1.3, 2.1), .dy = grid({3, 2}, -1, 1), .dim = {0}});
  add_sample<CumprodGrad>(s, {.x = grid({2, 3}, -1.3, 2.1), .dy = grid({2, 3}, -1, 1), .dim = {1}});
  add_sample<CumprodGrad>(s, {.x = grid({}, -1.3, 2.1), .dy = grid({}, -1, 1), .dim = {0}});
}

void LogCumsumExp::cpu(const Args& a, Tensor& y) {
  axis(a.dim.value, a.x.rank());
  run(cpu::Scan::logsumexp, a.x, a.dim, false, y);
}
LogCumsumExp::Args LogCumsumExp::grad(const Back<LogCumsumExp>& b) {
  return {.x = call<LogCumsumExpGrad>({.x = b.a.x, .dy = b.dy, .dim = b.a.dim})};
}
void LogCumsumExp::samples(SampleList& s) { scan_samples<LogCumsumExp>(s); }

Meta LogCumsumExpGrad::infer(const Args& a) {
  axis(a.dim.value, a.x.rank());
  must_be_float(a.dy, "dy");
  must_have_shape(a.dy, a.x.shape(), "dy");
  return meta_of(a.x.shape(), a.dy.dtype(), a.x);
}
void LogCumsumExpGrad::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  cpu::scan_logsumexp_grad(contiguous(a.x), contiguous(a.dy), axis(a.dim.value, a.x.rank()), y);
}
Tensor LogCumsumExpGrad::compose(const Args& a) {
  const Pairs p(a.x, a.dim);
  const Tensor y = call<LogCumsumExp>({.x = a.x, .dim = a.dim});
  const Tensor log_ratio = p.mask(p.along_rows(a.x) - p.along_columns(y), before, -HUGE_VAL);
  return p.sum(call<Exp>({.x = log_ratio}) * p.along_columns(a.dy));
}
void LogCumsumExpGrad::samples(SampleList& s) {
  for (const Axis dim : {Axis{0}, Axis{1}})
    add_sample<LogCumsumExpGrad>(
        s, {.x = grid({3, 2}, -1.3, 2.1), .dy = grid({3, 2}, -1, 1), .dim = dim});
}

template <class O>
void RunningPick<O>::samples(SampleList& s) {
  scan_samples<O>(s);
}

void Cummax::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  cpu::scan_extreme(true, contiguous(a.x), axis(a.dim.value, a.x.rank()), y.values, y.ids);
}
void Cummin::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  cpu::scan_extreme(false, contiguous(a.x), axis(a.dim.value, a.x.rank()), y.values, y.ids);
}

// ---- differences and integrals ----------------------------------------------------------------

namespace {

struct Neighbours {
  Tensor left, right;
  Neighbours(const Tensor& x, int64_t dim) {
    const int64_t n = std::max<int64_t>(0, x.size(dim) - 1);
    left = narrow(x, dim, 0, n);
    right = narrow(x, dim, x.size(dim) - n, n);
  }
};

// The areas between neighbouring samples.
template <class A>
Tensor trapezoids(const A& a) {
  if (a.y.rank() == 0) throw shape_error("samples need at least one dim").of("y");
  const Neighbours y(widened(a.y), a.dim.value);
  if (!a.x) return (y.left + y.right) * (a.dx / 2);
  const bool line = a.x->rank() == 1;
  if (line ? a.x->size(0) != a.y.size(a.dim.value)
           : a.x->size(a.dim.value) != a.y.size(a.dim.value))
    throw shape_error("{} places for samples of shape {}", to_string(a.x->shape()),
                      to_string(a.y.shape()))
        .of("x");
  const Neighbours x(widened(*a.x), line ? 0 : a.dim.value);
  Tensor widths = x.right - x.left;
  if (line) {
    Shape s = Shape::filled(a.y.rank(), 1);
    s[axis(a.dim.value, a.y.rank())] = widths.numel();
    widths = reshape(widths, s);
  }
  return (y.left + y.right) * widths * 0.5;
}

// The result in the dtype of the arguments: areas are summed up in f32 where they have 16 bits.
template <class A>
Tensor as_samples(const A& a, const Tensor& y) {
  const DType d = a.x ? promote(a.y.dtype(), a.x->dtype()) : a.y.dtype();
  return is_float(d) ? cast(y, d) : y;
}

}  // namespace

Tensor Diff::compose(const Args& a) {
  if (a.n < 0) throw arg_error("'n' must not be negative, got {}", a.n);
  if (a.x.rank() == 0) throw shape_error("x needs at least one dim").of("x");
  if (a.n == 0) return clone(a.x);
  std::vector<Tensor> parts;
  if (a.prepend) parts.push_back(*a.prepend);
  parts.push_back(a.x);
  if (a.append) parts.push_back(*a.append);
  Tensor x = parts.size() > 1 ? cat(parts, a.dim.value) : a.x;
  // Nothing is left to take after as many times as there are elements.
  const int64_t n = std::min(a.n, std::max<int64_t>(x.size(a.dim.value), 1));
  for (int64_t i = 0; i < n; ++i) {
    end_if_over();
    const Neighbours of(x, a.dim.value);
    x = x.dtype() == DType::boolean ? call<Ne>({.x = of.right, .y = of.left}) : of.right - of.left;
  }
  return x;
}
void Diff::samples(SampleList& s) {
  add_sample<Diff>(s, {.x = grid({2, 4}, -1, 1)});
  add_sample<Diff>(s, {.x = grid({4, 2}, -1, 1), .n = 2, .dim = {0}});
  add_sample<Diff>(
      s, {.x = grid({2, 3}, -1, 1), .prepend = grid({2, 1}, -2, 2), .append = grid({2, 2}, -2, 2)});
  add_sample<Diff>(s, {.x = grid({2, 3}, -1, 1), .n = 0, .prepend = grid({2, 1}, -2, 2)});
}

template <class O>
void Integral<O>::samples(SampleList& s) {
  add_sample<O>(s, {.y = grid({2, 4}, -1, 1), .dx = 0.5});
  add_sample<O>(s, {.y = grid({3, 2}, -1, 1), .x = grid({3}, 0, 2), .dim = {0}});
  add_sample<O>(s, {.y = grid({2, 3}, -1, 1), .x = grid({2, 3}, 0, 2)});
}
Tensor Trapezoid::compose(const Args& a) {
  const Tensor areas = trapezoids(a);
  return as_samples(a, call<Sum>({.x = areas, .dims = {a.dim.value}}));
}
Tensor CumulativeTrapezoid::compose(const Args& a) {
  return as_samples(a, call<Cumsum>({.x = trapezoids(a), .dim = a.dim}));
}

OpFamily family_scan() {
  return list_ops(OpList<Cumsum, Cumprod, CumprodGrad, LogCumsumExp, LogCumsumExpGrad, Cummax,
                         Cummin, Diff, Trapezoid, CumulativeTrapezoid>{},
                  "scan");
}

}  // namespace rille
