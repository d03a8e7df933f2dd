// Rounding by chance and the search for nan, against the formats' own values.
#include "cpu/stochastic.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "core/half.h"
#include "cpu/convert.h"

using namespace rille;

namespace {

template <class H>
std::vector<H> rounded(const std::vector<float>& x, cpu::Draw draw, cpu::Bounded<double> b = {}) {
  std::vector<H> y(x.size());
  const DType to = std::is_same_v<H, f16> ? DType::f16 : DType::bf16;
  cpu::round_stochastic(DType::f32, x.data(), to, y.data(), static_cast<int64_t>(x.size()), b,
                        draw);
  return y;
}

// All values of the format, in the order of their codes.
template <class H>
std::vector<float> all_values() {
  std::vector<float> x;
  for (uint32_t code = 0; code < 0x10000; ++code) {
    H h;
    h.bits = static_cast<uint16_t>(code);
    x.push_back(h);
  }
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("stochastic: every value of the format stays", "[cpu]", f16, bf16) {
  const std::vector<float> x = all_values<TestType>();
  const auto y = rounded<TestType>(x, {1, 2, 0});
  for (uint32_t code = 0; code < x.size(); ++code) {
    const float got = y[code];
    if (x[code] != x[code]) {
      REQUIRE(got != got);
    } else {
      REQUIRE(y[code].bits == code);
    }
  }
}

TEMPLATE_TEST_CASE("stochastic: between two values one of them, in their ratio", "[cpu]", f16,
                   bf16) {
  const std::vector<float> values = all_values<TestType>();
  std::vector<float> x;
  for (uint32_t code = 0; code < 0x7000; ++code)
    x.push_back(values[code] + 0.25f * (values[code + 1] - values[code]));
  int64_t up = 0;
  constexpr int kRounds = 16;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const auto y = rounded<TestType>(x, {5, round, 0});
    for (uint32_t code = 0; code < x.size(); ++code) {
      const bool above = y[code].bits == code + 1;
      REQUIRE((above || y[code].bits == code));
      up += above;
    }
  }
  // 458752 draws with probability 1/4: five deviations are 0.0032
  CHECK(std::abs(static_cast<double>(up) / (kRounds * 0x7000) - 0.25) < 0.0032);
}

TEST_CASE("stochastic: parts of a tensor get the numbers of the whole", "[cpu]") {
  std::vector<float> x(100'000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1 + static_cast<float>(i) * 0x1p-20f;
  const auto whole = rounded<bf16>(x, {3, 4, 0});
  constexpr size_t kAt = 33'333;
  const auto rest = rounded<bf16>({x.begin() + kAt, x.end()}, {3, 4, kAt});
  for (size_t i = 0; i < rest.size(); ++i) REQUIRE(rest[i].bits == whole[kAt + i].bits);
}

TEST_CASE("stochastic: bounds hold first", "[cpu]") {
  const float inf = HUGE_VALF;
  const auto y = rounded<f16>({inf, -70000, std::nanf("")}, {0, 0, 0}, {65504, true});
  CHECK(y[0].bits == 0x7bff);
  CHECK(y[1].bits == 0xfbff);
  CHECK(y[2].bits == 0);
}

TEST_CASE("stochastic: the first nan of any float dtype", "[cpu]") {
  for (const int64_t at : {0, 1, 1023, 1024, 2999}) {
    std::vector<float> x(3000, HUGE_VALF);
    x[2999] = x[static_cast<size_t>(at)] = std::nanf("");
    for (const DType d : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      std::vector<double> room(x.size());
      cpu::convert(DType::f32, x.data(), d, room.data(), 3000);
      CHECK(cpu::first_nan(d, room.data(), 3000) == at);
      CHECK(cpu::first_nan(d, room.data(), at) == -1);
    }
  }
  const int64_t n = 5;
  CHECK(cpu::first_nan(DType::i64, &n, 1) == -1);
}
