// Copies between layouts, bands of matrices, and conversions of every dtype into every other, whose
// roundings are worked out here from the formats' numbers of bits.
#include "cpu/movement.h"

#include <limits>

#include "core/fail.h"
#include "cpu/convert.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

Outcome copy(Dice& dice) {
  const Shape shape =
      dice.shape(static_cast<int>(dice.between(0, 6)), dice.one_in(4) ? 200000 : 4000);
  const DType d = dice.any_type();
  const double low = d == DType::u8 || d == DType::boolean ? 0 : -50;
  const Tensor x = random_tensor(dice, shape, d, low, d == DType::boolean ? 1 : 50),
               y = random_target(dice, shape, d);
  Wants want;
  for (const double e : values_of(x)) want.push_back({e});
  return {fmt::format("{} {} {} <- {}", name(d), to_string(shape), to_string(Shape(y.strides())),
                      to_string(Shape(x.strides()))),
          with_threads(
              [&] {
                cpu::copy_strided(y, x);
                return std::vector<Tensor>{};
              },
              [&](const std::vector<Tensor>&) { return differs("y", y, want); })};
}

Outcome band(Dice& dice) {
  const Shape shape = dice.shape(static_cast<int>(dice.between(2, 4)), 20000);
  const DType d = dice.any_type();
  const int64_t low = dice.between(-40, 20), high = low + dice.between(-2, 40);
  const double least = d == DType::u8 || d == DType::boolean ? 0 : -50;
  const Tensor x = random_tensor(dice, shape, d, least, d == DType::boolean ? 1 : 50),
               y = random_target(dice, shape, d);
  Wants want;
  Index i(shape);
  for (const double e : values_of(x)) {
    const int64_t off = i[shape.size() - 1] - i[shape.size() - 2];
    want.push_back({off >= low && off <= high ? e : 0});
    i.next();
  }
  return {fmt::format("{} {} band {} .. {}", name(d), to_string(shape), low, high),
          with_threads(
              [&] {
                cpu::keep_band(y, x, low, high);
                return std::vector<Tensor>{};
              },
              [&](const std::vector<Tensor>&) { return differs("y", y, want); })};
}

// The nearest number of the format, of two the one whose last bit is 0.
double nearest(DType d, long double x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return static_cast<double>(x);
  const FloatInfo& f = float_info(d);
  int exponent;
  std::frexp(x, &exponent);  // |x| in [2^(e-1), 2^e)
  const int least = std::ilogb(f.smallest_normal), mantissa = -std::ilogb(f.eps);
  const long double step = std::ldexp(1.0L, std::max(exponent - 1, least) - mantissa);
  const long double y = std::nearbyint(x / step) * step;
  if (std::fabs(y) > f.max)
    return std::copysign(std::numeric_limits<double>::infinity(), static_cast<double>(x));
  return static_cast<double>(y);
}

struct Element {
  bool whole;
  int64_t integer;
  double number;
};

Element load(DType d, const char* p) {
  if (is_float(d)) return {false, 0, load_element(d, p)};
  return {true, load_integer(d, p), 0};
}

// What conversion promises: floats saturate into integers, integers wrap, all but 0 is true.
Element converted(const Element& x, DType to) {
  if (to == DType::boolean) return {true, x.whole ? x.integer != 0 : !(x.number == 0), 0};
  if (is_float(to))
    return {false, 0, nearest(to, x.whole ? static_cast<long double>(x.integer) : x.number)};
  const IntInfo info = int_info(to);
  if (!x.whole) {
    if (std::isnan(x.number)) return {true, 0, 0};
    if (x.number >= static_cast<double>(info.max)) return {true, info.max, 0};
    if (x.number <= static_cast<double>(info.min)) return {true, info.min, 0};
    return {true, static_cast<int64_t>(x.number), 0};
  }
  const int spare = 64 - info.bits;
  const auto top = static_cast<uint64_t>(x.integer) << spare;
  return {true,
          info.min < 0 ? static_cast<int64_t>(top) >> spare : static_cast<int64_t>(top >> spare),
          0};
}

void store_odd(Dice& dice, DType d, char* p) {
  if (!is_float(d))
    return store_integer(d, p,
                         d == DType::boolean
                             ? dice.between(0, 1)
                             : static_cast<int64_t>(dice.word()) >> dice.between(0, 60));
  const double inf = std::numeric_limits<double>::infinity();
  const auto scale = static_cast<int>(dice.between(-30, 66));
  double v = std::ldexp(dice.real(-1, 1), scale);
  if (dice.one_in(3))
    v = std::ldexp(dice.whole(-4100, 4100), static_cast<int>(dice.between(-13, 4)));
  if (dice.one_in(40))
    v = dice.any_of({inf, -inf, std::nan(""), 0.0, -0.0, 65519.0, 65520.0, 0x1p63, -0x1p63});
  store_element(d, p, v);
}

Outcome convert(Dice& dice) {
  const DType from = dice.any_type(), to = dice.any_type();
  const int64_t n = dice.size(3000), way = dice.between(0, 2);
  const int64_t stride = way == 0 ? 1 : dice.any_of<int64_t>({0, 1, 2, 3, 7, -1, -2});
  const int64_t span = way == 0 || n == 0 ? n : (n - 1) * std::abs(stride) + 1;
  const int64_t first = stride < 0 && n > 0 ? span - 1 : 0;
  Array x(from, way == 1 ? span : n, dice);
  const auto item = static_cast<int64_t>(size_of(from)),
             item_to = static_cast<int64_t>(size_of(to));
  for (int64_t i = 0; i < x.size(); ++i)
    store_odd(dice, from, static_cast<char*>(x.data()) + i * item);
  if (way == 2 && stride == 0) return {};  // many to one place
  Array y(to, way == 2 ? span : n, dice);
  char* out = static_cast<char*>(y.data());
  if (way == 0) cpu::convert(from, x.data(), to, out, n);
  if (way == 1) cpu::gather(from, x.as<char>() + first * item, stride, n, to, out);
  if (way == 2) cpu::scatter(from, x.data(), n, to, out + first * item_to, stride);
  Outcome r{fmt::format("{} -> {} n {} way {} stride {}", name(from), name(to), n, way, stride),
            {}};
  if (!y.walls_stand()) r.wrong = "wrote outside";
  for (int64_t i = 0; i < n; ++i) {
    const Element old = load(from, x.as<char>() + (way == 1 ? first + i * stride : i) * item);
    const Element got = load(to, y.as<char>() + (way == 2 ? first + i * stride : i) * item_to);
    const Element want = converted(old, to);
    const bool same = want.whole ? got.integer == want.integer
                                 : got.number == want.number ||
                                       (std::isnan(got.number) && std::isnan(want.number));
    if (!same)
      r.wrong = fmt::format("[{}] {} {:.20g} gave {} {:.20g}, want {} {:.20g}", i, old.integer,
                            old.number, got.integer, got.number, want.integer, want.number);
  }
  return r;
}

const Family kFamily("movement",
                     {{"copy", 1000, copy}, {"band", 500, band}, {"convert", 3000, convert}});

}  // namespace
}  // namespace rille::shapes
