#include "ops/reduce.h"

#include <bit>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/reducers.h"
#include "cpu/scan.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/pointwise_grad.h"
#include "ops/pointwise_kernels.h"
#include "ops/select.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace rille {

// ---- what reductions share --------------------------------------------------------------------

uint32_t dim_set(const Axes& dims, int rank) {
  if (dims.all || dims.list.empty()) return (uint32_t{1} << rank) - 1;
  uint32_t set = 0;
  for (const int64_t d : dims.list) {
    const int a = axis(d, rank);
    if (set >> a & 1) throw arg_error("dim {} is named twice", d < 0 ? d : d + 1);
    if (rank > 0) set |= uint32_t{1} << a;
  }
  return set;
}

Shape reduced_shape(const Shape& x, uint32_t dims, bool keepdim) {
  Shape s;
  for (int d = 0; d < x.size(); ++d) {
    if (!(dims >> d & 1))
      s.push_back(x[d]);
    else if (keepdim)
      s.push_back(1);
  }
  return s;
}

int64_t reduced_count(const Shape& x, const Axes& dims) {
  const uint32_t set = dim_set(dims, x.size());
  Checked n(1);
  for (int d = 0; d < x.size(); ++d)
    if (set >> d & 1) n *= x[d];
  return n;
}

Tensor spread(const Tensor& y, const Tensor& x, const Axes& dims) {
  return expand(reshape(y, reduced_shape(x.shape(), dim_set(dims, x.rank()), true)), x.shape());
}

Tensor tie_share(const Tensor& x, const Tensor& y, const Axes& dims) {
  const NoGrad constant;
  const Tensor same = cast(call<Eq>({.x = x, .y = spread(y, x, dims)}), x.dtype());
  return same / call<Sum>({.x = same, .dims = dims, .keepdim = true});
}

Tensor index_mask(int64_t n, Device device, bool (*holds)(int64_t row, int64_t column)) {
  const Tensor mask = Tensor::empty({n, n}, DType::boolean);
  Poll poll;
  for (int64_t i = 0; i < n; ++i, poll(n))
    for (int64_t j = 0; j < n; ++j) mask.data_as<bool>()[i * n + j] = holds(i, j);
  return device.is_meta() ? Tensor::empty({n, n}, DType::boolean, device) : to_device(mask, device);
}

namespace {

Axes one_dim(const std::optional<Axis>& dim) { return dim ? Axes{dim->value} : Axes(); }

// What elements are read as before they are summed into y.
DType summed_as(const Tensor& x, const Tensor& y) {
  return is_float(y.dtype()) && x.is_float() ? promote(x.dtype(), y.dtype()) : y.dtype();
}

void require_float(const Tensor& x, std::string_view what) {
  if (!x.is_float())
    throw dtype_error("{} needs floating-point values, got {}", what, name(x.dtype()))
        .of("x")
        .hint("x:to(\"f32\")");
}

Meta float_meta(const Tensor& x, const Axes& dims, bool keepdim, std::optional<DType> dtype,
                std::string_view what) {
  if (!dtype) require_float(x, what);
  if (dtype && !is_float(*dtype))
    throw dtype_error("{} gives floating-point values, not {}", what, name(*dtype));
  return meta_of(reduced_shape(x.shape(), dim_set(dims, x.rank()), keepdim),
                 dtype.value_or(x.dtype()), x);
}

}  // namespace

template <class O>
void SpreadReduction<O>::samples(SampleList& s) {
  dims_samples<O>(s);
  s.erase(s.end() - 2);  // the spread of one element divides by 0
  add_sample<O>(s, {.x = grid({2, 5}, -1.3, 2.1), .dims = {1}, .correction = 0});
  add_sample<O>(s, {.x = grid({2, 5}, -1.3, 2.1), .dims = {0}, .unbiased = false});
}

// ---- sums -------------------------------------------------------------------------------------

void Sum::cpu(const Args& a, Tensor& y) {
  cpu::fold(cpu::Fold::sum, a.x, dim_set(a.dims, a.x.rank()), summed_as(a.x, y), y);
}
Sum::Args Sum::grad(const Back<Sum>& b) { return {.x = spread(b.dy, b.a.x, b.a.dims)}; }

