// Ops of one, two and three tensors element by element: operands in any layout, broadcast, of
// different dtypes, results in memory of their own or in that of a view.
#include <limits>

#include "core/fail.h"
#include "cpu/pointwise.h"
#include "ops/activation.h"
#include "ops/arith.h"
#include "ops/binary.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/math.h"
#include "ops/rectifier.h"
#include "ops/rounding.h"
#include "ops/select.h"
#include "ops/trig.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

struct Unary {
  const char* name;
  Tensor (*op)(const Tensor& x);
  double (*formula)(double x);
  double low, high;  // of x
  double roundings;  // of the largest of 1, x and the result
};

template <class O>
Tensor one(const Tensor& x) {
  return call<O>({.x = x});
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Vector forms of functions are good to 4 units in the last place.
const Unary kUnary[] = {
    {"neg", one<Neg>, [](double x) { return -x; }, -9, 9, 0},
    {"abs", one<Abs>, [](double x) { return std::fabs(x); }, -9, 9, 0},
    {"floor", one<Floor>, [](double x) { return std::floor(x); }, -9, 9, 0},
    {"square", one<Square>, [](double x) { return x * x; }, -9, 9, 2},
    {"exp", one<Exp>, [](double x) { return std::exp(x); }, -9, 9, 12},
    {"log", one<Log>, [](double x) { return std::log(x); }, 0.01, 9, 12},
    {"sqrt", one<Sqrt>, [](double x) { return std::sqrt(x); }, 0, 9, 2},
    {"sin", one<Sin>, [](double x) { return std::sin(x); }, -9, 9, 12},
    {"tanh", one<Tanh>, [](double x) { return std::tanh(x); }, -9, 9, 12},
    {"erf", one<Erf>, [](double x) { return std::erf(x); }, -4, 4, 12},
    {"relu", one<Relu>, [](double x) { return x > 0 ? x : 0; }, -9, 9, 0},
    {"sigmoid", one<Sigmoid>, sigmoid, -9, 9, 16},
    {"silu", one<Silu>, [](double x) { return x * sigmoid(x); }, -9, 9, 16},
    {"gelu", one<Gelu>, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, -6, 6,
     16},
};

struct Binary {
  const char* name;
  Tensor (*op)(const Tensor& x, const Tensor& y);
  double (*formula)(double x, double y);
  double roundings;
};

template <class O>
Tensor two(const Tensor& x, const Tensor& y) {
  return call<O>({.x = x, .y = y});
}

const Binary kBinary[] = {
    {"add", two<Add>, [](double x, double y) { return x + y; }, 2},
    {"sub", two<Sub>, [](double x, double y) { return x - y; }, 2},
    {"mul", two<Mul>, [](double x, double y) { return x * y; }, 2},
    {"maximum", two<Maximum>, [](double x, double y) { return std::max(x, y); }, 2},
    {"minimum", two<Minimum>, [](double x, double y) { return std::min(x, y); }, 2},
};
const Binary kFloatBinary[] = {
    {"div", two<Div>, [](double x, double y) { return x / y; }, 3},
    {"atan2", two<Atan2>, [](double x, double y) { return std::atan2(x, y); }, 12},
    {"hypot", two<Hypot>, [](double x, double y) { return std::hypot(x, y); }, 8},
};
const Binary kCompare[] = {
    {"eq", two<Eq>, [](double x, double y) { return x == y ? 1.0 : 0.0; }, 0},
    {"ne", two<Ne>, [](double x, double y) { return x != y ? 1.0 : 0.0; }, 0},
    {"lt", two<Lt>, [](double x, double y) { return x < y ? 1.0 : 0.0; }, 0},
    {"le", two<Le>, [](double x, double y) { return x <= y ? 1.0 : 0.0; }, 0},
    {"gt", two<Gt>, [](double x, double y) { return x > y ? 1.0 : 0.0; }, 0},
    {"ge", two<Ge>, [](double x, double y) { return x >= y ? 1.0 : 0.0; }, 0},
};

template <size_t n>
const auto& any_of(Dice& dice, const auto(&list)[n]) {
  return list[dice.between(0, static_cast<int64_t>(n) - 1)];
}

Shape any_shape(Dice& dice) {
  return dice.shape(static_cast<int>(dice.between(0, 6)), dice.one_in(5) ? 120000 : 3000);
}

// A shape that broadcasts to `to`: leading dims gone, others 1.
Shape broadcastable(Dice& dice, const Shape& to) {
  if (dice.flip()) return to;
  Shape s;
  for (int d = static_cast<int>(dice.between(0, to.size())); d < to.size(); ++d)
    s.push_back(dice.one_in(3) ? 1 : to[d]);
  return s;
}

// The elements of x, repeated as its shape asks for in `to`.
Values spread(const Tensor& x, const Shape& to) {
  const Values v = values_of(x);
  const Strides packed = contiguous_strides(x.shape());
  int64_t n = 1;
  for (const int64_t d : to) n *= d;
  Values out(at(n));
  Index i(to);
  for (double& e : out) {
    int64_t place = 0;
    for (int d = 0; d < x.rank(); ++d)
      if (x.shape()[d] != 1) place += i[to.size() - x.rank() + d] * packed[d];
    e = v[at(place)];
    i.next();
  }
  return out;
}

std::string text(const char* op, const std::vector<Tensor>& operands) {
  std::string s = op;
  for (const Tensor& t : operands)
    s += fmt::format("  {} {} strides {}", name(t.dtype()), to_string(t.shape()),
                     to_string(Shape(t.strides())));
  return s;
}

Tensor whole_or_float(Dice& dice, const Shape& s, DType d) {
  return random_tensor(dice, s, d, d == DType::u8 || d == DType::boolean ? 0 : -9,
                       d == DType::boolean ? 1 : 9);
}

Outcome unary(Dice& dice) {
  const Unary& op = any_of(dice, kUnary);
  const DType d = dice.float_type();
  const Tensor x = random_tensor(dice, any_shape(dice), d, op.low, op.high);
  Wants want;
  for (const double e : values_of(x)) {
    const double y = op.formula(e);
    want.push_back(rounded(d, y, op.roundings, std::max({1.0, std::fabs(e), std::fabs(y)})));
  }
  return {text(op.name, {x}),
          with_threads([&] { return std::vector<Tensor>{call<Contiguous>({.x = op.op(x)})}; },
                       [&](const std::vector<Tensor>& r) { return differs("y", r[0], want); })};
}

// The result's dtype is checked by the op suite; what is wanted follows from it.
Outcome judge_binary(const Binary& op, const Tensor& x, const Tensor& y, const Shape& shape,
                     double wrap) {
  const Values a = spread(x, shape), b = spread(y, shape);
  return {text(op.name, {x, y}),
          with_threads([&] { return std::vector<Tensor>{call<Contiguous>({.x = op.op(x, y)})}; },
                       [&](const std::vector<Tensor>& r) {
                         const DType d = r[0].dtype();
                         Wants want;
                         for (size_t i = 0; i < a.size(); ++i) {
                           double v = op.formula(a[i], b[i]);
                           if (d == DType::u8) v = std::fmod(v + wrap, 256);
                           if (d == DType::boolean) v = v != 0;
                           want.push_back(
                               rounded(d, v, op.roundings,
                                       std::max({std::fabs(a[i]), std::fabs(b[i]), std::fabs(v)})));
                         }
                         return r[0].shape() == shape ? differs("z", r[0], want)
                                                      : "shape " + to_string(r[0].shape());
                       })};
}

Outcome binary(Dice& dice) {
  const Shape shape = any_shape(dice);
  const bool same = dice.flip(), swap = dice.flip();
  const DType d = dice.any_type(false), e = same ? d : dice.any_type(false);
  const bool floats = is_float(d) && is_float(e) && dice.one_in(3);
  const Binary& op = floats ? any_of(dice, kFloatBinary) : any_of(dice, kBinary);
  const Tensor x = whole_or_float(dice, shape, d),
               y = whole_or_float(dice, broadcastable(dice, shape), e);
  return swap ? judge_binary(op, y, x, shape, 256 * 256) : judge_binary(op, x, y, shape, 256 * 256);
}

Outcome compare(Dice& dice) {
  const Shape shape = any_shape(dice);
  const DType d = dice.any_type(), e = dice.flip() ? d : DType::f64;
  const Tensor x = whole_or_float(dice, shape, d),
               y = whole_or_float(dice, broadcastable(dice, shape), e);
  // an f64 next to a narrower float is compared as f64
  if (is_float(d) && dice.flip()) return judge_binary(any_of(dice, kCompare), x, x, shape, 0);
  return judge_binary(any_of(dice, kCompare), x, y, shape, 0);
}

Outcome where(Dice& dice) {
  const Shape shape = any_shape(dice);
  const DType d = dice.any_type();
  const Tensor c = random_tensor(dice, shape, DType::boolean, 0, 1),
               x = whole_or_float(dice, broadcastable(dice, shape), d),
               y = whole_or_float(dice, broadcastable(dice, shape), d);
  const Values cs = values_of(c), a = spread(x, shape), b = spread(y, shape);
  Wants want;
  for (size_t i = 0; i < cs.size(); ++i) want.push_back({cs[i] != 0 ? a[i] : b[i]});
  return {text("where", {c, x, y}),
          with_threads(
              [&] {
                return std::vector<Tensor>{
                    call<Contiguous>({.x = call<Where>({.condition = c, .x = x, .y = y})})};
              },
              [&](const std::vector<Tensor>& r) { return differs("z", r[0], want); })};
}

// copy_ into a view: the strided side of the engine, and its casts.
Outcome into_view(Dice& dice) {
  const Shape shape = any_shape(dice);
  const DType d = dice.float_type(), e = dice.any_type();
  const Tensor x = whole_or_float(dice, broadcastable(dice, shape), e),
               y = random_target(dice, shape, d);
  const Values v = spread(x, shape);
  Wants want;
  for (const double a : v) want.push_back(rounded(d, a, 0, 0, DType::f64));
  return {text("copy", {x, y}),
          with_threads(
              [&] {
                copy_(y, x);
                return std::vector<Tensor>{call<Clone>({.x = call<Contiguous>({.x = y})})};
              },
              [&](const std::vector<Tensor>&) { return differs("y", y, want); })};
}

const Family kFamily("pointwise", {{"unary", 800, unary},
                                   {"binary", 1200, binary},
                                   {"compare", 600, compare},
                                   {"where", 400, where},
                                   {"into_view", 600, into_view}});

}  // namespace
}  // namespace rille::shapes
