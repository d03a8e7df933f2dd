// Matrix products against a plain triple loop in double (in uint64 for integers).
#include "cpu/gemm.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/half.h"
#include "core/threads.h"

using namespace rille;
using namespace rille::cpu;

namespace {

using Function = void (*)(DType, const Gemm&, const void*, const void*, void*, const void*);
constexpr Transpose no = Transpose::no, yes = Transpose::yes;

/// Restores the number of threads at the end of a test.
struct ThreadCount {
  int before = threads();
  ~ThreadCount() { set_threads(before); }
};

template <class T>
struct Case {
  Gemm g;
  std::vector<T> a, b, c, bias;
  bool with_bias = false;

  size_t at_a(int64_t i, int64_t r, int64_t p) const {
    return static_cast<size_t>(i * g.stride_a + (g.ta == yes ? p * g.lda + r : r * g.lda + p));
  }
  size_t at_b(int64_t i, int64_t p, int64_t j) const {
    return static_cast<size_t>(i * g.stride_b + (g.tb == yes ? j * g.ldb + p : p * g.ldb + j));
  }
  size_t at_c(int64_t i, int64_t r, int64_t j) const {
    return static_cast<size_t>(i * g.stride_c + r * g.ldc + j);
  }
};

template <class T>
std::vector<T> values(int64_t n, std::mt19937& rng) {
  std::vector<T> v(static_cast<size_t>(n));
  for (T& x : v) {
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(rng() * 0x9e3779b97f4a7c15u);
    else
      x = T(std::uniform_real_distribution<float>(-1, 1)(rng));
  }
  return v;
}

/// Leading dimensions and batch strides get `gap` elements more than they need.
template <class T>
Case<T> make(Gemm g, int64_t gap, bool with_bias, std::mt19937& rng) {
  const auto rows = [](Transpose t, int64_t r, int64_t c) { return t == yes ? c : r; };
  g.lda = (g.ta == yes ? g.m : g.k) + gap;
  g.ldb = (g.tb == yes ? g.k : g.n) + gap;
  g.ldc = g.n + gap;
  const int64_t size_a = rows(g.ta, g.m, g.k) * g.lda, size_b = rows(g.tb, g.k, g.n) * g.ldb;
  g.stride_a = size_a + gap, g.stride_b = size_b + gap, g.stride_c = g.m * g.ldc + gap;
  Case<T> c{g,
            values<T>(g.batch * g.stride_a, rng),
            values<T>(g.batch * g.stride_b, rng),
            values<T>(g.batch * g.stride_c, rng),
            values<T>(g.n, rng),
            with_bias};
  return c;
}

template <class T>
void run(Case<T>& c, DType dtype, Function f) {
  f(dtype, c.g, c.a.data(), c.b.data(), c.c.data(), c.with_bias ? c.bias.data() : nullptr);
}

/// How far a sum of k products may be off, in units of the sum of their magnitudes.
template <class T>
double tolerance(int64_t k) {
  const double terms = static_cast<double>(k) + 3;
  if (std::is_same_v<T, double>) return terms * 0x1p-53;
  return terms * 0x1p-24;
}
template <class T>
double rounding() {
  return std::is_same_v<T, bf16> ? 0x1p-8 : std::is_same_v<T, f16> ? 0x1p-11 : 0;
}

/// The largest error over what is allowed; also fails where something outside C was written.
template <class T>
double worst_ratio(const Case<T>& before, const Case<T>& after) {
  const Gemm& g = before.g;
  double worst = 0;
  std::vector<bool> inside(after.c.size(), false);
  for (int64_t i = 0; i < g.batch; ++i)
    for (int64_t r = 0; r < g.m; ++r)
      for (int64_t j = 0; j < g.n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t p = 0; p < g.k; ++p) {
          const double term = static_cast<double>(before.a[before.at_a(i, r, p)]) *
                              static_cast<double>(before.b[before.at_b(i, p, j)]);
          sum += term, magnitude += std::abs(term);
        }
        const size_t at = before.at_c(i, r, j);
        inside[at] = true;
        sum *= g.alpha, magnitude *= std::abs(g.alpha);
        if (g.beta != 0) {
          const double old = g.beta * static_cast<double>(before.c[at]);
          sum += old, magnitude += std::abs(old);
        }
        if (before.with_bias) {
          const double add = static_cast<double>(before.bias[static_cast<size_t>(j)]);
          sum += add, magnitude += std::abs(add);
        }
        const double allowed = magnitude * tolerance<T>(g.k) + std::abs(sum) * rounding<T>() +
                               (rounding<T>() > 0 ? 1e-7 : 1e-300);
        worst = std::max(worst, std::abs(static_cast<double>(after.c[at]) - sum) / allowed);
      }
  for (size_t at = 0; at < inside.size(); ++at)
    if (!inside[at] && std::memcmp(&before.c[at], &after.c[at], sizeof(T)) != 0) worst = 1e9;
  return worst;
}

