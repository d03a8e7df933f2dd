// Attention forward and backward against its definition, one query at a time: causal, masked by
// truth or numbers (each dim of the mask whole or repeated), grouped heads, dropout, time and heads
// in either order.
#include "cpu/attention.h"

#include <limits>
#include <optional>

#include "core/fail.h"
#include "core/philox.h"
#include "shapes/shapes.h"
#include "support/tiles.h"

namespace rille::shapes {
namespace {

using cpu::Attention;
using cpu::Heads;
using cpu::HeadsOut;

constexpr double kInf = std::numeric_limits<double>::infinity();

// Which of [batch, heads, time] follow one another how.
struct Layout {
  int64_t batch, head, time;
  Layout(int64_t heads, int64_t times, int64_t width, bool time_first, int64_t gap)
      : batch(heads * times * (width + gap)),
        head(time_first ? width + gap : times * (width + gap)),
        time(time_first ? heads * (width + gap) : width + gap) {}
  size_t of(int64_t b, int64_t h, int64_t t) const { return at(b * batch + h * head + t * time); }
};

struct Operand {
  Layout layout;
  Array array;
  Values v;
  Heads in() const { return {array.data(), layout.batch, layout.head, layout.time}; }
  HeadsOut out(Array& a) const { return {a.data(), layout.batch, layout.head, layout.time}; }
};

Operand operand(Dice& dice, DType d, int64_t batch, int64_t heads, int64_t times, int64_t width) {
  const Layout layout(heads, times, width, dice.flip(), dice.one_in(3) ? dice.between(1, 9) : 0);
  Array a(d, dice.values(batch * layout.batch), dice);
  Values v = a.values();
  return {layout, std::move(a), std::move(v)};
}

struct Case {
  Attention x;
  Operand q, k, v, d_o;
  Array mask;
  Values mask_values;

