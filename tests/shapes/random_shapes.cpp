// Random numbers: each is a function of seed, operation and place alone, worked out here one by one
// from Philox's words; the same in one call, in two, and on any number of threads.
#include "cpu/random.h"

#include "core/fail.h"
#include "core/philox.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::Draw;

uint32_t word(const Draw& d, int64_t i) {
  return philox(d.seed, static_cast<uint64_t>(i / 4), d.op).word[i % 4];
}
double unit(DType d, const Draw& draw, int64_t i) {
  return d == DType::f64 ? unit_double(word(draw, 2 * i), word(draw, 2 * i + 1))
                         : static_cast<double>(unit_float(word(draw, i)));
}
int64_t ranged(const Draw& draw, int64_t i, int64_t low, uint64_t count) {
  const uint64_t u = uint64_t{word(draw, 2 * i)} << 32 | word(draw, 2 * i + 1);
  return low + static_cast<int64_t>((static_cast<__uint128_t>(u) * count) >> 64);
}

struct Call {
  DType dtype;
  int64_t n, cut;  // made in two parts, [0, cut) and [cut, n)
  Draw draw;
};

Call choose(Dice& dice, DType d) {
  Call c{d, dice.size(dice.one_in(5) ? 100000 : 5000), 0, {dice.word(), dice.word(), 0}};
  c.cut = dice.between(0, c.n);
  if (dice.one_in(3)) c.draw.first = dice.between(0, 1000000);
  return c;
}

// fill(to, from element, how many, draw) must be right, and the same in two parts.
template <class Fill>
std::string check(Dice& dice, const Call& c, const Fill& fill, const Wants& want) {
  const Array blank(c.dtype, c.n, dice);
  return with_threads(
      {blank, blank},
      [&](Arrays& r) {
        fill(static_cast<char*>(r[0].data()), 0, c.n, c.draw);
        Draw rest = c.draw;
        rest.first += c.cut;
        fill(static_cast<char*>(r[1].data()), 0, c.cut, c.draw);
        fill(static_cast<char*>(r[1].data()) + at(c.cut) * size_of(c.dtype), c.cut, c.n - c.cut,
             rest);
      },
      [&](const Arrays& r) {
        std::string wrong = differs("value", r[0], want);
        if (wrong.empty() && !r[0].same_bytes(r[1]))
          wrong = "two calls give other numbers than one";
        return wrong;
      });
}

std::string text(const char* what, const Call& c) {
  return fmt::format("{} {} n {} cut {} first {}", what, name(c.dtype), c.n, c.cut, c.draw.first);
}

Outcome uniform(Dice& dice) {
  const Call c = choose(dice, dice.float_type());
  const double low = dice.real(-3, 3), high = low + dice.real(0.1, 3);
  Wants want;
  for (int64_t i = 0; i < c.n; ++i) {
    const double v = low + unit(c.dtype, c.draw, c.draw.first + i) * (high - low);
    want.push_back(rounded(c.dtype, v, 8, 6));
    want.back().slack += 8 * unit_roundoff(c.dtype);  // never `high`, so perhaps the one below
  }
  return {text("uniform", c), check(
                                  dice, c,
                                  [&](char* to, int64_t, int64_t n, Draw d) {
                                    cpu::uniform(c.dtype, to, n, low, high, d);
                                  },
                                  want)};
}

Outcome normal(Dice& dice) {
  const Call c = choose(dice, dice.float_type());
  Wants want;
  for (int64_t i = 0; i < c.n; ++i) {
    const int64_t k = c.draw.first + i, pair = k - k % 2;
    const double radius = std::sqrt(-2 * std::log1p(-unit(c.dtype, c.draw, pair))),
                 angle = 2 * M_PI * unit(c.dtype, c.draw, pair + 1);
    const double z = radius * (k % 2 == 0 ? std::cos(angle) : std::sin(angle));
    want.push_back(rounded(c.dtype, 0.5 + 2 * z, 20, 1 + 2 * radius));
  }
  return {text("normal", c),
          check(
              dice, c,
              [&](char* to, int64_t, int64_t n, Draw d) { cpu::normal(c.dtype, to, n, 0.5, 2, d); },
              want)};
}

