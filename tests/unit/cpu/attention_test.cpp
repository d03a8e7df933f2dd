#include "cpu/attention.h"

#include <limits>

#include "core/philox.h"
#include "support/tiles.h"
#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

enum class MaskKind { none, boolean, number };

struct Case {
  int64_t batch, heads, kv_heads, queries, keys, width, value_width;
  bool causal = false;
  MaskKind mask = MaskKind::none;
  double dropout = 0;

  int64_t q_size() const { return batch * heads * queries * width; }
  int64_t k_size() const { return batch * kv_heads * keys * width; }
  int64_t v_size() const { return batch * kv_heads * keys * value_width; }
  int64_t o_size() const { return batch * heads * queries * value_width; }
};

struct Tensors {
  Values q, k, v, d_o;
};

Tensors inputs(const Case& c) {
  return {spread(c.q_size(), 1), spread(c.k_size(), 2), spread(c.v_size(), 3),
          spread(c.o_size(), 4)};
}

// All tensors are laid out [batch, time, heads, width], so that no stride is the obvious one.
int64_t at(int64_t heads, int64_t time, int64_t width, int64_t b, int64_t h, int64_t t) {
  return ((b * time + t) * heads + h) * width;
}

// The mask is [queries, keys], the same for all heads. Row 1 may look at nothing.
Values mask_of(const Case& c) {
  Values m = Buffer(DType::f32, spread(c.queries * c.keys, 5)).values();
  for (int64_t i = 0; i < c.queries; ++i)
    for (int64_t j = 0; j < c.keys; ++j) {
      double& x = m[static_cast<size_t>(i * c.keys + j)];
      const bool look = i != 1 && x < 1;
      if (c.mask == MaskKind::boolean) x = look;
      if (c.mask == MaskKind::number && !look) x = -kInf;
    }
  return m;
}

double factor(const Case& c, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (c.dropout == 0) return 1;
  const uint64_t e = static_cast<uint64_t>(((b * c.heads + h) * c.queries + i) * c.keys + j);
  const float u = unit_float(philox(9, e / 4, 8).word[e % 4]);
  return static_cast<double>(u) < c.dropout ? 0 : 1 / (1 - c.dropout);
}

struct Result {
  Values o, dq, dk, dv;
};

// The definition, one query at a time, and the chain rule through it.
Result oracle(const Case& c, const Tensors& x) {
  Result r{Values(static_cast<size_t>(c.o_size())), Values(x.q.size()), Values(x.k.size()),
           Values(x.v.size())};
  const Values mask = mask_of(c);
  const double scale = 0.3;
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t i = 0; i < c.queries; ++i) {
        const int64_t kv = h * c.kv_heads / c.heads;
        const size_t q0 = static_cast<size_t>(at(c.heads, c.queries, c.width, b, h, i));
        const size_t o0 = static_cast<size_t>(at(c.heads, c.queries, c.value_width, b, h, i));
        const size_t dv = static_cast<size_t>(c.value_width), d = static_cast<size_t>(c.width);
        auto k0 = [&](int64_t j) {
          return static_cast<size_t>(at(c.kv_heads, c.keys, c.width, b, kv, j));
        };
        auto v0 = [&](int64_t j) {
          return static_cast<size_t>(at(c.kv_heads, c.keys, c.value_width, b, kv, j));
        };
        Values p(static_cast<size_t>(c.keys)), dp(p.size());
        double sum = 0, delta = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
          double s = 0;
          for (size_t e = 0; e < d; ++e) s += scale * x.q[q0 + e] * x.k[k0(j) + e];
          const double m = mask[static_cast<size_t>(i * c.keys + j)];
          if (c.mask == MaskKind::number) s += m;
          if ((c.mask == MaskKind::boolean && m == 0) || (c.causal && j > i)) s = -kInf;
          sum += p[static_cast<size_t>(j)] = std::exp(s);
        }
        for (int64_t j = 0; j < c.keys && sum > 0; ++j) {
          const size_t at_j = static_cast<size_t>(j);
          p[at_j] /= sum;
          for (size_t e = 0; e < dv; ++e) {
            const double f = factor(c, b, h, i, j);
            r.o[o0 + e] += p[at_j] * f * x.v[v0(j) + e];
            r.dv[v0(j) + e] += p[at_j] * f * x.d_o[o0 + e];
            dp[at_j] += f * x.v[v0(j) + e] * x.d_o[o0 + e];
          }
          delta += p[at_j] * dp[at_j];
        }
        for (int64_t j = 0; j < c.keys && sum > 0; ++j) {
          const double ds = p[static_cast<size_t>(j)] * (dp[static_cast<size_t>(j)] - delta);
          for (size_t e = 0; e < d; ++e) {
            r.dq[q0 + e] += scale * ds * x.k[k0(j) + e];
            r.dk[k0(j) + e] += scale * ds * x.q[q0 + e];
          }
        }
      }
  return r;
}

