// Arithmetic of two operands and the unary functions closest to it. Integers stay integers except
// where dividing (semantics 2.1.3).
#pragma once
#include "ops/pointwise.h"
#include "ops/wrap.h"

namespace rille {

struct Add : Binary<Add> {
  struct Args {
    Tensor x, y;
    double alpha = 1;
  };
  static constexpr std::string_view name = "add";
  static constexpr std::string_view doc = "x + alpha * y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.add(rille.tensor{1, 2}, 3)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor or number").number(),
                                        field("y", &Args::y, "any tensor or number").number(),
                                        field("alpha", &Args::alpha, "factor of y")};
  static constexpr Autocast autocast = Autocast::follow;
  struct Fn {
    double alpha;
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return wrap_add(x, wrap_mul(limit_as<A>(alpha), y));
    }
  };
  static Fn fn(const Args& a) { return {a.alpha}; }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Add>& b);
  static void samples(SampleList& s);
};

struct Sub : Binary<Sub> {
  struct Args {
    Tensor x, y;
    double alpha = 1;
  };
  static constexpr std::string_view name = "sub";
  static constexpr std::string_view doc = "x - alpha * y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.sub(rille.tensor{1, 2}, 3)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor or number").number(),
                                        field("y", &Args::y, "any tensor or number").number(),
                                        field("alpha", &Args::alpha, "factor of y")};
  struct Fn {
    double alpha;
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return wrap_sub(x, wrap_mul(limit_as<A>(alpha), y));
    }
  };
  static Fn fn(const Args& a) { return {a.alpha}; }
  static Args grad(const Back<Sub>& b);
  static void samples(SampleList& s);
};

struct Mul : Binary<Mul> {
  static constexpr std::string_view name = "mul";
  static constexpr std::string_view doc = "x * y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.mul(rille.tensor{1, 2}, 3)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor or number").number(),
                                        field("y", &Args::y, "any tensor or number").number()};
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return wrap_mul(x, y);
    }
  };
  /// Each factor is kept only for the other's gradient.
  static uint64_t saves(const Args&, uint64_t needs) { return (needs & 1) << 1 | (needs >> 1 & 1); }
  static Args grad(const Back<Mul>& b);
  static void samples(SampleList& s);
};

struct Div : Binary<Div> {
  enum class Rounding { none, trunc, floor };
  struct Args {
    Tensor x, y;
    Rounding rounding = Rounding::none;
  };
  static constexpr std::string_view name = "div";
  static constexpr std::string_view doc =
      "x / y, elementwise. Integers give floats unless rounding is 'trunc' or 'floor'.";
  static constexpr std::string_view example = "rille.div(rille.tensor{1, 2}, 4)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved(),
             field("rounding", &Args::rounding, "how the quotient becomes whole")};
  struct Fn {
    Rounding rounding;
    template <class A>
    RILLE_HD A value(A x, A y) const;
  };
  static Fn fn(const Args& a) { return {a.rounding}; }
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Div>& b);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 3> names_of(Div::Rounding) {
  return {"none", "trunc", "floor"};
}

struct Neg : Unary<Neg> {
  static constexpr std::string_view name = "neg";
  static constexpr std::string_view doc = "-x, elementwise.";
  static constexpr std::string_view example = "rille.neg(rille.tensor{1, -2})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return static_cast<A>(-x);
    }
    RILLE_HD int64_t value(int64_t x) const { return wrap_sub(int64_t{0}, x); }
  };
  static uint64_t saves(const Args&, uint64_t) { return 0; }
  static Args grad(const Back<Neg>& b);
  static void samples(SampleList& s) { unary_samples<Neg>(s, -3, 3); }
};

/// y - alpha * x: what a script's number - tensor becomes.
struct Rsub {
  struct Args {
    Tensor x, y;
    double alpha = 1;
  };
  static constexpr std::string_view name = "rsub";
  static constexpr std::string_view doc = "y - alpha * x, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.rsub(rille.tensor{1, 2}, 3)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor or number").number(),
                                        field("y", &Args::y, "any tensor or number").number(),
                                        field("alpha", &Args::alpha, "factor of x")};
  static Tensor compose(const Args& a) { return call<Sub>({a.y, a.x, a.alpha}); }
  static void samples(SampleList& s);
};

