// Small tensors and comparisons for tests of ops. Expected numbers come from PyTorch 2.15 unless a
// test says otherwise.
#pragma once
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "ops/pointwise.h"

namespace rille::test {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline Tensor f64(std::initializer_list<double> v, const Shape& s) {
  return Tensor::of(std::vector<double>(v), s, DType::f64);
}
inline Tensor f64(std::initializer_list<double> v) {
  return f64(v, {static_cast<int64_t>(v.size())});
}
inline Tensor i64(std::initializer_list<double> v, const Shape& s) {
  return Tensor::of(std::vector<double>(v), s, DType::i64);
}
inline Tensor i64(std::initializer_list<double> v) {
  return i64(v, {static_cast<int64_t>(v.size())});
}

inline void check_values(const Tensor& got, const std::vector<double>& want,
                         double tolerance = 1e-12) {
  const std::vector<double> g = got.to_vector();
  REQUIRE(g.size() == want.size());
  for (size_t i = 0; i < g.size(); ++i) {
    INFO("element " << i << ": " << g[i] << ", wanted " << want[i]);
    const bool both_nan = std::isnan(g[i]) && std::isnan(want[i]);
    CHECK((both_nan || g[i] == want[i] ||
           std::abs(g[i] - want[i]) <= tolerance * std::max(1.0, std::abs(want[i]))));
  }
}

/// The gradient of the sum of fn(x) at x.
template <class F>
Tensor gradient_of(F&& fn, const Tensor& x) {
  autograd::set_requires_grad(x, true);
  const Tensor y = fn(x);
  const Tensor seed = autograd::engine_ops().ones_like(y);
  return autograd::grad({&y, 1}, {&x, 1}, {&seed, 1})[0];
}

}  // namespace rille::test
