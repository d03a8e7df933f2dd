// Arithmetic of two operands and the unary functions closest to it. Integers stay integers except
// where dividing (semantics 2.1.3).
#pragma once
#include "ops/pointwise.h"

namespace rille {

struct Add : Binary<Add> {
  struct Args { Tensor x, y; double alpha = 1; };
  static constexpr std::string_view name = "add";
  static constexpr std::string_view doc = "x + alpha * y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.add(rille.tensor{1, 2}, 3)";
  static constexpr auto fields = std::tuple{
      field("x", &Args::x, "any tensor or number").number(),
      field("y", &Args::y, "any tensor or number").number(), field("alpha", &Args::alpha, "factor of y")};
  static constexpr Autocast autocast = Autocast::follow;
  struct Fn {
    double alpha;
    template <class A> RILLE_HD A value(A x, A y) const { return static_cast<A>(x + static_cast<A>(alpha) * y); }
  };
  static Fn fn(const Args& a) { return {a.alpha}; }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Add>& b);
  static void samples(SampleList& s);
};

struct Sub : Binary<Sub> {
  struct Args { Tensor x, y; double alpha = 1; };
  static constexpr std::string_view name = "sub";
  static constexpr std::string_view doc = "x - alpha * y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.sub(rille.tensor{1, 2}, 3)";
  static constexpr auto fields = std::tuple{
      field("x", &Args::x, "any tensor or number").number(),
      field("y", &Args::y, "any tensor or number").number(), field("alpha", &Args::alpha, "factor of y")};
  struct Fn {
    double alpha;
    template <class A> RILLE_HD A value(A x, A y) const { return static_cast<A>(x - static_cast<A>(alpha) * y); }
  };
  static Fn fn(const Args& a) { return {a.alpha}; }
  static Args grad(const Back<Sub>& b);
  static void samples(SampleList& s);
};

struct Mul : Binary<Mul> {
  struct Args { Tensor x, y; };
  static constexpr std::string_view name = "mul";
  static constexpr std::string_view doc = "x * y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.mul(rille.tensor{1, 2}, 3)";
  static constexpr auto fields = std::tuple{field("x", &Args::x, "any tensor or number").number(),
                                            field("y", &Args::y, "any tensor or number").number()};
  struct Fn {
    template <class A> RILLE_HD A value(A x, A y) const { return static_cast<A>(x * y); }
  };
  static Fn fn(const Args&) { return {}; }
  /// Each factor is kept only for the other's gradient.
  static uint64_t saves(const Args&, uint64_t needs) { return (needs & 1) << 1 | (needs >> 1 & 1); }
  static Args grad(const Back<Mul>& b);
  static void samples(SampleList& s);
};

struct Div : Binary<Div> {
  enum class Rounding { none, trunc, floor };
  struct Args { Tensor x, y; Rounding rounding = Rounding::none; };
  static constexpr std::string_view name = "div";
  static constexpr std::string_view doc =
      "x / y, elementwise. Integers give floats unless rounding is 'trunc' or 'floor'.";
  static constexpr std::string_view example = "rille.div(rille.tensor{1, 2}, 4)";
  static constexpr auto fields = std::tuple{
      field("x", &Args::x, "any tensor or number").number().saved(),
      field("y", &Args::y, "any tensor or number").number().saved(),
      field("rounding", &Args::rounding, "how the quotient becomes whole")};
  struct Fn {
    Rounding rounding;
    template <class A> RILLE_HD A value(A x, A y) const;
  };
  static Fn fn(const Args& a) { return {a.rounding}; }
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Div>& b);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 3> names_of(Div::Rounding) { return {"none", "trunc", "floor"}; }

struct Neg : Unary<Neg> {
  struct Args { Tensor x; };
  static constexpr std::string_view name = "neg";
  static constexpr std::string_view doc = "-x, elementwise.";
  static constexpr std::string_view example = "rille.neg(rille.tensor{1, -2})";
  static constexpr auto fields = std::tuple{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    template <class A> RILLE_HD A value(A x) const { return static_cast<A>(-x); }
  };
  static Fn fn(const Args&) { return {}; }
  static uint64_t saves(const Args&, uint64_t) { return 0; }
  static Args grad(const Back<Neg>& b);
  static void samples(SampleList& s) { unary_samples<Neg>(s, -3, 3); }
};

}  // namespace rille