template <class T>
void check_product(const Gemm& g, DType dtype, int64_t gap, bool bias, Function f) {
  std::mt19937 rng(static_cast<unsigned>(g.m * 31 + g.n * 7 + g.k));
  const ThreadCount restored;
  const Case<T> before = make<T>(g, gap, bias, rng);
  Case<T> one = before, two = before;
  set_threads(1);
  run(one, dtype, f);
  set_threads(2);
  run(two, dtype, f);
  INFO("m " << g.m << " n " << g.n << " k " << g.k << " batch " << g.batch << " ta "
            << (g.ta == yes) << " tb " << (g.tb == yes) << " alpha " << g.alpha << " beta "
            << g.beta << " gap " << gap << " bias " << bias << " dtype " << name(dtype));
  CHECK(worst_ratio(before, one) <= 1);
  CHECK(std::memcmp(one.c.data(), two.c.data(), one.c.size() * sizeof(T)) == 0);
}

void check_any(DType dtype, const Gemm& g, int64_t gap, bool bias, Function f) {
  switch (dtype) {
    case DType::f64: return check_product<double>(g, dtype, gap, bias, f);
    case DType::f32: return check_product<float>(g, dtype, gap, bias, f);
    case DType::bf16: return check_product<bf16>(g, dtype, gap, bias, f);
    default: return check_product<f16>(g, dtype, gap, bias, f);
  }
}

const DType kFloats[] = {DType::f32, DType::f64, DType::bf16, DType::f16};

}  // namespace

TEST_CASE("gemm: random shapes, transposes, strides, scales", "[cpu][gemm]") {
  std::mt19937 rng(7);
  const auto pick = [&](int64_t limit) { return 1 + static_cast<int64_t>(rng() % limit); };
  for (int round = 0; round < 250; ++round) {
    Gemm g;
    const int64_t limit = round % 4 == 0 ? 9 : round % 4 == 1 ? 40 : 130;
    g.m = pick(limit), g.n = pick(limit), g.k = pick(limit), g.batch = pick(3);
    if (round % 10 == 3) g.m = 1;
    if (round % 10 == 7) g.n = 1;
    g.ta = Transpose(rng() % 2 == 0), g.tb = Transpose(rng() % 2 == 0);
    if (rng() % 3 == 0) g.alpha = -0.7, g.beta = 0.3;
    const int64_t gap = static_cast<int64_t>(rng() % 3) * 5;
    const bool bias = rng() % 3 == 0;
    for (DType dtype : kFloats)
      for (Function f : {gemm, gemm_builtin}) check_any(dtype, g, gap, bias, f);
  }
}

TEST_CASE("gemm: shapes that other libraries got wrong", "[cpu][gemm]") {
  // batched Q K^T with 49 to 63 columns; k one below a multiple of 32 (dependencies 1.3)
  for (int64_t n : {49, 55, 63})
    for (DType dtype : kFloats)
      check_any(dtype, {.m = n, .n = n, .k = 64, .batch = 6, .tb = yes}, 0, false, gemm);
  for (DType dtype : {DType::bf16, DType::f32}) {
    check_any(dtype, {.m = 69, .n = 9, .k = 63, .batch = 5}, 0, false, gemm);
    check_any(dtype, {.m = 190, .n = 203, .k = 1375}, 0, false, gemm);
  }
}

