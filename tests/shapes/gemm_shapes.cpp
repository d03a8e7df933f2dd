// Products against the triple loop: C = alpha op(A) op(B) + beta C + bias, in any dtype, with
// padded rows and batches that share a matrix; with oneDNN and without.
#include "cpu/gemm.h"

#include "core/fail.h"
#include "cpu/dnn.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::Gemm;
using cpu::Transpose;

struct Product {
  Gemm g;
  DType dtype;
  bool with_bias;

  int64_t at_a(int64_t i, int64_t r, int64_t p) const {
    return i * g.stride_a + (g.ta == Transpose::yes ? p * g.lda + r : r * g.lda + p);
  }
  int64_t at_b(int64_t i, int64_t p, int64_t j) const {
    return i * g.stride_b + (g.tb == Transpose::yes ? j * g.ldb + p : p * g.ldb + j);
  }
  int64_t at_c(int64_t i, int64_t r, int64_t j) const { return i * g.stride_c + r * g.ldc + j; }
  std::string text() const {
    return fmt::format(
        "{} m {} n {} k {} batch {} ta {} tb {} lda {} ldb {} ldc {} strides {} {} {} alpha {} "
        "beta {} bias {}",
        name(dtype), g.m, g.n, g.k, g.batch, g.ta == Transpose::yes, g.tb == Transpose::yes, g.lda,
        g.ldb, g.ldc, g.stride_a, g.stride_b, g.stride_c, g.alpha, g.beta, with_bias);
  }
};

// Sizes whose plain loop is quick: one dim may be long.
void choose_sizes(Dice& dice, Gemm& g) {
  constexpr int64_t kWork = 600000;
  int64_t* dims[] = {&g.m, &g.n, &g.k};
  std::swap(dims[0], dims[dice.between(0, 2)]);
  *dims[0] = dice.size(dice.one_in(4) ? 5000 : 300);
  *dims[1] = dice.size(std::min<int64_t>(300, kWork / std::max<int64_t>(1, *dims[0])));
  *dims[2] = dice.size(std::min<int64_t>(
      2000, kWork / std::max<int64_t>(1, *dims[0]) / std::max<int64_t>(1, *dims[1])));
  g.batch = dice.one_in(3) ? dice.size(7) : 1;
}

Product choose(Dice& dice) {
  Product p{{}, dice.any_type(false), dice.one_in(3)};
  Gemm& g = p.g;
  choose_sizes(dice, g);
  g.ta = Transpose(dice.flip()), g.tb = Transpose(dice.flip());
  const auto gap = [&] { return dice.one_in(3) ? dice.between(1, 20) : 0; };
  const int64_t rows_a = g.ta == Transpose::yes ? g.k : g.m,
                rows_b = g.tb == Transpose::yes ? g.n : g.k;
  g.lda = (g.ta == Transpose::yes ? g.m : g.k) + gap();
  g.ldb = (g.tb == Transpose::yes ? g.k : g.n) + gap();
  g.ldc = g.n + gap();
  g.stride_a = dice.one_in(4) ? 0 : rows_a * g.lda + gap();
  g.stride_b = dice.one_in(4) ? 0 : rows_b * g.ldb + gap();
  g.stride_c = g.m * g.ldc + gap();
  const bool whole = !is_float(p.dtype);
  if (dice.one_in(3)) g.alpha = whole ? dice.whole(-3, 3) : dice.real(-2, 2);
  if (dice.one_in(3)) g.beta = whole ? dice.whole(-3, 3) : dice.any_of({1.0, -0.7, 0.3});
  return p;
}

// Integers in uint64, whose low bits are those of every integer type.
template <class Load>
uint64_t whole_element(const Product& p, const Load& load, int64_t i, int64_t r, int64_t j,
                       const Array& a, const Array& b, const Array& c, const Array& bias) {
  uint64_t sum = 0;
  for (int64_t k = 0; k < p.g.k; ++k) sum += load(a, p.at_a(i, r, k)) * load(b, p.at_b(i, k, j));
  sum *= static_cast<uint64_t>(static_cast<int64_t>(p.g.alpha));
  if (p.g.beta != 0)
    sum += static_cast<uint64_t>(static_cast<int64_t>(p.g.beta)) * load(c, p.at_c(i, r, j));
  return p.with_bias ? sum + load(bias, j) : sum;
}