  double masked(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (x.causal && j > i) return -kInf;
    if (!x.mask.data) return 0;
    const double m =
        mask_values[at(b * x.mask.batch + h * x.mask.head + i * x.mask.query + j * x.mask.key)];
    return x.mask.dtype == DType::boolean ? (m != 0 ? 0 : -kInf) : m;
  }
  double factor(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (x.dropout == 0) return 1;
    const auto e = static_cast<uint64_t>(((b * x.heads + h) * x.queries + i) * x.keys + j);
    const float u = unit_float(philox(x.draw.seed, e / 4, x.draw.op).word[e % 4]);
    return static_cast<double>(u) < x.dropout ? 0 : 1 / (1 - x.dropout);
  }
};

Case choose(Dice& dice) {
  Attention x{};
  x.dtype = dice.float_type();
  x.width = dice.size_from_1(100), x.value_width = dice.flip() ? x.width : dice.size_from_1(100);
  x.kv_heads = dice.between(1, 3), x.heads = x.kv_heads * (dice.one_in(3) ? dice.between(1, 4) : 1);
  x.batch = dice.between(1, 3);
  const int64_t room = 500000 / (x.batch * x.heads * (x.width + x.value_width));
  x.queries = dice.size(std::min<int64_t>(200, room));
  x.keys = dice.size(std::min<int64_t>(200, room / std::max<int64_t>(1, x.queries)));
  x.scale = 1 / std::sqrt(static_cast<double>(x.width));
  x.causal = dice.one_in(3);
  if (dice.one_in(4)) x.dropout = dice.any_of({0.1, 0.5}), x.draw = {dice.word(), dice.word()};
  Operand q = operand(dice, x.dtype, x.batch, x.heads, x.queries, x.width);
  Operand k = operand(dice, x.dtype, x.batch, x.kv_heads, x.keys, x.width);
  Operand v = operand(dice, x.dtype, x.batch, x.kv_heads, x.keys, x.value_width);
  Operand d_o = operand(dice, x.dtype, x.batch, x.heads, x.queries, x.value_width);
  const bool truth = dice.flip();
  int64_t n = 1;
  const auto stride = [&](int64_t size) {
    if (dice.one_in(3)) return int64_t{0};
    n *= size;
    return n / std::max<int64_t>(1, size);
  };
  x.mask.key = stride(x.keys), x.mask.query = stride(x.queries);
  x.mask.head = stride(x.heads), x.mask.batch = stride(x.batch);
  Values m = dice.values(n, -1, 1);
  for (double& e : m) e = truth ? (e > -0.5 ? 1 : 0) : (e < -0.7 ? -kInf : e);
  x.mask.dtype = truth ? DType::boolean : dice.any_of({DType::f32, x.dtype});
  Array mask(x.mask.dtype, m, dice);
  Values mask_values = mask.values();
  const bool masked = n > 0 && dice.flip();
  Case c{x,
         std::move(q),
         std::move(k),
         std::move(v),
         std::move(d_o),
         std::move(mask),
         std::move(mask_values)};
  if (masked) c.x.mask.data = c.mask.data();
  return c;
}

struct Definition {
  std::vector<Sum> o, dq, dk, dv;
  Values lse;
};

Definition definition(const Case& c) {
  const Attention& x = c.x;
  Definition r{std::vector<Sum>(c.d_o.v.size()),
               std::vector<Sum>(c.q.v.size()),
               std::vector<Sum>(c.k.v.size()),
               std::vector<Sum>(c.v.v.size()),
               {}};
  const size_t w = at(x.width), vw = at(x.value_width);
  for (int64_t b = 0; b < x.batch; ++b)
    for (int64_t h = 0; h < x.heads; ++h)
      for (int64_t i = 0; i < x.queries; ++i) {
        const int64_t kv = h / (x.heads / x.kv_heads);
        const size_t q0 = c.q.layout.of(b, h, i), o0 = c.d_o.layout.of(b, h, i);
        Values p(at(x.keys)), dp(p.size()), dp_size(p.size());
        double top = -kInf, sum = 0, delta = 0, delta_size = 0;
        for (int64_t j = 0; j < x.keys; ++j) {
          double s = c.masked(b, h, i, j);
          const size_t k0 = c.k.layout.of(b, kv, j);
          for (size_t e = 0; e < w; ++e) s += x.scale * c.q.v[q0 + e] * c.k.v[k0 + e];
          p[at(j)] = s;
          top = std::max(top, s);
        }
        const bool sees = top > -kInf;
        for (double& s : p) sum += s = sees ? std::exp(s - top) : 0;
        r.lse.push_back(sees ? top + std::log(sum) : -kInf);
        for (int64_t j = 0; j < x.keys && sees; ++j) {
          p[at(j)] /= sum;
          const double f = c.factor(b, h, i, j);
          const size_t v0 = c.v.layout.of(b, kv, j);
          for (size_t e = 0; e < vw; ++e) {
            r.o[o0 + e].add(p[at(j)] * f, c.v.v[v0 + e]);
            r.dv[v0 + e].add(p[at(j)] * f, c.d_o.v[o0 + e]);
            const double term = f * c.v.v[v0 + e] * c.d_o.v[o0 + e];
            dp[at(j)] += term, dp_size[at(j)] += std::fabs(term);
          }
          delta += p[at(j)] * dp[at(j)], delta_size += p[at(j)] * dp_size[at(j)];
        }
        for (int64_t j = 0; j < x.keys && sees; ++j) {
          const double ds = x.scale * p[at(j)] * (dp[at(j)] - delta);
          // the difference may be small where its parts are not
          const double size = x.scale * p[at(j)] * (dp_size[at(j)] + delta_size);
          const size_t k0 = c.k.layout.of(b, kv, j);
          for (size_t e = 0; e < w; ++e) {
            const auto add = [&](Sum& to, double other) {
              to.value += static_cast<long double>(ds) * other;
              to.size += size * std::fabs(other), ++to.terms;
            };
            add(r.dq[q0 + e], c.k.v[k0 + e]);
            add(r.dk[k0 + e], c.q.v[q0 + e]);
          }
        }
      }
  return r;
}

// What lies between rows stays nan. A score may be off by its own roundings, which the exponential
// turns into relative ones of every term; o, which backward reads, has been rounded to storage.
// Processors that multiply bf16 get the probabilities rounded to it, once more per term.
Wants wants(const Case& c, const Layout& layout, int64_t heads, int64_t times, int64_t width,
            const std::vector<Sum>& sums, bool backward) {
  const DType d = c.x.dtype;
  Wants want(sums.size(), {std::nan("")});
  const double more = 20 + 8 * static_cast<double>(c.x.width + c.x.value_width);
  for (int64_t b = 0; b < c.x.batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t t = 0; t < times; ++t)
        for (int64_t e = 0; e < width; ++e) {
          const size_t i = layout.of(b, h, t) + at(e);
          want[i] = sums[i].in(d, more);
          if (backward || d == DType::bf16)
            want[i].slack +=
                (backward ? 4 : 1) * unit_roundoff(d) * static_cast<double>(sums[i].size);
        }
  return want;
}

// A mask of 16-bit numbers changes nothing else: sizes are per element of its own. Half of those
// in bf16 go through tiles.
Outcome attention(Dice& dice) {
  const Case c = choose(dice);
  const Attention& x = c.x;
  const Definition r = definition(c);
  const DType acc = accumulator(x.dtype);
  const auto blank = [&](const Operand& o) {
    Array a = o.array;
    a.set(Values(o.v.size(), std::nan("")));
    return a;
  };
  const Arrays outs{blank(c.d_o), Array(acc, static_cast<int64_t>(r.lse.size()), dice), blank(c.q),
                    blank(c.k), blank(c.v)};
  const auto kernel = [&](Arrays& out) {
    cpu::attention(x, c.q.in(), c.k.in(), c.v.in(), c.d_o.out(out[0]), out[1].data());
    const Heads o{out[0].data(), c.d_o.layout.batch, c.d_o.layout.head, c.d_o.layout.time};
    cpu::attention_backward(x, c.q.in(), c.k.in(), c.v.in(), o, c.d_o.in(), out[1].data(),
                            c.q.out(out[2]), c.k.out(out[3]), c.v.out(out[4]));
  };
  const auto judge = [&](const Arrays& out) {
    Wants lse;
    for (const double v : r.lse)
      lse.push_back(
          rounded(acc, v, static_cast<double>(x.keys + 8 * x.width + 20), 1 + std::fabs(v)));
    std::string wrong = differs("lse", out[1], lse);
    const auto check = [&](const char* what, const Array& got, const Operand& o, int64_t heads,
                           int64_t times, int64_t width, const std::vector<Sum>& sums,
                           bool backward) {
      if (wrong.empty())
        wrong = differs(what, got, wants(c, o.layout, heads, times, width, sums, backward));
    };
    check("o", out[0], c.d_o, x.heads, x.queries, x.value_width, r.o, false);
    check("dq", out[2], c.q, x.heads, x.queries, x.width, r.dq, true);
    check("dk", out[3], c.k, x.kv_heads, x.keys, x.width, r.dk, true);
    check("dv", out[4], c.v, x.kv_heads, x.keys, x.value_width, r.dv, true);
    return wrong;
  };
  std::optional<test::ImitatedTiles> tiles;
  if (x.dtype == DType::bf16 && test::ImitatedTiles::possible() && dice.flip()) tiles.emplace();
  const std::string what = fmt::format(
      "{} batch {} heads {}/{} queries {} keys {} width {}/{} causal {} mask {} {} {} {} {} "
      "dropout {} tiles {}",
      name(x.dtype), x.batch, x.heads, x.kv_heads, x.queries, x.keys, x.width, x.value_width,
      x.causal, x.mask.data ? name(x.mask.dtype) : "none", x.mask.batch, x.mask.head, x.mask.query,
      x.mask.key, x.dropout, tiles.has_value());
  return {what, with_threads(outs, kernel, judge)};
}

const Family kFamily("attention", {{"both_ways", 600, attention}});

}  // namespace
}  // namespace rille::shapes