cpu::Heads view(const Buffer& b, int64_t heads, int64_t time, int64_t width) {
  return {b.data(), time * heads * width, width, heads * width};
}
cpu::HeadsOut view(Buffer& b, int64_t heads, int64_t time, int64_t width) {
  return {b.data(), time * heads * width, width, heads * width};
}

struct Run {
  Result result;
  Values lse;
  std::vector<char> bytes;
};

Run run(const Case& c, DType d, const Tensors& x) {
  const Buffer q(d, x.q), k(d, x.k), v(d, x.v), d_o(d, x.d_o);
  const Buffer mask(c.mask == MaskKind::boolean ? DType::boolean : DType::f32, mask_of(c));
  Buffer o(d, c.o_size()), dq(d, c.q_size()), dk(d, c.k_size()), dv(d, c.v_size());
  Buffer lse(accumulator(d), c.batch * c.heads * c.queries);
  cpu::Attention args{d,   c.batch,  c.heads, c.kv_heads, c.queries, c.keys, c.width, c.value_width,
                      0.3, c.causal, {},      c.dropout,  {9, 8}};
  if (c.mask != MaskKind::none) args.mask = {mask.dtype, mask.data(), 0, 0, c.keys, 1};
  const auto qv = view(q, c.heads, c.queries, c.width), kv = view(k, c.kv_heads, c.keys, c.width),
             vv = view(v, c.kv_heads, c.keys, c.value_width);
  cpu::attention(args, qv, kv, vv, view(o, c.heads, c.queries, c.value_width), lse.data());
  cpu::attention_backward(
      args, qv, kv, vv, view(std::as_const(o), c.heads, c.queries, c.value_width),
      view(d_o, c.heads, c.queries, c.value_width), lse.data(),
      view(dq, c.heads, c.queries, c.width), view(dk, c.kv_heads, c.keys, c.width),
      view(dv, c.kv_heads, c.keys, c.value_width));
  Run r{{o.values(), dq.values(), dk.values(), dv.values()}, lse.values(), o.bytes};
  for (const Buffer* b : {&dq, &dk, &dv})
    r.bytes.insert(r.bytes.end(), b->bytes.begin(), b->bytes.end());
  return r;
}

const Case kCases[] = {
    {2, 2, 2, 5, 5, 4, 4},
    {1, 2, 2, 64, 64, 32, 32, true},
    {2, 2, 2, 70, 130, 20, 36},
    {1, 3, 3, 150, 150, 16, 16, true},
    {1, 4, 2, 90, 70, 9, 17, false, MaskKind::boolean},
    {1, 6, 2, 66, 66, 24, 8, true, MaskKind::number},
    {1, 1, 1, 130, 40, 16, 16, true},
    {1, 1, 1, 40, 130, 16, 16, true},
    {2, 2, 1, 70, 67, 16, 16, false, MaskKind::none, .3},
    {1, 2, 2, 70, 67, 16, 16, true, MaskKind::number, .5},
    {1, 2, 2, 1, 200, 64, 64},
};

// Whole tiles, alone and with something left of rows, depth and columns.
const Case kTileCases[] = {
    {1, 2, 2, 128, 128, 64, 64, true},
    {2, 2, 1, 64, 192, 64, 32},
    {1, 2, 2, 150, 150, 40, 72, true},
    {1, 1, 1, 100, 60, 33, 48, true, MaskKind::number, .3},
    {1, 2, 1, 60, 100, 96, 16, true, MaskKind::boolean},
};

