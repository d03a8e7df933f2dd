// Reductions over any dims of tensors in any layout, and the largest and smallest elements with
// their places: each result against a loop over the elements that make it.
#include <limits>

#include "core/fail.h"
#include "cpu/extreme.h"
#include "cpu/pointwise.h"
#include "cpu/reducers.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::Fold;

// The elements that make each result, in order.
std::vector<Values> grouped(const Tensor& x, cpu::DimSet dims) {
  int64_t results = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (!(dims >> d & 1)) results *= x.shape()[d];
  std::vector<Values> groups(at(results));
  const Values v = values_of(x);
  Index i(x.shape());
  for (const double e : v) {
    int64_t place = 0;
    for (int d = 0; d < x.rank(); ++d)
      if (!(dims >> d & 1)) place = place * x.shape()[d] + i[d];
    groups[at(place)].push_back(e);
    i.next();
  }
  return groups;
}

struct Reduction {
  Fold what;
  DType compute, out;
  double number;
};

double power_sum(const Values& v, double p) {
  long double sum = 0;
  for (const double e : v) sum += std::pow(std::fabs(static_cast<long double>(e)), p);
  return static_cast<double>(sum);
}

// nan if there is one, else the best.
template <class Better>
double best(const Values& v, double none, const Better& better, bool absolute = false) {
  for (double e : v) {
    if (std::isnan(e)) return e;
    if (absolute) e = std::fabs(e);
    if (better(e, none)) none = e;
  }
  return none;
}

Want folded(const Reduction& r, const Values& v, double param) {
  const double inf = std::numeric_limits<double>::infinity();
  const bool whole = r.compute == DType::i64;
  const double n = static_cast<double>(v.size());
  const auto more = std::greater<double>();
  const auto less = std::less<double>();
  Sum sum;
  double size = 0, value = 0;
  switch (r.what) {
    case Fold::sum:
    case Fold::mean:
    case Fold::valid_sum:
      for (const double e : v)
        if (r.what != Fold::valid_sum || !std::isnan(e)) sum.add(e);
      if (r.what == Fold::mean) sum.value /= r.number, sum.size /= std::fabs(r.number);
      return sum.in(r.out, 3, r.compute);
    case Fold::prod:
      value = 1;
      for (const double e : v) value *= e;
      return rounded(r.out, value, n + 3, std::fabs(value), r.compute);
    case Fold::max: return {best(v, whole ? -0x1p63 : -inf, more)};
    case Fold::min: return {best(v, whole ? 0x1p63 : inf, less)};
    case Fold::largest: return {best(v, -inf, more, true)};
    case Fold::smallest: return {best(v, inf, less, true)};
    case Fold::any:
      for (const double e : v) value = e != 0 ? 1 : value;
      return {value};
    case Fold::all:
      value = 1;
      for (const double e : v) value = e != 0 ? value : 0;
      return {value};
    case Fold::count:
      for (const double e : v) value += e != 0 ? 1 : 0;
      return {value};
    case Fold::l1: value = power_sum(v, 1); return rounded(r.out, value, n + 3, value, r.compute);
    case Fold::l2:
      value = std::sqrt(power_sum(v, 2));
      return rounded(r.out, value, n + 5, value, r.compute);
    case Fold::lp:
      value = std::pow(power_sum(v, r.number), 1 / r.number);
      return rounded(r.out, value, (n + 20) * (1 + 1 / r.number), value, r.compute);
    case Fold::var:
    case Fold::std:
      for (const double e : v) sum.add(e - param, e - param);
      value = static_cast<double>(sum.value) / r.number;
      if (r.what == Fold::std) value = std::sqrt(value);
      return rounded(r.out, value, n + 8, std::fabs(value), r.compute);
    case Fold::logsumexp:
      for (const double e : v) size += std::exp(e - param);
      value = param + std::log(size);
      return rounded(r.out, value, n + 30, 1 + std::fabs(value) + std::fabs(param), r.compute);
  }
  return {0};
}

Fold any_fold(Dice& dice, bool floats) {
  if (!floats)
    return dice.any_of(
        {Fold::sum, Fold::prod, Fold::max, Fold::min, Fold::any, Fold::all, Fold::count});
  return static_cast<Fold>(dice.between(0, static_cast<int64_t>(Fold::valid_sum)));
}

// What the ops give as `number` and `param`.
double number_for(Dice& dice, Fold what, int64_t each) {
  if (what == Fold::lp) return dice.any_of({0.5, 3.0, 1.5});
  if (what == Fold::var || what == Fold::std)
    return static_cast<double>(std::max<int64_t>(1, each - dice.between(0, 1)));
  return static_cast<double>(each);
}

double param_for(Fold what, const Values& v) {
  const double inf = std::numeric_limits<double>::infinity();
  double sum = 0, top = -inf;
  for (const double e : v) sum += e, top = std::max(top, e);
  if (what == Fold::logsumexp) return std::isfinite(top) ? top : 0;
  return v.empty() ? 0 : sum / static_cast<double>(v.size());
}

Shape remaining(const Shape& x, cpu::DimSet dims, bool keep) {
  Shape s;
  for (int d = 0; d < x.size(); ++d)
    if (!(dims >> d & 1))
      s.push_back(x[d]);
    else if (keep)
      s.push_back(1);
  return s;
}

