// Tensors that PyTorch can make, too, as support/waves.lua has them, so that its stored values
// stand for what a layer should give: element j of a wave is sin(0.7 j + phase) / 2, in f64. `fill`
// sets parameter i of a module, from 1, to the wave of phase i.
#pragma once
#include "api/thrown.h"

namespace rille::test {

inline Tensor wave(const Shape& shape, double phase) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  const Tensor j = arange(0, n - 1, {.dtype = Dtype::f64});
  return (sin(j * 0.7 + phase) * 0.5).reshape(shape);
}

template <class M>
M fill(const M& module) {
  const NoGrad quiet;
  double phase = 0;
  for (const Tensor& p : module.parameters()) p.copy_(wave(p.shape(), ++phase));
  return module;
}

/// Every element within 1e-8: the values are stored with ten digits.
inline void near(const Tensor& t, const std::vector<double>& expected) {
  const std::vector<double> got = list(t);
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(1e-8));
}

}  // namespace rille::test