void require_definition(const Case& c, DType d) {
  INFO(name(d) << " queries " << c.queries << " keys " << c.keys << " width " << c.width);
  Tensors x = inputs(c);
  for (Values* v : {&x.q, &x.k, &x.v, &x.d_o}) *v = Buffer(d, *v).values();
  const Result want = oracle(c, x);
  const Run got = run(c, d, x);
  const double tol = d == DType::f64 ? 1e-11 : d == DType::f32 ? 2e-5 : 3 * tolerance(d);
  require_close(got.result.o, want.o, tol);
  require_close(got.result.dq, want.dq, tol);
  require_close(got.result.dk, want.dk, tol);
  require_close(got.result.dv, want.dv, tol);
}

}  // namespace

TEST_CASE("attention's oracle agrees with finite differences", "[attention]") {
  for (const Case& c : {Case{1, 2, 1, 4, 5, 3, 2, true, MaskKind::number, .3},
                        Case{1, 2, 2, 3, 4, 2, 3, false, MaskKind::boolean}}) {
    const Tensors x = inputs(c);
    const Result r = oracle(c, x);
    auto slope = [&](Values Tensors::*which) {
      return slopes(
          [&](const Values& v) {
            Tensors moved = x;
            moved.*which = v;
            return dot(oracle(c, moved).o, x.d_o);
          },
          x.*which);
    };
    require_close(r.dq, slope(&Tensors::q), 1e-8);
    require_close(r.dk, slope(&Tensors::k), 1e-8);
    require_close(r.dv, slope(&Tensors::v), 1e-8);
  }
}

TEST_CASE("attention and its gradients follow the definition", "[attention]") {
  for (const Case& c : kCases)
    for (const DType d : kFloats) require_definition(c, d);
}

TEST_CASE("attention follows the definition with tiles", "[attention]") {
  if (!ImitatedTiles::possible()) {
    WARN("skipped: no products of bf16 pairs here");
    return;
  }
  const ImitatedTiles tiles;
  for (const Case& c : kCases) require_definition(c, DType::bf16);
  for (const Case& c : kTileCases) require_definition(c, DType::bf16);
  CHECK(tiles.used());
}

TEST_CASE("a query that may look at nothing gives 0 and takes no gradient", "[attention]") {
  const Case c{1, 1, 1, 3, 4, 2, 2, false, MaskKind::boolean};
  const Run r = run(c, DType::f32, inputs(c));
  CHECK(r.lse[1] == -kInf);
  CHECK((r.result.o[2] == 0 && r.result.o[3] == 0));
  CHECK((r.result.dq[2] == 0 && r.result.dq[3] == 0));
}

TEST_CASE("a nan reaches the queries that see it, and no other", "[attention]") {
  const Case c{1, 1, 1, 70, 70, 4, 4, true};
  Tensors x = inputs(c);
  x.k[4 * 66] = std::nan("");
  const Run r = run(c, DType::f32, x);
  bool right = true;
  for (int64_t i = 0; i < 70; ++i)
    right &= std::isnan(r.result.o[static_cast<size_t>(4 * i)]) == (i >= 66);
  CHECK(right);
}

TEST_CASE("attention gives the same bits for any number of threads", "[attention]") {
  for (const Case& c : {Case{1, 1, 1, 300, 300, 16, 16, true}, Case{2, 2, 1, 100, 200, 32, 16},
                        Case{3, 4, 2, 80, 80, 16, 16, true, MaskKind::number, .2}}) {
    const Tensors x = inputs(c);
    require_same_bits([&] { return run(c, DType::f32, x).bytes; });
  }
}

TEST_CASE("gradients that nobody wants are left out", "[attention]") {
  const Case c{1, 2, 2, 70, 70, 16, 16, true};
  const Tensors x = inputs(c);
  const Run all = run(c, DType::f64, x);
  const DType d = DType::f64;
  const Buffer q(d, x.q), k(d, x.k), v(d, x.v), d_o(d, x.d_o), o(d, all.result.o), lse(d, all.lse);
  Buffer dk(d, c.k_size());
  const cpu::Attention args{d, 1, 2, 2, 70, 70, 16, 16, 0.3, true};
  cpu::attention_backward(args, view(q, 2, 70, 16), view(k, 2, 70, 16), view(v, 2, 70, 16),
                          view(o, 2, 70, 16), view(d_o, 2, 70, 16), lse.data(), {},
                          view(dk, 2, 70, 16), {});
  CHECK(dk.values() == all.result.dk);
}