TEST_CASE("gemm: more than one block in each direction", "[cpu][gemm]") {
  for (DType dtype : kFloats) {
    check_any(dtype, {.m = 131, .n = 70, .k = 2300, .beta = 0.5}, 3, true, gemm_builtin);
    check_any(dtype, {.m = 2100, .n = 40, .k = 260, .ta = yes}, 0, false, gemm_builtin);
    check_any(dtype, {.m = 33, .n = 2090, .k = 300, .tb = yes}, 0, true, gemm_builtin);
    check_any(dtype, {.m = 259, .n = 530, .k = 1030, .tb = yes}, 0, true, gemm_builtin);
  }
  check_any(DType::f32, {.m = 131, .n = 70, .k = 2300, .beta = 0.5}, 3, true, gemm);
  // read in place, cut into columns or rows
  const Gemm wide{.m = 20, .n = 2017, .k = 100, .alpha = 0.7, .beta = 0.3};
  check_any(DType::f32, wide, 0, true, gemm_builtin);
  check_any(DType::f64, {.m = 997, .n = 65, .k = 90, .ta = yes}, 0, true, gemm_builtin);
  const Gemm turned{.m = 35, .n = 1103, .k = 290, .tb = yes, .alpha = 0.7, .beta = 0.3};
  check_any(DType::f32, turned, 3, true, gemm_builtin);
  check_any(DType::f64, turned, 0, true, gemm_builtin);
}

TEST_CASE("gemm: long vectors", "[cpu][gemm]") {
  for (DType dtype : kFloats)
    for (Transpose t : {no, yes}) {
      check_any(dtype, {.m = 1, .n = 3, .k = 50001, .ta = t, .tb = t}, 1, true, gemm);
      check_any(dtype, {.m = 700, .n = 1, .k = 513, .ta = t, .alpha = 2, .beta = 1}, 2, true, gemm);
      check_any(dtype, {.m = 1, .n = 777, .k = 300, .tb = t}, 0, false, gemm);
    }
}

TEST_CASE("gemm: integers wrap", "[cpu][gemm]") {
  std::mt19937 rng(3);
  for (int64_t size : {5, 20, 90}) {
    Gemm g{.m = size, .n = size + 3, .k = size * 2, .batch = 2};
    g.tb = Transpose(size == 20);
    g.alpha = -3, g.beta = 2;
    const auto before = make<int64_t>(g, 1, true, rng);
    auto after = before;
    run(after, DType::i64, gemm);
    const auto narrow = make<int8_t>(g, 1, true, rng);
    auto narrow_after = narrow;
    run(narrow_after, DType::i8, gemm);
    bool same = true;
    const auto expect = [&](const auto& c, int64_t i, int64_t r, int64_t j) {
      uint64_t sum = 0;
      for (int64_t p = 0; p < g.k; ++p)
        sum += static_cast<uint64_t>(c.a[c.at_a(i, r, p)]) *
               static_cast<uint64_t>(c.b[c.at_b(i, p, j)]);
      return sum * static_cast<uint64_t>(-3) + 2 * static_cast<uint64_t>(c.c[c.at_c(i, r, j)]) +
             static_cast<uint64_t>(c.bias[static_cast<size_t>(j)]);
    };
    for (int64_t i = 0; i < g.batch; ++i)
      for (int64_t r = 0; r < g.m; ++r)
        for (int64_t j = 0; j < g.n; ++j) {
          same &= after.c[after.at_c(i, r, j)] == static_cast<int64_t>(expect(before, i, r, j));
          same &=
              narrow_after.c[narrow.at_c(i, r, j)] == static_cast<int8_t>(expect(narrow, i, r, j));
        }
    CHECK(same);
  }
}

TEST_CASE("gemm: batch stride 0 uses one matrix for all", "[cpu][gemm]") {
  std::mt19937 rng(11);
  Gemm g{.m = 9, .n = 33, .k = 17, .batch = 4};
  auto one = make<float>(g, 0, false, rng);
  auto all = one;
  for (int64_t i = 1; i < 4; ++i)
    std::copy_n(one.b.begin(), one.g.stride_b, all.b.begin() + i * one.g.stride_b);
  run(all, DType::f32, gemm);
  one.g.stride_b = 0;
  run(one, DType::f32, gemm);
  CHECK(one.c == all.c);
  auto apart = one;  // the same again with batches of A that do not follow one another
  apart.g.stride_a += 40;
  apart.a.resize(static_cast<size_t>(4 * apart.g.stride_a));
  for (int64_t i = 3; i >= 0; --i)
    std::copy_n(one.a.begin() + i * one.g.stride_a, one.g.m * one.g.lda,
                apart.a.begin() + i * apart.g.stride_a);
  run(apart, DType::f32, gemm);
  CHECK(apart.c == all.c);
}