struct FloorDivide {
  struct Args {
    Tensor x, y;
  };
  static constexpr std::string_view name = "floor_divide";
  static constexpr std::string_view doc =
      "The largest whole number that is at most x / y; integers stay integers.";
  static constexpr std::string_view example = "rille.floor_divide(rille.tensor{-7, 7}, 2)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor or number").number(),
                                        field("y", &Args::y, "any tensor or number").number()};
  static constexpr bool in_place = true;
  static Tensor compose(const Args& a) { return call<Div>({a.x, a.y, Div::Rounding::floor}); }
  static void samples(SampleList& s);
};

struct Remainder : Binary<Remainder> {
  static constexpr std::string_view name = "remainder";
  static constexpr std::string_view doc =
      "x - floor(x / y) * y: the rest with the sign of y, as Lua's % gives it.";
  static constexpr std::string_view example = "rille.remainder(rille.tensor{-7, 7}, 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      const A r = math::fmod(x, y);
      return r != A(0) && (r < A(0)) != (y < A(0)) ? r + y : r;
    }
    RILLE_HD int64_t value(int64_t x, int64_t y) const {
      if (y == 0 || y == -1) return 0;  // 0 is refused before the kernel runs
      const int64_t r = x % y;
      return r != 0 && (r < 0) != (y < 0) ? r + y : r;
    }
  };
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Remainder>& b);
  static void samples(SampleList& s);
};

struct Fmod : Binary<Fmod> {
  static constexpr std::string_view name = "fmod";
  static constexpr std::string_view doc = "x - trunc(x / y) * y: the rest with the sign of x.";
  static constexpr std::string_view example = "rille.fmod(rille.tensor{-7, 7}, 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return math::fmod(x, y);
    }
    RILLE_HD int64_t value(int64_t x, int64_t y) const { return y == 0 || y == -1 ? 0 : x % y; }
  };
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Fmod>& b);
  static void samples(SampleList& s);
};

struct Addcmul {
  struct Args {
    Tensor x, tensor1, tensor2;
    double value = 1;
  };
  static constexpr std::string_view name = "addcmul";
  static constexpr std::string_view doc =
      "x + value * tensor1 * tensor2, elementwise with broadcasting.";
  static constexpr std::string_view example =
      "rille.addcmul(rille.ones(2), rille.ones(2), rille.ones(2), { value = 0.5 })";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("tensor1", &Args::tensor1, "any tensor").number(),
                                        field("tensor2", &Args::tensor2, "any tensor").number(),
                                        field("value", &Args::value, "factor of the product")};
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr bool in_place = true, strided_out = true, broadcasts = true;
  /// Each factor is kept only for the other's gradient.
  static uint64_t saves(const Args&, uint64_t needs) { return (needs & 2) << 1 | (needs & 4) >> 1; }
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Addcmul>& b);
  static void samples(SampleList& s);
};

struct Addcdiv {
  struct Args {
    Tensor x, tensor1, tensor2;
    double value = 1;
  };
  static constexpr std::string_view name = "addcdiv";
  static constexpr std::string_view doc =
      "x + value * tensor1 / tensor2, elementwise with broadcasting.";
  static constexpr std::string_view example =
      "rille.addcdiv(rille.ones(2), rille.ones(2), rille.ones(2), { value = 0.5 })";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor"),
                                        field("tensor1", &Args::tensor1, "any tensor").number(),
                                        field("tensor2", &Args::tensor2, "any tensor").number(),
                                        field("value", &Args::value, "factor of the quotient")};
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr bool in_place = true, strided_out = true, broadcasts = true;
  static uint64_t saves(const Args&, uint64_t needs) {
    return (needs & 6 ? 4 : 0) | (needs & 4) >> 1;
  }
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Addcdiv>& b);
  static void samples(SampleList& s);
};

struct Lerp {
  struct Args {
    Tensor x, end, weight;
  };
  static constexpr std::string_view name = "lerp";
  static constexpr std::string_view doc =
      "x + weight * (end - x): from x at weight 0 to end at weight 1.";
  static constexpr std::string_view example =
      "rille.lerp(rille.tensor{0, 1}, rille.tensor{10, 10}, 0.25)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("end", &Args::end, "any float tensor"),
             field("weight", &Args::weight, "a number or a float tensor").number()};
  static constexpr bool in_place = true, strided_out = true, broadcasts = true;
  static uint64_t saves(const Args&, uint64_t needs) {
    return (needs & 3 ? 4 : 0) | (needs & 4 ? 3 : 0);
  }
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Lerp>& b);
  static void samples(SampleList& s);
};

}  // namespace rille
