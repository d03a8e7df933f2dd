// The normal distribution in float against the C library's erfc and exp in double.
#include "cpu/normal.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rille {
namespace {

double lower_tail(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0)); }

// The largest relative error over floats in [from, to) of either sign, which `sign` chooses.
template <class F, class Truth>
double worst(F f, Truth truth, float from, float to, float sign) {
  double most = 0;
  const uint32_t last = float_to_bits(to);
  for (uint32_t u = float_to_bits(from); u < last; u += 97) {
    const float x = sign * bits_to_float(u);
    const double want = truth(static_cast<double>(x));
    most = std::max(most, std::fabs(static_cast<double>(f(x)) - want) / want);
  }
  return most;
}

}  // namespace

TEST_CASE("the normal distribution in float is as close as it says", "[normal]") {
  const auto cdf = [](float x) { return math::normal_cdf(x); };
  const auto pdf = [](float x) { return math::normal_pdf(x); };
  constexpr float kSmallest = 1e-30f;
  CHECK(worst(cdf, lower_tail, kSmallest, 4, -1) < 7e-7);
  CHECK(worst(cdf, lower_tail, 4, 13, -1) < 5e-6);
  CHECK(worst(cdf, lower_tail, kSmallest, 100, 1) < 7e-7);
  CHECK(worst(pdf, density, kSmallest, 4, 1) < 7e-7);
  CHECK(worst(pdf, density, 4, 13, -1) < 5e-6);
}

TEST_CASE("the normal distribution at its ends", "[normal]") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  CHECK((math::normal_cdf(-kInf) == 0 && math::normal_cdf(kInf) == 1));
  CHECK((math::normal_cdf(-1e30f) == 0 && math::normal_cdf(1e30f) == 1));
  CHECK((math::normal_pdf(-kInf) == 0 && math::normal_pdf(kInf) == 0));
  CHECK((std::isnan(math::normal_cdf(kNan)) && std::isnan(math::normal_pdf(kNan))));
  CHECK(math::normal_cdf(-30.0) < 1e-190);
}

}  // namespace rille