Meta Mean::infer(const Args& a) { return float_meta(a.x, a.dims, a.keepdim, a.dtype, "a mean"); }
// Whether all results are finite. In f64 what is not stays so.
bool all_finite(const Tensor& y) {
  if (y.dtype() == DType::f64) return true;
  const Tensor wide = cast(y, DType::f32);
  const float* v = wide.data_as<float>();
  return std::all_of(v, v + wide.numel(), [](float one) { return std::isfinite(one); });
}

void Mean::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const auto n = static_cast<double>(reduced_count(a.x.shape(), a.dims));
  const uint32_t dims = dim_set(a.dims, a.x.rank());
  cpu::fold(cpu::Fold::mean, a.x, dims, summed_as(a.x, y), y, n);
  // The sum of floats may be infinite where their mean is not.
  if (!all_finite(y)) cpu::fold(cpu::Fold::mean, a.x, dims, DType::f64, y, n);
}
Mean::Args Mean::grad(const Back<Mean>& b) {
  const auto n = static_cast<double>(reduced_count(b.a.x.shape(), b.a.dims));
  return {.x = spread(b.dy / n, b.a.x, b.a.dims)};
}

void NanSum::cpu(const Args& a, Tensor& y) {
  const cpu::Fold what = a.x.is_float() ? cpu::Fold::valid_sum : cpu::Fold::sum;
  const Tensor x = is_float(y.dtype()) ? a.x : cast(a.x, y.dtype());
  cpu::fold(is_float(y.dtype()) ? what : cpu::Fold::sum, x, dim_set(a.dims, a.x.rank()),
            summed_as(x, y), y);
}
NanSum::Args NanSum::grad(const Back<NanSum>& b) {
  return {.x = masked_fill(spread(b.dy, b.a.x, b.a.dims), call<IsNan>({.x = b.a.x}), 0)};
}

Tensor NanMean::compose(const Args& a) {
  require_float(a.x, "a mean");
  const Tensor valid = call<LogicalNot>({.x = call<IsNan>({.x = a.x})});
  const Tensor n = call<Sum>({.x = valid, .dims = a.dims, .keepdim = a.keepdim});
  const DType d = a.dtype.value_or(a.x.dtype());
  const Tensor x = widened(cast(a.x, d));
  return cast(call<NanSum>({.x = x, .dims = a.dims, .keepdim = a.keepdim}) / n, d);
}

Meta Prod::infer(const Args& a) {
  const uint32_t dims = dim_set(one_dim(a.dim), a.x.rank());
  return meta_of(reduced_shape(a.x.shape(), dims, a.keepdim), a.dtype.value_or(Sum::dtype(a.x)),
                 a.x);
}
void Prod::cpu(const Args& a, Tensor& y) {
  cpu::fold(cpu::Fold::prod, a.x, dim_set(one_dim(a.dim), a.x.rank()), summed_as(a.x, y), y);
}
Prod::Args Prod::grad(const Back<Prod>& b) {
  const Tensor x = widened(b.a.x);
  const Tensor others =
      b.a.dim ? call<ProdOthers>({.x = x, .dim = *b.a.dim})
              : reshape(call<ProdOthers>({.x = reshape(x, {-1}), .dim = {0}}), x.shape());
  return {.x = spread(widened(b.dy), x, one_dim(b.a.dim)) * others};
}
void Prod::samples(SampleList& s) {
  add_sample<Prod>(s, {.x = grid({2, 3}, -1.3, 2.1)});
  add_sample<Prod>(s, {.x = strided(grid({2, 3, 2}, -1.3, 2.1)), .dim = Axis{1}, .keepdim = true});
  add_sample<Prod>(s, {.x = Tensor::of(std::array{0.0, 2.0, 3.0, 0.0, 0.0, 5.0, 0.5, 0.7, -1.0},
                                       {3, 3}, DType::f64),
                       .dim = Axis{-1}});
  add_sample<Prod>(s, {.x = grid({}, 1, 2)});
  add_sample<Prod>(s, {.x = grid({0, 2}, 1, 2), .dim = Axis{0}});
}

