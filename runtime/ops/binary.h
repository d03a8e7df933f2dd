// Functions of two tensors beyond arithmetic, with broadcasting and promotion.
#pragma once
#include <cmath>

#include "ops/pointwise.h"

namespace rille {

struct Pow : Binary<Pow> {
  static constexpr std::string_view name = "pow";
  static constexpr std::string_view doc =
      "x to the power of exponent, elementwise; whole exponents multiply exactly.";
  static constexpr std::string_view example = "rille.pow(rille.tensor{1, 2, 3}, 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("exponent", &Args::y, "any tensor or number").number().saved()};
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return math::pow(x, y);
    }
    RILLE_HD int64_t value(int64_t x, int64_t y) const;
  };
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Pow>& b);
  static void samples(SampleList& s);
};

struct FloatPower {
  struct Args {
    Tensor x, y;
  };
  static constexpr std::string_view name = "float_power";
  static constexpr std::string_view doc =
      "x to the power of exponent, computed and returned in f64.";
  static constexpr std::string_view example = "rille.float_power(rille.tensor{1, 2, 3}, -2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number(),
             field("exponent", &Args::y, "any tensor or number").number()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Ldexp {
  struct Args {
    Tensor x, y;
  };
  static constexpr std::string_view name = "ldexp";
  static constexpr std::string_view doc = "x times 2 to the power of exponent.";
  static constexpr std::string_view example = "rille.ldexp(rille.tensor{1, 3}, 4)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number(),
             field("exponent", &Args::y, "any tensor or number").number()};
  static constexpr bool in_place = true;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Atan2 : Binary<Atan2> {
  static constexpr std::string_view name = "atan2";
  static constexpr std::string_view doc =
      "The angle of the point (y, x) from the first axis, in radians: atan(x / y) in the right "
      "quadrant.";
  static constexpr std::string_view example =
      "rille.atan2(rille.tensor{1, -1}, rille.tensor{-1, -1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr bool keeps_integers = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return math::atan2(x, y);
    }
  };
  static Args grad(const Back<Atan2>& b);
  static void samples(SampleList& s);
};

struct Hypot : Binary<Hypot> {
  static constexpr std::string_view name = "hypot";
  static constexpr std::string_view doc = "sqrt(x * x + y * y) without overflow.";
  static constexpr std::string_view example = "rille.hypot(rille.tensor{3}, 4)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool keeps_integers = false, saves_output = true;
  struct Fn {
    RILLE_HD double value(double x, double y) const { return std::hypot(x, y); }
    RILLE_HD float value(float x, float y) const {
      const double a = x, b = y;
      const bool infinite = std::isinf(x) || std::isinf(y);  // whatever the other is, nan too
      return infinite ? HUGE_VALF : static_cast<float>(std::sqrt(a * a + b * b));
    }
  };
  static Args grad(const Back<Hypot>& b);
  static void samples(SampleList& s);
};

struct Copysign : Binary<Copysign> {
  static constexpr std::string_view name = "copysign";
  static constexpr std::string_view doc = "The size of x with the sign of y.";
  static constexpr std::string_view example = "rille.copysign(rille.tensor{1, -2}, -1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool keeps_integers = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return std::copysign(x, y);
    }
  };
  static Args grad(const Back<Copysign>& b);
  static void samples(SampleList& s);
};

struct LogAddExp : Binary<LogAddExp> {
  static constexpr std::string_view name = "logaddexp";
  static constexpr std::string_view doc = "log(exp(x) + exp(y)) without overflow.";
  static constexpr std::string_view example = "rille.logaddexp(rille.tensor{1000}, 1000)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool keeps_integers = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      const A apart = x == y ? A(0) : math::fabs(x - y);  // equal infinities are not apart
      return (x < y ? y : x) + math::log1p(math::exp(-apart));
    }
  };
  static Args grad(const Back<LogAddExp>& b);
  static void samples(SampleList& s);
};

struct LogAddExp2 : Binary<LogAddExp2> {
  static constexpr std::string_view name = "logaddexp2";
  static constexpr std::string_view doc = "log2(exp2(x) + exp2(y)) without overflow.";
  static constexpr std::string_view example = "rille.logaddexp2(rille.tensor{1000}, 1000)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool keeps_integers = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      const A apart = x == y ? A(0) : math::fabs(x - y);
      return (x < y ? y : x) + math::log1p(math::exp2(-apart)) * A(1.4426950408889634);
    }
  };
  static Args grad(const Back<LogAddExp2>& b);
  static void samples(SampleList& s);
};

struct Xlogy : Binary<Xlogy> {
  static constexpr std::string_view name = "xlogy";
  static constexpr std::string_view doc = "x * log(y), and 0 where x is 0 unless y is nan.";
  static constexpr std::string_view example = "rille.xlogy(rille.tensor{0, 2}, 0.5)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool keeps_integers = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return x == A(0) && y == y ? A(0) : x * math::log(y);
    }
  };
  static Args grad(const Back<Xlogy>& b);
  static void samples(SampleList& s);
};

struct NextAfter : Binary<NextAfter> {
  static constexpr std::string_view name = "nextafter";
  static constexpr std::string_view doc =
      "The next number of the same dtype after x in the direction of y.";
  static constexpr std::string_view example = "rille.nextafter(rille.tensor{1}, 2)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor or number").number(),
                                        field("y", &Args::y, "any tensor or number").number()};
  static constexpr bool keeps_integers = false;
  struct Fn {
    DType dtype;
    RILLE_HD double value(double x, double y) const { return std::nextafter(x, y); }
    RILLE_HD float value(float x, float y) const;
  };
  static Fn fn(const Args& a) { return {result_type({&a.x, &a.y})}; }
  static Meta infer(const Args& a);
  static Args grad(const Back<NextAfter>& b);
  static void samples(SampleList& s);
};

struct Heaviside : Binary<Heaviside> {
  static constexpr std::string_view name = "heaviside";
  static constexpr std::string_view doc =
      "0 where x is negative, 1 where it is positive, y where it is 0.";
  static constexpr std::string_view example = "rille.heaviside(rille.tensor{-1, 0, 1}, 0.5)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor or number").number(),
                                        field("y", &Args::y, "the value at 0").number()};
  static constexpr std::string_view no_gradient = "it is a step";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return x == A(0) ? y : x > A(0) ? A(1) : A(0);
    }
  };
  static void samples(SampleList& s);
};

}  // namespace rille