TEST_CASE("gemm: nan and inf stay in their row and column", "[cpu][gemm]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (int64_t size : {3, 8, 33, 70, 150})
    for (Function f : {gemm, gemm_builtin})
      for (Transpose tb : {no, yes}) {
        std::mt19937 rng(5);
        auto c = make<float>({.m = size, .n = size + 1, .k = size + 2, .tb = tb}, 0, false, rng);
        for (int64_t p = 0; p < c.g.k; ++p) c.b[c.at_b(0, p, 1)] = 0;
        c.a[c.at_a(0, size / 2, size / 3)] = inf;  // meets zeros in column 1, so 0 * inf
        c.a[c.at_a(0, size - 1, 0)] = nan;
        std::fill(c.c.begin(), c.c.end(), nan);  // beta == 0 must not read these
        run(c, DType::f32, f);
        for (int64_t r = 0; r < c.g.m; ++r)
          for (int64_t j = 0; j < c.g.n; ++j) {
            const float x = c.c[c.at_c(0, r, j)];
            const bool expected = r == size - 1   ? std::isnan(x)
                                  : r == size / 2 ? (j == 1 ? std::isnan(x) : std::isinf(x))
                                                  : std::isfinite(x);
            if (!expected) FAIL("size " << size << " row " << r << " column " << j << ": " << x);
          }
      }
  float a[2] = {0, 1}, b[2] = {inf, 1}, y[1] = {nan};
  gemm(DType::f32, dense(1, 1, 2), a, b, y, nullptr);
  CHECK(std::isnan(y[0]));
}

TEST_CASE("gemm: f16 overflow becomes inf, sums do not", "[cpu][gemm]") {
  std::vector<f16> a(2 * 40, f16(200.f)), b(40 * 2, f16(200.f));
  for (size_t p = 0; p < 40; ++p) b[p * 2 + 1] = f16(p % 2 == 0 ? 200.f : -200.f);
  f16 c[4];
  gemm(DType::f16, dense(2, 2, 40), a.data(), b.data(), c, nullptr);
  CHECK(std::isinf(static_cast<float>(c[0])));
  CHECK(static_cast<float>(c[1]) == 0.f);
}

namespace {
/// One product an element: every bit pattern must come out as the scalar conversions have it.
template <class S>
void check_rounding(DType dtype) {
  std::mt19937 rng(99);
  for (int round = 0; round < 20; ++round) {
    std::vector<S> a(70), b(53), c(70 * 53);
    for (S& x : a) x.bits = static_cast<uint16_t>(rng());
    for (S& x : b) x = round == 0 ? S(1.f) : S(static_cast<float>(rng()) / 4e9f);
    gemm(dtype, dense(70, 53, 1), a.data(), b.data(), c.data(), nullptr);
    for (size_t i = 0; i < 70; ++i)
      for (size_t j = 0; j < 53; ++j) {
        const S expected(static_cast<float>(a[i]) * static_cast<float>(b[j]));
        const uint16_t got = c[i * 53 + j].bits;
        const bool nan = std::isnan(static_cast<float>(expected));
        if (nan ? !std::isnan(static_cast<float>(c[i * 53 + j])) : got != expected.bits)
          FAIL(name(dtype) << " " << a[i].bits << " * " << b[j].bits << " gave " << got);
      }
  }
}
}  // namespace

TEST_CASE("gemm: 16-bit floats widen and round exactly", "[cpu][gemm]") {
  check_rounding<bf16>(DType::bf16);
  check_rounding<f16>(DType::f16);
}

TEST_CASE("gemm: nothing to sum, nothing to do", "[cpu][gemm]") {
  float c[4] = {1, 2, 3, 4};
  const float bias[2] = {10, 20};
  gemm(DType::f32, dense(0, 2, 3), nullptr, nullptr, c, nullptr);
  CHECK(c[0] == 1);
  Gemm g = dense(2, 2, 0);
  g.beta = 2;
  gemm(DType::f32, g, nullptr, nullptr, c, bias);
  CHECK(c[0] == 12);
  CHECK(c[3] == 28);
  g.beta = 0;
  gemm(DType::f32, g, nullptr, nullptr, c, nullptr);
  CHECK(c[2] == 0);
  CHECK_THROWS_AS(gemm(DType::boolean, dense(1, 1, 1), c, c, c, nullptr), Error);
}