void ProdOthers::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  cpu::products_of_others(contiguous(a.x), axis(a.dim.value, a.x.rank()), y);
}
// The line repeated once for each element, with a 1 in the place of that element.
Tensor ProdOthers::compose(const Args& a) {
  const int64_t n = a.x.rank() == 0 ? 1 : a.x.size(a.dim.value);
  const Tensor x = a.x.rank() == 0 ? reshape(a.x, {1}) : transpose(a.x, a.dim.value, -1);
  Shape square = x.shape();
  square.push_back(n);
  const Tensor repeated =
      masked_fill(expand(unsqueeze(x, -2), square),
                  index_mask(n, x.device(), [](int64_t i, int64_t j) { return i == j; }), 1);
  const Tensor y = call<Prod>({.x = repeated, .dim = Axis{-1}});
  return a.x.rank() == 0 ? reshape(y, {}) : transpose(y, a.dim.value, -1);
}
void ProdOthers::samples(SampleList& s) {
  add_sample<ProdOthers>(s, {.x = grid({2, 3}, -1.3, 2.1), .dim = {0}});
  add_sample<ProdOthers>(s, {.x = strided(grid({3, 3}, -1.3, 2.1)), .dim = {-1}});
  add_sample<ProdOthers>(s, {.x = grid({}, 1, 2), .dim = {0}});
}

// ---- spread -----------------------------------------------------------------------------------

namespace {

template <class A>
double degrees(const A& a, const Shape& x) {
  return static_cast<double>(reduced_count(x, a.dims)) - (a.unbiased ? a.correction : 0);
}

// What f32 is enough for: squares beyond 1e19 are infinite in it and those below 1e-19 lose their
// digits, and the mean of numbers that differ by little is rounded by more than that.
bool f32_is_enough(const Tensor& y, const Tensor& mean, bool is_root) {
  const Tensor wide = cast(y, DType::f32);
  const float *v = wide.data_as<float>(), *m = mean.data_as<float>();
  constexpr double kLeast = 1e-30, kSpread = 0x1p-26;  // of the mean's square
  for (int64_t i = 0; i < y.numel(); ++i) {
    const double about = static_cast<double>(m[i]) * m[i];
    const double spread = is_root ? static_cast<double>(v[i]) * v[i] : v[i];
    if (!(spread >= kLeast && spread >= kSpread * about && spread <= 1e38)) return false;
  }
  return true;
}

template <class A>
void fold_about_mean(cpu::Fold what, const A& a, Tensor& y) {
  const NoGrad quiet;
  const uint32_t dims = dim_set(a.dims, a.x.rank());
  const auto n = static_cast<double>(reduced_count(a.x.shape(), a.dims));
  const auto fold_as = [&](DType as) {
    Tensor mean = Tensor::empty(y.shape(), as);
    cpu::fold(cpu::Fold::mean, a.x, dims, as, mean, n);
    cpu::fold(what, a.x, dims, as, y, degrees(a, a.x.shape()), &mean);
    return mean;
  };
  const DType as = cpu::compute_type(a.x.dtype());
  const Tensor mean = fold_as(as);
  if (as == DType::f32 && !f32_is_enough(y, mean, what == cpu::Fold::std)) fold_as(DType::f64);
}

// x without its mean, neither of them rounded to 16 bits.
template <class A>
Tensor centred(const A& a) {
  const DType wide = cpu::compute_type(a.x.dtype());
  return a.x - call<Mean>({.x = a.x, .dims = a.dims, .keepdim = true, .dtype = wide});
}

}  // namespace

Meta Var::infer(const Args& a) { return float_meta(a.x, a.dims, a.keepdim, {}, "a variance"); }
void Var::cpu(const Args& a, Tensor& y) { fold_about_mean(cpu::Fold::var, a, y); }
Var::Args Var::grad(const Back<Var>& b) {
  const double n = std::max(0.0, degrees(b.a, b.a.x.shape()));
  const Tensor dx = call<Ratio>(
      {.x = spread(b.dy, b.a.x, b.a.dims), .y = centred(b.a), .z = Tensor::number(n), .scale = 2});
  return {.x = dx};
}