// Rarely a nan or an infinity somewhere.
void spoil(Dice& dice, const Tensor& x) {
  const int64_t item = static_cast<int64_t>(size_of(x.dtype()));
  Index i(x.shape());
  for (int64_t k = 0; k < x.numel(); ++k, i.next())
    if (dice.one_in(200))
      store_element(x.dtype(), x.data_as<char>() + i.offset(x.strides()) * item, std::nan(""));
}

Outcome reduction(Dice& dice) {
  const int rank = static_cast<int>(dice.between(0, 6));
  const Shape shape = dice.shape(rank, dice.one_in(6) ? 150000 : 4000);
  const auto dims = static_cast<cpu::DimSet>(dice.between(0, (1 << rank) - 1));
  const DType d = dice.any_type();
  Reduction r{any_fold(dice, is_float(d)), cpu::compute_type(d), DType::i64, 0};
  const bool nan_matters = r.what == Fold::max || r.what == Fold::min ||
                           r.what == Fold::valid_sum || r.what == Fold::largest ||
                           r.what == Fold::smallest;
  const bool truth = r.what == Fold::any || r.what == Fold::all;
  const bool product = r.what == Fold::prod;
  const double top = product ? (is_float(d) ? 1.1 : 1) : is_float(d) ? 2 : 60;
  const double low = d == DType::u8 || d == DType::boolean ? 0
                     : product && is_float(d)              ? 0.9
                                                           : -top;
  const Tensor x = random_tensor(dice, shape, d, truth && dice.flip() ? 0 : low, top);
  if (is_float(d) && nan_matters && dice.one_in(3)) spoil(dice, x);
  const std::vector<Values> groups = grouped(x, dims);
  const int64_t each = groups.empty() ? 0 : static_cast<int64_t>(groups[0].size());
  r.number = number_for(dice, r.what, each);
  if (truth)
    r.out = DType::boolean;
  else if (is_float(d) && r.what != Fold::count)
    r.out = dice.any_of({d, DType::f64, DType::f32});
  const Tensor param = Tensor::empty(remaining(shape, dims, dice.flip()), r.compute);
  for (size_t i = 0; i < groups.size(); ++i)
    store_element(r.compute, param.data_as<char>() + i * size_of(r.compute),
                  param_for(r.what, groups[i]));
  const Values params = values_of(param);
  Wants want;
  for (size_t i = 0; i < groups.size(); ++i) {
    want.push_back(folded(r, groups[i], params[i]));
    if (r.out != r.compute)
      want.back().slack += std::fabs(want.back().value) * unit_roundoff(r.out);
  }
  const bool with_param = r.what == Fold::var || r.what == Fold::std || r.what == Fold::logsumexp;
  return {fmt::format("fold {} of {} {} strides {} dims {} to {} number {}",
                      static_cast<int>(r.what), name(d), to_string(shape),
                      to_string(Shape(x.strides())), dims, name(r.out), r.number),
          with_threads(
              [&] {
                const Tensor y = Tensor::empty(param.shape(), r.out);
                cpu::fold(r.what, x, dims, d, y, r.number, with_param ? &param : nullptr);
                return std::vector<Tensor>{y};
              },
              [&](const std::vector<Tensor>& y) { return differs("y", y[0], want); })};
}

Outcome extreme(Dice& dice) {
  const int rank = static_cast<int>(dice.between(1, 5));
  const int dim = static_cast<int>(dice.between(0, rank - 1));
  Shape shape = dice.shape(rank, dice.one_in(8) ? 300000 : 4000);
  if (shape[dim] == 0) shape[dim] = 1;
  const DType d = dice.any_type();
  const bool largest = dice.flip();
  const Tensor x =
      packed_tensor(dice, shape, d, d == DType::u8 ? 0 : -9, d == DType::boolean ? 1 : 9);
  if (is_float(d) && dice.one_in(3)) spoil(dice, x);
  Wants values, ids;
  for (const Values& v : grouped(x, 1u << dim)) {
    size_t best = 0;
    for (size_t i = 1; i < v.size(); ++i)
      if (!std::isnan(v[best]) && (std::isnan(v[i]) || (largest ? v[i] > v[best] : v[i] < v[best])))
        best = i;
    values.push_back({v[best]}), ids.push_back({static_cast<double>(best)});
  }
  return {
      fmt::format("{} of {} {} dim {}", largest ? "max" : "min", name(d), to_string(shape), dim),
      with_threads(
          [&] {
            Tensor v = Tensor::empty(remaining(shape, 1u << dim, false), d);
            Tensor i = Tensor::empty(v.shape(), DType::i64);
            cpu::extreme(largest, x, dim, &v, i);
            return std::vector<Tensor>{v, i};
          },
          [&](const std::vector<Tensor>& r) {
            const std::string wrong = differs("values", r[0], values);
            return wrong.empty() ? differs("ids", r[1], ids) : wrong;
          })};
}

const Family kFamily("reduce", {{"fold", 3000, reduction}, {"extreme", 800, extreme}});

}  // namespace
}  // namespace rille::shapes
