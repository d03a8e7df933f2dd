// What serves narrow formats: scales of blocks, codes, the end of a scaled product, rounding by
// chance, and counts of values by kind and power of two (what a format would lose of them, and
// values that are not finite, are in tests/unit). Formats are worked out from their numbers of bits
// here, code by code.
#include <algorithm>
#include <array>

#include "core/fail.h"
#include "core/philox.h"
#include "cpu/float_stats.h"
#include "cpu/scales.h"
#include "cpu/stochastic.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

// ---- formats ----------------------------------------------------------------------------------

// The magnitudes of a format's finite values, each at the place of its code.
Values magnitudes(DType d) {
  const FloatInfo& f = float_info(d);
  Values all;
  for (int code = 0; code < 1 << (f.bits - 1); ++code) {
    const int exponent = code >> f.mant_bits, mantissa = code & ((1 << f.mant_bits) - 1);
    const int hidden = exponent == 0 ? 0 : 1 << f.mant_bits;
    const double v = std::ldexp(mantissa + hidden, std::max(exponent, 1) - f.bias - f.mant_bits);
    if (v <= f.max) all.push_back(v);
  }
  return all;
}

// Where x lies among them: the largest one that is not above it.
size_t place(const Values& all, double x) {
  return static_cast<size_t>(std::upper_bound(all.begin(), all.end(), x) - all.begin() - 1);
}

int code_of(DType d, const Values& all, double x) {
  size_t code = place(all, std::fabs(x));
  if (code + 1 < all.size()) {
    const double below = std::fabs(x) - all[code], above = all[code + 1] - std::fabs(x);
    if (above < below || (above == below && code % 2 == 1)) ++code;
  }
  return static_cast<int>(code) | (std::signbit(x) ? 1 << (float_info(d).bits - 1) : 0);
}

// ---- scales -----------------------------------------------------------------------------------

struct Matrix {
  int64_t rows, n, block, blocks;
  Array x, scales;
  cpu::ScaleGrid grid() const { return {scales.as<float>(), blocks, block, 1}; }
  float scale(int64_t i) const { return scales.as<float>()[i / n * blocks + i % n / block]; }
  std::string text() const { return fmt::format("{} x {}, blocks of {}", rows, n, block); }
};

// Half of the matrices have few digits and scales that are powers of two, so that quotients lie on
// values of a format and halfway between them. One in nine scales is 0.
Matrix choose(Dice& dice) {
  const int64_t n = dice.size(3000), rows = dice.size(std::max<int64_t>(1, 20000 / (n + 1))),
                block = dice.size_from_1(dice.flip() ? 64 : 3000), blocks = (n + block - 1) / block;
  Values x = dice.values(rows * n, -100, 100), scales = dice.values(rows * blocks, 0.01, 2);
  if (dice.flip()) {
    for (double& v : x) v = std::round(v * 4) / 64;
    for (double& s : scales) s = std::exp2(dice.whole(-3, 3));
  }
  for (double& s : scales)
    if (dice.one_in(9)) s = 0;
  return {rows, n, block, blocks, Array(DType::f32, x, dice), Array(DType::f32, scales, dice)};
}

Outcome amax(Dice& dice) {
  const Matrix m = choose(dice);
  Wants want(at(m.rows * m.blocks), {0});
  for (int64_t i = 0; i < m.rows * m.n; ++i) {
    double& most = want[at(i / m.n * m.blocks + i % m.n / m.block)].value;
    most = std::max(most, static_cast<double>(std::fabs(m.x.as<float>()[i])));
  }
  return {m.text(), with_threads(
                        {Array(DType::f32, m.rows * m.blocks, dice)},
                        [&](Arrays& r) {
                          cpu::block_amax(m.x.as<float>(), m.rows, m.n, m.block,
                                          static_cast<float*>(r[0].data()));
                        },
                        [&](const Arrays& r) { return differs("amax", r[0], want); })};
}