Meta Std::infer(const Args& a) {
  return float_meta(a.x, a.dims, a.keepdim, {}, "a standard deviation");
}
void Std::cpu(const Args& a, Tensor& y) { fold_about_mean(cpu::Fold::std, a, y); }
Std::Args Std::grad(const Back<Std>& b) {
  const Tensor& x = b.a.x;
  const Tensor dx = call<Ratio>({.x = spread(b.dy, x, b.a.dims),
                                 .y = centred(b.a),
                                 .z = spread(b.y, x, b.a.dims),
                                 .scale = 1 / std::max(0.0, degrees(b.a, x.shape())),
                                 .or_zero = true});
  return {.x = dx};
}

VarMean::Out VarMean::compose(const Args& a) {
  return {call<Var>({a.x, a.dims, a.correction, a.keepdim, a.unbiased}),
          call<Mean>({.x = a.x, .dims = a.dims, .keepdim = a.keepdim})};
}
StdMean::Out StdMean::compose(const Args& a) {
  return {call<Std>({a.x, a.dims, a.correction, a.keepdim, a.unbiased}),
          call<Mean>({.x = a.x, .dims = a.dims, .keepdim = a.keepdim})};
}

// ---- norms ------------------------------------------------------------------------------------

Meta Norm::infer(const Args& a) {
  const Meta m = float_meta(a.x, a.dims, a.keepdim, a.dtype, "a norm");
  if (std::isinf(a.p) && reduced_count(a.x.shape(), a.dims) == 0 && checked_numel(m.shape) > 0)
    throw shape_error("no element to take the norm of: shape {}", to_string(a.x.shape()));
  return m;
}
void Norm::cpu(const Args& a, Tensor& y) {
  using cpu::Fold;
  const Fold what = a.p == 2          ? Fold::l2
                    : a.p == 1        ? Fold::l1
                    : a.p == 0        ? Fold::count
                    : std::isinf(a.p) ? (a.p > 0 ? Fold::largest : Fold::smallest)
                                      : Fold::lp;
  cpu::fold(what, a.x, dim_set(a.dims, a.x.rank()), summed_as(a.x, y), y, a.p);
}
Norm::Args Norm::grad(const Back<Norm>& b) {
  const Tensor& x = b.a.x;
  const double p = b.a.p;
  const auto power = [](const Tensor& t, double q) { return call<SignedPow>({.x = t, .p = q}); };
  if (p == 0) return {.x = spread(b.dy, x, b.a.dims) * 0};
  if (p == 1) return {.x = spread(b.dy, x, b.a.dims) * power(x, 0)};
  const Tensor dy = spread(b.dy, x, b.a.dims), y = spread(b.y, x, b.a.dims);
  if (p == 2) return {.x = call<Ratio>({.x = dy, .y = x, .z = y, .or_zero = true})};
  if (std::isinf(p)) {
    const Tensor sign = power(x, 0);
    return {.x = spread(b.dy, x, b.a.dims) *
                 (sign * tie_share(x * sign, cast(b.y, x.dtype()), b.a.dims))};
  }
  return {.x = dy * power(call<DivideOrZero>({.x = x, .y = y}), p - 1)};
}
void Norm::samples(SampleList& s) {
  const Tensor x = grid({2, 3, 2}, -1.3, 2.1);
  for (const double p : {2.0, 1.0, 3.0, 0.5, 0.0, HUGE_VAL, -HUGE_VAL}) {
    add_sample<Norm>(s, {.x = x, .p = p});
    add_sample<Norm>(s, {.x = x, .p = p, .dims = {1}, .keepdim = true});
  }
  add_sample<Norm>(s, {.x = strided(x), .p = 2, .dims = {0, 2}});
  add_sample<Norm>(s, {.x = grid({}, -2, 0), .p = 2});
  add_sample<Norm>(s, {.x = grid({2, 0}, -2, 0), .p = 2, .dims = {1}});
}

