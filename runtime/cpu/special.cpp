#include "cpu/special.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace rille::math {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Bernoulli numbers B2, B4, ..., of the asymptotic series.
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,      1.0 / 42, -1.0 / 30,
                                 5.0 / 66,      -691.0 / 2730,  7.0 / 6,  -3617.0 / 510,
                                 43867.0 / 798, -174611.0 / 330};

// Large enough for the series to reach double precision for orders that people use.
double series_start(int n) { return 12 + n; }

// digamma(x) = ln x - 1/(2x) - sum B2k / (2k x^2k), after moving x up by the recurrence.
double digamma_positive(double x) {
  double sum = 0;
  for (; x < series_start(0); ++x) sum -= 1 / x;
  const double w = 1 / (x * x);
  double power = 1, tail = 0;
  for (int k = 1; k <= 10; ++k) {
    power *= w;
    tail += kBernoulli[k - 1] / (2 * k) * power;
  }
  return sum + std::log(x) - 0.5 / x - tail;
}

// (-1)^(n+1) psi_n(x) = (n-1)!/x^n + n!/(2 x^(n+1)) + sum B2k (2k+n-1)! / ((2k)! x^(2k+n)), x > 0.
double magnitude_positive(int n, double x) {
  const double factorial = std::tgamma(n + 1.0);
  double sum = 0;
  for (; x < series_start(n); ++x) sum += factorial * std::pow(x, -(n + 1));
  double term = factorial / n * std::pow(x, -n);  // (2k+n-1)! / ((2k)! x^(2k+n)) at k = 0
  sum += term + 0.5 * factorial * std::pow(x, -(n + 1));
  for (int k = 1; k <= 10; ++k) {
    term *= (2.0 * k + n - 2) * (2.0 * k + n - 1) / ((2.0 * k - 1) * (2.0 * k) * x * x);
    sum += kBernoulli[k - 1] * term;
  }
  return sum;
}

// The n-th derivative of pi cot(pi x), as a polynomial in c = cot: d/dx c = -pi (1 + c^2).
double cotangent_derivative(int n, double x) {
  constexpr int kMost = 24;
  if (n > kMost) return kNan;
  double p[kMost + 3] = {0, 1}, q[kMost + 3] = {};
  for (int step = 0; step < n; ++step) {
    for (double& c : q) c = 0;
    for (int i = 1; i <= step + 1; ++i) {
      q[i - 1] -= i * p[i];
      q[i + 1] -= i * p[i];
    }
    for (int i = 0; i < kMost + 3; ++i) p[i] = q[i];
  }
  const double c = 1 / std::tan(std::numbers::pi * x);
  double value = p[n + 1];  // 0 times an infinite c stays out
  for (int i = n; i >= 0; --i) value = value * c + p[i];
  return value * std::pow(std::numbers::pi, n + 1);
}

}  // namespace

double polygamma(int n, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0 && x == std::floor(x)) {
    if (n == 0) return x == 0 ? std::copysign(HUGE_VAL, -x) : kNan;
    return n % 2 ? HUGE_VAL : kNan;
  }
  if (x > 0) {
    if (std::isinf(x)) return n == 0 ? x : 0;
    return n == 0 ? digamma_positive(x) : (n % 2 ? 1 : -1) * magnitude_positive(n, x);
  }
  // Reflection: psi_n(x) = (-1)^n psi_n(1 - x) - d^n/dx^n pi cot(pi x). The distance from the
  // nearest whole number is exact, that from the one below is not.
  return (n % 2 ? -1 : 1) * polygamma(n, 1 - x) - cotangent_derivative(n, x - std::rint(x));
}

// Winitzki's closed approximation, good to 2e-3, brought to full precision by Halley's steps. Near
// the ends the complement is used, so that 1 - |y| keeps its digits.
double erfinv(double y) {
  const double a = std::fabs(y);
  if (!(a < 1)) return a == 1 ? std::copysign(HUGE_VAL, y) : kNan;
  if (a < 1e-8) return y * 0.8862269254527580;
  constexpr double c = 0.147;
  const double l = std::log((1 - a) * (1 + a)), u = 2 / (std::numbers::pi * c) + l / 2;
  double x = std::sqrt(std::sqrt(u * u - l / c) - u);
  for (int step = 0; step < 3; ++step) {
    const double off = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
    const double newton = off / (1.1283791670955126 * std::exp(-x * x));
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

}  // namespace rille::math