// Quotients end at the format's largest value, and codes are the nearest to them.
Outcome quantize(Dice& dice) {
  const Matrix m = choose(dice);
  const DType d =
      dice.any_of({DType::f8_e4m3, DType::f8_e5m2, DType::f6_e3m2, DType::f6_e2m3, DType::f4_e2m1});
  const cpu::ScaledRange range{static_cast<float>(float_info(d).max), d == DType::f8_e5m2, false};
  const Values all = magnitudes(d);
  Wants quotients, codes;
  for (int64_t i = 0; i < m.rows * m.n; ++i) {
    const float s = m.scale(i), q = s == 0 ? 0 : m.x.as<float>()[i] / s;
    const double end = static_cast<double>(std::clamp(q, -range.largest, range.largest));
    quotients.push_back({end});
    codes.push_back({static_cast<double>(code_of(d, all, end))});
  }
  return {fmt::format("{} {}", name(d), m.text()),
          with_threads(
              {Array(DType::f32, m.x.size(), dice), Array(DType::u8, m.x.size(), dice)},
              [&](Arrays& r) {
                const float* x = m.x.as<float>();
                cpu::divide_by_scales(x, m.rows, m.n, m.grid(), range,
                                      static_cast<float*>(r[0].data()));
                cpu::quantize(x, m.rows, m.n, m.grid(), range, d, r[1].data());
              },
              [&](const Arrays& r) {
                const std::string wrong = differs("quotient", r[0], quotients);
                return wrong.empty() ? differs("code", r[1], codes) : wrong;
              })};
}

Outcome multiply(Dice& dice) {
  const Matrix m = choose(dice);
  Wants want;
  for (int64_t i = 0; i < m.rows * m.n; ++i)
    want.push_back({static_cast<double>(m.x.as<float>()[i] * m.scale(i))});
  return {m.text(), with_threads(
                        {m.x},
                        [&](Arrays& r) {
                          cpu::multiply_by_scales(static_cast<float*>(r[0].data()), m.rows, m.n,
                                                  m.grid());
                        },
                        [&](const Arrays& r) { return differs("product", r[0], want); })};
}

Outcome finish(Dice& dice) {
  const Matrix m = choose(dice);
  const DType d = dice.any_of({DType::f32, DType::f16, DType::bf16});
  const bool by_row = dice.flip(), by_column = dice.flip(), with_bias = dice.flip();
  const Array row(DType::f32, dice.values(m.rows), dice),
      column(DType::f32, dice.values(m.n), dice), bias(DType::f32, dice.values(m.n), dice);
  const Values a = m.x.values(), r = row.values(), c = column.values(), b = bias.values();
  Wants want;
  for (int64_t i = 0; i < m.rows * m.n; ++i) {
    const double product =
        a[at(i)] * (by_row ? r[at(i / m.n)] : 1) * (by_column ? c[at(i % m.n)] : 1);
    const double added = with_bias ? b[at(i % m.n)] : 0;
    want.push_back(rounded(d, product + added, 4, std::fabs(product) + std::fabs(added)));
  }
  return {fmt::format("{} {}{}{}{}", name(d), m.text(), by_row ? " rows" : "",
                      by_column ? " columns" : "", with_bias ? " bias" : ""),
          with_threads(
              {Array(d, m.x.size(), dice)},
              [&](Arrays& out) {
                cpu::finish_product(
                    m.x.as<float>(), m.rows, m.n,
                    {by_row ? row.as<float>() : nullptr, by_column ? column.as<float>() : nullptr,
                     with_bias ? bias.as<float>() : nullptr},
                    d, out[0].data());
              },
              [&](const Arrays& out) { return differs("y", out[0], want); })};
}

// ---- rounding by chance -----------------------------------------------------------------------