Tensor VectorNorm::compose(const Args& a) {
  return call<Norm>({a.x, a.ord, a.dims, a.keepdim, a.dtype});
}
void VectorNorm::samples(SampleList& s) {
  add_sample<VectorNorm>(s, {.x = grid({2, 3}, -1.3, 2.1), .ord = 3, .dims = {0}});
}

Tensor Dist::compose(const Args& a) { return call<Norm>({.x = a.x - a.y, .p = a.p}); }
void Dist::samples(SampleList& s) {
  add_sample<Dist>(s, {.x = grid({2, 3}, -1.3, 2.1), .y = grid({3}, -1, 1)});
}

void SignedPow::samples(SampleList& s) {
  for (const double p : {0.0, 0.5, 1.0, 2.5, -1.5})
    add_sample<SignedPow>(s, {.x = grid({2, 3}, -1.3, 2.1), .p = p});
}

DivideOrZero::Args DivideOrZero::grad(const Back<DivideOrZero>& b) {
  const Tensor dx = call<DivideOrZero>({.x = b.dy, .y = b.a.y});
  Args g{.x = dx, .y = {}};
  if (b.need(&Args::y))
    g.y =
        call<Ratio>({.x = b.dy, .y = b.a.x, .z = b.a.y, .power = 2, .scale = -1, .or_zero = true});
  return g;
}
void DivideOrZero::samples(SampleList& s) {
  add_sample<DivideOrZero>(s, {.x = grid({2, 3}, -1.3, 2.1), .y = grid({3}, -1.3, 2.1)});
}

void LogSumExp::cpu(const Args& a, Tensor& y) {
  const uint32_t dims = dim_set(a.dims, a.x.rank());
  const DType as = a.x.is_float() ? cpu::compute_type(a.x.dtype()) : cpu::compute_type(y.dtype());
  const Tensor max = Tensor::empty(y.shape(), as);
  cpu::fold(cpu::Fold::max, a.x, dims, as, max);
  cpu::fold(cpu::Fold::logsumexp, a.x, dims, as, y, 0, &max);
}
// The softmax over those dims, and not exp(x - y): of large x the result has no digit left for what
// lies above the largest of them.
LogSumExp::Args LogSumExp::grad(const Back<LogSumExp>& b) {
  const Tensor& x = b.a.x;
  const uint32_t dims = dim_set(b.a.dims, x.rank());
  Dims order, back = Dims::filled(x.rank(), 0);
  for (const bool reduced : {false, true})
    for (int d = 0; d < x.rank(); ++d)
      if ((dims >> d & 1) == (reduced ? 1u : 0u)) {
        back[d] = order.size();
        order.push_back(d);
      }
  const Tensor last = permute(x, order);
  const Shape kept = reduced_shape(x.shape(), dims, false);
  Shape rows = kept;
  rows.push_back(reduced_count(x.shape(), b.a.dims));
  const Tensor share = permute(reshape(softmax(reshape(last, rows), -1), last.shape()), back);
  return {.x = spread(b.dy, x, b.a.dims) * share};
}

// ---- truth ------------------------------------------------------------------------------------

void All::cpu(const Args& a, Tensor& y) {
  cpu::fold(cpu::Fold::all, a.x, dim_set(a.dims, a.x.rank()), a.x.dtype(), y);
}
void Any::cpu(const Args& a, Tensor& y) {
  cpu::fold(cpu::Fold::any, a.x, dim_set(a.dims, a.x.rank()), a.x.dtype(), y);
}
void CountNonzero::cpu(const Args& a, Tensor& y) {
  cpu::fold(cpu::Fold::count, a.x, dim_set(a.dims, a.x.rank()), a.x.dtype(), y);
}

OpFamily family_reduce() {
  return list_ops(
      OpList<Sum, Mean, NanSum, NanMean, Prod, ProdOthers, Var, Std, VarMean, StdMean, Norm,
             VectorNorm, Dist, SignedPow, DivideOrZero, LogSumExp, All, Any, CountNonzero>{},
      "reduce");
}

}  // namespace rille