Outcome exponential(Dice& dice) {
  const Call c = choose(dice, dice.float_type());
  Wants want;
  for (int64_t i = 0; i < c.n; ++i) {
    const double v = -std::log1p(-unit(c.dtype, c.draw, c.draw.first + i)) / 1.5;
    want.push_back(rounded(c.dtype, v, 12, v));
  }
  return {text("exponential", c), check(
                                      dice, c,
                                      [&](char* to, int64_t, int64_t n, Draw d) {
                                        cpu::exponential(c.dtype, to, n, 1.5, d);
                                      },
                                      want)};
}

Outcome whole_numbers(Dice& dice) {
  const Call c = choose(dice, DType::i64);
  const int64_t low = dice.between(-1000, 1000), count = dice.between(1, 100000);
  Wants want;
  for (int64_t i = 0; i < c.n; ++i)
    want.push_back(
        {static_cast<double>(ranged(c.draw, c.draw.first + i, low, static_cast<uint64_t>(count)))});
  return {text("randint", c), check(
                                  dice, c,
                                  [&](char* to, int64_t, int64_t n, Draw d) {
                                    cpu::randint(c.dtype, to, n, low, low + count - 1, d);
                                  },
                                  want)};
}

Outcome bernoulli(Dice& dice) {
  const Call c = choose(dice, dice.any_type());
  const double p = dice.any_of({0.0, 1.0, 0.1, 0.5, 0.77});
  const bool each = dice.flip();
  const DType pd = dice.float_type();
  const Array odds(pd, dice.values(c.n, 0, 1), dice);
  const Values ps = odds.values();
  Wants want;
  for (int64_t i = 0; i < c.n; ++i) {
    const double u = unit(DType::f32, c.draw, c.draw.first + i);
    // odds of f64 are seen as f32
    const double limit = each ? static_cast<double>(static_cast<float>(ps[at(i)])) : p;
    want.push_back({u < limit ? 1.0 : 0.0});
  }
  return {text(each ? "bernoulli, odds each" : "bernoulli", c),
          check(
              dice, c,
              [&](char* to, int64_t from, int64_t n, Draw d) {
                if (each)
                  cpu::bernoulli(c.dtype, to, n, pd, odds.as<char>() + at(from) * size_of(pd), d);
                else
                  cpu::bernoulli(c.dtype, to, n, p, d);
              },
              want)};
}

Outcome dropout(Dice& dice) {
  const Call c = choose(dice, dice.float_type());
  const double p = dice.any_of({0.0, 0.1, 0.5, 1.0});
  const Array x(c.dtype, dice.values(c.n), dice);
  const Values v = x.values();
  Wants want;
  for (int64_t i = 0; i < c.n; ++i) {
    const bool kept = unit(DType::f32, c.draw, c.draw.first + i) >= p;
    const double y = kept ? v[at(i)] / (1 - p) : 0;
    want.push_back(rounded(c.dtype, y, 3, std::fabs(y)));
  }
  return {text("dropout", c),
          check(
              dice, c,
              [&](char* to, int64_t from, int64_t n, Draw d) {
                cpu::dropout(c.dtype, x.as<char>() + at(from) * size_of(c.dtype), to, n, p, d);
              },
              want)};
}

Outcome permutation(Dice& dice) {
  const Draw draw{dice.word(), dice.word(), 0};
  const int64_t n = dice.size(5000);
  std::vector<int64_t> order(at(n));
  for (int64_t i = 0; i < n; ++i) order[at(i)] = i;
  for (int64_t i = 0; i + 1 < n; ++i)
    std::swap(order[at(i)], order[at(ranged(draw, i, i, static_cast<uint64_t>(n - i)))]);
  Wants want;
  for (const int64_t i : order) want.push_back({static_cast<double>(i)});
  return {fmt::format("randperm {}", n),
          with_threads(
              {Array(DType::i64, n, dice)},
              [&](Arrays& r) { cpu::randperm(static_cast<int64_t*>(r[0].data()), n, draw); },
              [&](const Arrays& r) { return differs("place", r[0], want); })};
}

const Family kFamily("random", {{"uniform", 300, uniform},
                                {"normal", 300, normal},
                                {"exponential", 200, exponential},
                                {"whole_numbers", 300, whole_numbers},
                                {"bernoulli", 300, bernoulli},
                                {"dropout", 300, dropout},
                                {"permutation", 200, permutation}});

}  // namespace
}  // namespace rille::shapes
