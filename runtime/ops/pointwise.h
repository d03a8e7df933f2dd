// Bases of the pointwise ops. A unary op gives value and slope side by side and inherits everything
// else: shape, dtype, kernel, gradients of every order, samples with strides, broadcasting and no
// elements at all. Kernels are in ops/pointwise_kernels.h, compiled in the family's .cpp only.
#pragma once
#include "cpu/vector_math.h"

#include "core/dual.h"  // after the functions that its rules call

#include "ops/op.h"

namespace rille {

/// The dtype of arithmetic on these (semantics 2.1.3): 0-d tensors and numbers only decide where
/// their category is higher.
DType result_type(std::initializer_list<const Tensor*> operands);
/// Shape, dtype and layout of a pointwise result.
Meta pointwise_meta(std::initializer_list<const Tensor*> operands, DType dtype);
/// The float dtype that an op without integer results gives for `t`.
DType float_type(const Tensor& t);

// Arithmetic on tensors in C++ (ops/arith.cpp): gradients and composed ops read like the formula.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

/// max and min that let nan through, for formulas on numbers and on duals.
template <class A>
RILLE_HD inline A at_least(A x, A low) {
  return x < low ? low : x;
}
template <class A>
RILLE_HD inline A at_most(A x, A high) {
  return x > high ? high : x;
}

/// Samples that every pointwise op gets: strided, empty and 0-d.
template <class O>
[[gnu::cold]] void unary_samples(SampleList& s, double lo, double hi) {
  auto add = [&](Tensor x) {
    typename O::Args a{};
    a.x = std::move(x);
    add_sample<O>(s, std::move(a));
  };
  add(grid({3, 4}, lo, hi));
  add(strided(grid({2, 3, 5}, lo, hi)));
  add(grid({}, lo, hi));
  add(grid({0, 3}, lo, hi));
}

/// Samples for two operands: same shape, broadcast, strided, a number, empty.
template <class O>
[[gnu::cold]] void binary_samples(SampleList& s, double lo, double hi) {
  auto add = [&](Tensor x, Tensor y) {
    typename O::Args a{};
    a.x = std::move(x);
    a.y = std::move(y);
    add_sample<O>(s, std::move(a));
  };
  add(grid({3, 4}, lo, hi), grid({3, 4}, lo + 0.1, hi + 0.2));
  add(grid({2, 3, 4}, lo, hi), grid({4}, lo + 0.1, hi + 0.2));
  add(grid({3, 1}, lo, hi), grid({1, 5}, lo + 0.1, hi + 0.2));
  add(strided(grid({4, 3}, lo, hi)), grid({4, 3}, lo + 0.1, hi + 0.2));
  add(grid({3}, lo, hi), Tensor::number(hi));
  add(grid({}, lo, hi), grid({}, lo + 0.1, hi + 0.2));
  add(grid({0, 3}, lo, hi), grid({3}, lo + 0.1, hi + 0.2));
}

template <class O, int N>
struct Slope;

/// Where the slope is cheaper, or needs less memory, from the result than from the argument.
template <class O>
concept SlopeOfOutput = requires(typename O::Fn f, double y) {
  f.slope_of_output(y);
};
template <class O>
concept HasSlope = SlopeOfOutput<O> || requires(typename O::Fn f, double x) {
  f.slope(x);
};

/// y = value(x). The op offers `Fn` with value and slope (or slope_of_output). With options it has
/// its own Args with x first, their fields, and fn(args), which makes the Fn. `keeps_integers`:
/// integers stay integers, else they become floats.
template <class O>
struct Unary {
  struct Args {
    Tensor x;
  };
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor")};
  static auto fn(const Args&) { return typename O::Fn{}; }
  static constexpr bool in_place = true, strided_out = true;
  static constexpr bool keeps_integers = false;
  static constexpr bool saves_output = false;

  template <class A>
  static Meta infer(const A& a) {
    const DType d = O::keeps_integers ? a.x.dtype() : float_type(a.x);
    return pointwise_meta({&a.x}, d);
  }
  template <class A>
  static uint64_t saves(const A&, uint64_t) {
    return HasSlope<O> && !O::saves_output ? 1 : 0;
  }
  template <class A>
  static void cpu(const A& a, Tensor& y);
  template <class B>
  static auto grad(const B& b) -> typename B::Args;
};

/// y = value(x, y), with broadcasting and promotion. Gradients are written in ops.
template <class O>
struct Binary {
  struct Args {
    Tensor x, y;
  };
  static auto fn(const Args&) { return typename O::Fn{}; }
  static constexpr bool in_place = true, strided_out = true, broadcasts = true;
  static constexpr bool keeps_integers = true;

  template <class A>
  static Meta infer(const A& a) {
    DType d = result_type({&a.x, &a.y});
    if (!O::keeps_integers && !is_float(d)) d = Context::current().default_dtype;
    return pointwise_meta({&a.x, &a.y}, d);
  }
  template <class A>
  static void cpu(const A& a, Tensor& y);
};

/// bool = value(x, y), compared in the operands' common dtype.
template <class O>
struct Comparison {
  struct Args {
    Tensor x, y;
  };
  static auto fn(const Args&) { return typename O::Fn{}; }
  static constexpr bool strided_out = true, differentiable = false, in_place = true, narrow = true;
  template <class A>
  static Meta infer(const A& a) {
    result_type({&a.x, &a.y});
    return pointwise_meta({&a.x, &a.y}, DType::boolean);
  }
  template <class A>
  static void cpu(const A& a, Tensor& y);
};

}  // namespace rille
