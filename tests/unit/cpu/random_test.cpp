#include "cpu/random.h"

#include <algorithm>
#include <numeric>

#include "core/half.h"
#include "core/philox.h"
#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;
using cpu::Draw;

namespace {

constexpr Draw kDraw{42, 7};

double mean_of(const Values& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double variance_of(const Values& v) {
  const double m = mean_of(v);
  double sum = 0;
  for (const double x : v) sum += (x - m) * (x - m);
  return sum / static_cast<double>(v.size());
}

template <class Fill>
Values filled(DType d, int64_t n, Fill fill) {
  Buffer out(d, n);
  fill(out.data());
  return out.values();
}

}  // namespace

TEST_CASE("words in bulk are the generator's blocks, wherever one starts", "[random]") {
  for (const int64_t first : {int64_t{0}, int64_t{5}, (int64_t{1} << 34) - 3}) {
    std::vector<uint32_t> words(5000);
    cpu::random_words(words.data(), 5000, {0x123456789abcdef0u, 3, first});
    bool same = true;
    for (int64_t i = 0; i < 5000; ++i) {
      const uint64_t at = static_cast<uint64_t>(first + i);
      same &= words[static_cast<size_t>(i)] == philox(0x123456789abcdef0u, at / 4, 3).word[at % 4];
    }
    CHECK(same);
  }
}

TEST_CASE("a fill split in two gives the same numbers", "[random]") {
  struct {
    const char* name;
    std::function<void(DType, void*, int64_t, Draw)> fill;
  } const fills[] = {
      {"uniform", [](auto d, auto p, auto n, auto r) { cpu::uniform(d, p, n, -1, 3, r); }},
      {"normal", [](auto d, auto p, auto n, auto r) { cpu::normal(d, p, n, 1, 2, r); }},
      {"exponential", [](auto d, auto p, auto n, auto r) { cpu::exponential(d, p, n, 2, r); }},
      {"bernoulli", [](auto d, auto p, auto n, auto r) { cpu::bernoulli(d, p, n, .3, r); }},
      {"randint", [](auto d, auto p, auto n, auto r) { cpu::randint(d, p, n, 0, 9, r); }}};
  const int64_t n = 40001;
  for (const auto& f : fills)
    for (const DType d : kFloats) {
      INFO(f.name << " " << name(d));
      Buffer whole(d, n), parts(d, n);
      f.fill(d, whole.data(), n, kDraw);
      for (const int64_t cut : {1, 2, 7, 20000}) {
        char* second = static_cast<char*>(parts.data()) + static_cast<size_t>(cut) * size_of(d);
        f.fill(d, parts.data(), cut, kDraw);
        f.fill(d, second, n - cut, {kDraw.seed, kDraw.op, kDraw.first + cut});
        CHECK((whole.bytes == parts.bytes));
      }
      require_same_bits([&] {
        Buffer again(d, n);
        f.fill(d, again.data(), n, kDraw);
        return again.bytes;
      });
    }
}

TEST_CASE("uniforms fill their range and never reach its end", "[random]") {
  for (const DType d : kFloats) {
    const Values u = filled(d, 200000, [&](void* p) { cpu::uniform(d, p, 200000, 2, 3, kDraw); });
    CHECK(*std::min_element(u.begin(), u.end()) >= 2);
    CHECK(*std::max_element(u.begin(), u.end()) < 3);
    CHECK(mean_of(u) == Approx(2.5).margin(d == DType::bf16 ? .005 : .002));
    CHECK(variance_of(u) == Approx(1 / 12.0).margin(.002));
  }
  const Values narrow =
      filled(DType::bf16, 9, [](void* p) { cpu::uniform(DType::bf16, p, 9, -1.5, -1.5, kDraw); });
  CHECK(narrow == Values(9, -1.5));
}

TEST_CASE("normals have the moments of a normal", "[random]") {
  const int64_t n = 200000;
  for (const DType d : kFloats) {
    Values z = filled(d, n, [&](void* p) { cpu::normal(d, p, n, 1, 2, kDraw); });
    CHECK(mean_of(z) == Approx(1).margin(.02));
    CHECK(variance_of(z) == Approx(4).margin(.06));
    double fourth = 0, neighbours = 0;
    for (size_t i = 0; i + 1 < z.size(); ++i) {
      fourth += std::pow((z[i] - 1) / 2, 4) / static_cast<double>(n);
      neighbours += (z[i] - 1) * (z[i + 1] - 1) / 4 / static_cast<double>(n);
    }
    CHECK(fourth == Approx(3).margin(.08));
    CHECK(neighbours == Approx(0).margin(.01));
    const auto inside = std::count_if(z.begin(), z.end(), [](double x) { return x > -1 && x < 3; });
    CHECK(static_cast<double>(inside) / static_cast<double>(n) == Approx(.6827).margin(.004));
  }
}

TEST_CASE("exponential, bernoulli and randint have their means", "[random]") {
  const int64_t n = 200000;
  const Values e =
      filled(DType::f32, n, [&](void* p) { cpu::exponential(DType::f32, p, n, 2, kDraw); });
  CHECK(mean_of(e) == Approx(.5).margin(.005));
  CHECK(*std::min_element(e.begin(), e.end()) >= 0);
  for (const double p : {0.0, .3, 1.0}) {
    const Values b = filled(DType::boolean, n,
                            [&](void* to) { cpu::bernoulli(DType::boolean, to, n, p, kDraw); });
    CHECK(mean_of(b) == Approx(p).margin(p == .3 ? .004 : 0));
  }
  const Buffer odds(DType::f32, Values{0, 1, .5, 1, 0});
  const Values each = filled(DType::f32, 5, [&](void* to) {
    cpu::bernoulli(DType::f32, to, 5, DType::f32, odds.data(), kDraw);
  });
  CHECK((each[0] == 0 && each[1] == 1 && each[3] == 1 && each[4] == 0));
  const Values k =
      filled(DType::i32, n, [&](void* p) { cpu::randint(DType::i32, p, n, -2, 3, kDraw); });
  for (int v = -2; v <= 3; ++v)
    CHECK(static_cast<double>(std::count(k.begin(), k.end(), v)) / static_cast<double>(n) ==
          Approx(1 / 6.0).margin(.004));
  int64_t full[100];
  cpu::randint(DType::i64, full, 100, INT64_MIN, INT64_MAX, kDraw);
  CHECK(std::any_of(full, full + 100, [](int64_t x) { return x < INT64_MIN / 2; }));
  CHECK(std::any_of(full, full + 100, [](int64_t x) { return x > INT64_MAX / 2; }));
}

TEST_CASE("randperm is a permutation, and every place is equally likely", "[random]") {
  std::vector<int64_t> p(5000);
  cpu::randperm(p.data(), 5000, kDraw);
  std::vector<int64_t> sorted = p;
  std::sort(sorted.begin(), sorted.end());
  bool whole = true;
  for (size_t i = 0; i < sorted.size(); ++i) whole &= sorted[i] == static_cast<int64_t>(i);
  CHECK(whole);
  int count[4][4] = {};
  for (uint64_t op = 0; op < 8000; ++op) {
    int64_t four[4];
    cpu::randperm(four, 4, {1, op});
    for (int i = 0; i < 4; ++i) ++count[i][four[i]];
  }
  for (const auto& row : count)
    for (const int c : row) CHECK(c == Approx(2000).margin(200));
  cpu::randperm(p.data(), 0, kDraw);
}

TEST_CASE("dropout keeps, scales, and drops the same elements backward", "[random]") {
  const int64_t n = 100003;
  for (const DType d : kFloats) {
    const Buffer x(d, spread(n, 1, .5, 2));
    Buffer y(d, n), dx(d, Values(static_cast<size_t>(n), 1));
    cpu::dropout(d, x.data(), y.data(), n, .25, kDraw);
    cpu::dropout(d, dx.data(), dx.data(), n, .25, kDraw);
    const Values in = x.values(), out = y.values(), slope = dx.values();
    int64_t kept = 0;
    bool right = true;
    for (size_t i = 0; i < in.size(); ++i) {
      kept += out[i] != 0;
      right &= out[i] == 0 ? slope[i] == 0 : std::fabs(slope[i] - 4 / 3.0) < 4e-3;
      right &= out[i] == 0 || std::fabs(out[i] / in[i] - 4 / 3.0) < 2e-2;
    }
    CHECK(right);
    CHECK(static_cast<double>(kept) / static_cast<double>(n) == Approx(.75).margin(.006));
  }
  float x[] = {1, 2}, y[2];
  cpu::dropout(DType::f32, x, y, 2, 1, kDraw);
  CHECK((y[0] == 0 && y[1] == 0));
  cpu::dropout(DType::f32, x, y, 2, 0, kDraw);
  CHECK((y[0] == 1 && y[1] == 2));
}
