// What the tests of the C++ interface share. They see what hosts see: the installed headers only.
#pragma once
#include <catch2/catch.hpp>

#include "rille/rille.hpp"

namespace rille::test {

/// The error of a call that must fail.
template <class F>
Error refused(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  FAIL("no error was raised");
  return Error(ErrorKind::internal, "", "");
}

/// The code of it.
template <class F>
std::string code_of(F&& f) {
  return refused(f).code;
}

inline std::vector<double> list(const Tensor& t) { return t.to_vector<double>(); }

/// The numbers of `t` from central differences of f, in f64.
template <class F>
std::vector<double> slope(F&& f, const Tensor& x, double step = 1e-6) {
  std::vector<double> out;
  const Tensor flat = x.detach().clone();
  double* p = flat.data<double>();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const double at = p[i];
    p[i] = at + step;
    const double above = f(flat).template item<double>();
    p[i] = at - step;
    const double below = f(flat).template item<double>();
    p[i] = at;
    out.push_back((above - below) / (2 * step));
  }
  return out;
}

}  // namespace rille::test