struct Operands {
  Array a, b, c, bias;
};

Wants wanted(const Product& p, const Operands& x, bool rounds_twice) {
  const Values a = x.a.values(), b = x.b.values(), c = x.c.values(), bias = x.bias.values();
  Wants want;
  for (const double old : c) want.push_back({old});  // what is not C stays
  const auto load = [](const Array& from, int64_t i) {
    return static_cast<uint64_t>(load_integer(
        from.dtype(), from.as<char>() + i * static_cast<int64_t>(size_of(from.dtype()))));
  };
  for (int64_t i = 0; i < p.g.batch; ++i)
    for (int64_t r = 0; r < p.g.m; ++r)
      for (int64_t j = 0; j < p.g.n; ++j) {
        Want& w = want[at(p.at_c(i, r, j))];
        if (!is_float(p.dtype)) {
          char bytes[8];
          store_integer(
              DType::i64, bytes,
              static_cast<int64_t>(whole_element(p, load, i, r, j, x.a, x.b, x.c, x.bias)));
          w = {load_element(p.dtype, bytes)};  // little endian: the low bytes come first
          continue;
        }
        Sum sum;
        for (int64_t k = 0; k < p.g.k; ++k) sum.add(a[at(p.at_a(i, r, k))], b[at(p.at_b(i, k, j))]);
        sum.value *= p.g.alpha, sum.size *= std::fabs(p.g.alpha);
        const double product = static_cast<double>(sum.value);
        if (p.g.beta != 0) sum.add(p.g.beta, c[at(p.at_c(i, r, j))]);
        if (p.with_bias) sum.add(bias[at(j)]);
        w = sum.in(p.dtype);
        if (rounds_twice) w.slack += std::fabs(product) * unit_roundoff(p.dtype);
      }
  return want;
}

int64_t extent(int64_t batch, int64_t stride, int64_t rows, int64_t ld, int64_t cols) {
  if (batch == 0 || rows == 0 || cols == 0) return 0;
  return (batch - 1) * stride + (rows - 1) * ld + cols;
}

Outcome product(Dice& dice) {
  const Product p = choose(dice);
  const Gemm& g = p.g;
  const bool ta = g.ta == Transpose::yes, tb = g.tb == Transpose::yes;
  const int64_t size_a = extent(g.batch, g.stride_a, ta ? g.k : g.m, g.lda, ta ? g.m : g.k),
                size_b = extent(g.batch, g.stride_b, tb ? g.n : g.k, g.ldb, tb ? g.k : g.n),
                size_c = extent(g.batch, g.stride_c, g.m, g.ldc, g.n);
  const double top = is_float(p.dtype) ? 1 : 100;
  const auto made = [&](int64_t n) {
    Values v = dice.values(n, p.dtype == DType::u8 ? 0 : -top, top);
    if (!is_float(p.dtype))
      for (double& x : v) x = std::floor(x);
    return Array(p.dtype, v, dice);
  };
  const Operands x{made(size_a), made(size_b), made(size_c), made(g.n)};
  const bool builtin = dice.flip();
  const Wants want = wanted(p, x, !builtin && p.dtype == DType::bf16);
  const bool by_dnn = !builtin && cpu::dnn() != nullptr;
  return {fmt::format("{} {}", builtin ? "built-in" : "gemm", p.text()),
          with_threads(
              {x.c},
              [&](Arrays& out) {
                (builtin ? cpu::gemm_builtin : cpu::gemm)(p.dtype, g, x.a.data(), x.b.data(),
                                                          out[0].data(),
                                                          p.with_bias ? x.bias.data() : nullptr);
              },
              [&](const Arrays& out) { return differs("c", out[0], want); },
              by_dnn ? Bits::may_differ : Bits::same)};
}

const Family kFamily("gemm", {{"product", 2000, product}});

}  // namespace
}  // namespace rille::shapes