// Up where the draw is below the part of the way to the next value.
Outcome stochastic(Dice& dice) {
  const DType from = dice.any_of({DType::f64, DType::f32}),
              to = dice.any_of({DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2,
                                DType::f6_e3m2, DType::f6_e2m3, DType::f4_e2m1});
  const Values all = magnitudes(to);
  const int64_t n = dice.size(dice.one_in(5) ? 100000 : 5000);
  const double size = std::min(float_info(to).max, std::exp2(dice.real(-20, 17)));
  const Array x(from, dice.values(n, -size, size), dice);
  const cpu::Draw draw{dice.word(), dice.word(), dice.flip() ? 0 : dice.between(0, 1000000)};
  const Values values = x.values();
  Wants want;
  for (int64_t i = 0; i < n; ++i) {
    const double v = values[at(i)], given = std::fabs(v);
    const size_t below = place(all, given);
    const int64_t k = draw.first + i;
    const uint32_t word = philox(draw.seed, static_cast<uint64_t>(k / 4), draw.op).word[k % 4];
    const double part =
        below + 1 < all.size() ? (given - all[below]) / (all[below + 1] - all[below]) : 0;
    const bool up = part > static_cast<double>(word) * 0x1p-32;
    want.push_back({std::copysign(all[below + (up ? 1 : 0)], v)});
  }
  return {
      fmt::format("{} to {} n {}", name(from), name(to), n),
      with_threads(
          {Array(to, n, dice)},
          [&](Arrays& r) { cpu::round_stochastic(from, x.data(), to, r[0].data(), n, {}, draw); },
          [&](const Arrays& r) { return differs("rounded", r[0], want); })};
}

// ---- counts -----------------------------------------------------------------------------------

// Values of all magnitudes that the dtype has, some of them 0, infinite or nan.
Values of_all_sizes(Dice& dice, DType d, int64_t n) {
  const FloatInfo& f = float_info(d);
  Values v(at(n));
  for (double& x : v) {
    const double size = std::exp2(dice.real(std::log2(f.smallest_subnormal), std::log2(f.max)));
    const double special = dice.any_of<double>({0, HUGE_VAL, NAN});
    x = (dice.one_in(20) ? special : size) * (dice.flip() ? 1 : -1);
  }
  return v;
}

Outcome counts(Dice& dice) {
  const DType d = dice.float_type();
  const int64_t n = dice.size(dice.one_in(5) ? 100000 : 5000);
  const Array x(d, of_all_sizes(dice, d, n), dice);
  constexpr size_t kKinds = 6, kPowers = std::tuple_size_v<decltype(cpu::FloatStats::exponents)>;
  Wants kinds(kKinds, {0}), powers(kPowers, {0});
  double smallest = HUGE_VAL;
  for (const double v : x.values()) {
    const double size = std::fabs(v);
    const bool counted = size > 0 && std::isfinite(v);
    kinds[0].value += size == 0;
    kinds[1].value += counted && size < float_info(d).smallest_normal;
    kinds[2].value += std::isinf(v);
    kinds[3].value += std::isnan(v);
    if (!counted) continue;
    smallest = std::min(smallest, size);
    kinds[5].value = std::max(kinds[5].value, size);
    ++powers[static_cast<size_t>(std::ilogb(v) - cpu::FloatStats::kLowest)].value;
  }
  kinds[4].value = std::isinf(smallest) ? 0 : smallest;
  return {fmt::format("{} n {}", name(d), n),
          with_threads(
              {Array(DType::f64, kKinds, dice), Array(DType::f64, kPowers, dice)},
              [&](Arrays& r) {
                const cpu::FloatStats s = cpu::float_stats(d, x.data(), n, d);
                const auto count = [](int64_t c) { return static_cast<double>(c); };
                r[0].set({count(s.zeros), count(s.subnormals), count(s.infinities), count(s.nans),
                          s.smallest, s.largest});
                r[1].set(Values(s.exponents.begin(), s.exponents.end()));
              },
              [&](const Arrays& r) {
                const std::string wrong = differs("kind", r[0], kinds);
                return wrong.empty() ? differs("power", r[1], powers) : wrong;
              })};
}

const Family kFamily("precision", {{"amax", 200, amax},
                                   {"quantize", 200, quantize},
                                   {"multiply", 100, multiply},
                                   {"finish", 200, finish},
                                   {"stochastic", 200, stochastic},
                                   {"counts", 100, counts}});

}  // namespace
}  // namespace rille::shapes
