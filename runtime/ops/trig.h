// Trigonometric and hyperbolic functions and their inverses.
#pragma once
#include "ops/pointwise.h"

namespace rille {

struct Sin : Unary<Sin> {
  static constexpr std::string_view name = "sin";
  static constexpr std::string_view doc = "The sine of x in radians.";
  static constexpr std::string_view example = "rille.sin(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::sin(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::cos(x);
    }
  };
  static void samples(SampleList& s) { unary_samples<Sin>(s, -3, 3); }
};

struct Cos : Unary<Cos> {
  static constexpr std::string_view name = "cos";
  static constexpr std::string_view doc = "The cosine of x in radians.";
  static constexpr std::string_view example = "rille.cos(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::cos(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return -math::sin(x);
    }
  };
  static void samples(SampleList& s) { unary_samples<Cos>(s, -3, 3); }
};

struct Tan : Unary<Tan> {
  static constexpr std::string_view name = "tan";
  static constexpr std::string_view doc = "The tangent of x in radians.";
  static constexpr std::string_view example = "rille.tan(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::tan(x);
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return A(1) + y * y;
    }
  };
  static void samples(SampleList& s) { unary_samples<Tan>(s, -1.2, 1.2); }
};

struct Asin : Unary<Asin> {
  static constexpr std::string_view name = "asin";
  static constexpr std::string_view doc = "The angle whose sine is x, in radians.";
  static constexpr std::string_view example = "rille.asin(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::asin(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(1) / math::sqrt((A(1) - x) * (A(1) + x));
    }
  };
  static void samples(SampleList& s) { unary_samples<Asin>(s, -0.9, 0.9); }
};

struct Acos : Unary<Acos> {
  static constexpr std::string_view name = "acos";
  static constexpr std::string_view doc = "The angle whose cosine is x, in radians.";
  static constexpr std::string_view example = "rille.acos(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::acos(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(-1) / math::sqrt((A(1) - x) * (A(1) + x));
    }
  };
  static void samples(SampleList& s) { unary_samples<Acos>(s, -0.9, 0.9); }
};

struct Atan : Unary<Atan> {
  static constexpr std::string_view name = "atan";
  static constexpr std::string_view doc = "The angle whose tangent is x, in radians.";
  static constexpr std::string_view example = "rille.atan(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::atan(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(1) / (A(1) + x * x);
    }
  };
  static void samples(SampleList& s) { unary_samples<Atan>(s, -3, 3); }
};

struct Sinh : Unary<Sinh> {
  static constexpr std::string_view name = "sinh";
  static constexpr std::string_view doc = "The hyperbolic sine of x.";
  static constexpr std::string_view example = "rille.sinh(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::sinh(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::cosh(x);
    }
  };
  static void samples(SampleList& s) { unary_samples<Sinh>(s, -2, 2); }
};

struct Cosh : Unary<Cosh> {
  static constexpr std::string_view name = "cosh";
  static constexpr std::string_view doc = "The hyperbolic cosine of x.";
  static constexpr std::string_view example = "rille.cosh(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::cosh(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::sinh(x);
    }
  };
  static void samples(SampleList& s) { unary_samples<Cosh>(s, -2, 2); }
};

struct Tanh : Unary<Tanh> {
  static constexpr std::string_view name = "tanh";
  static constexpr std::string_view doc = "The hyperbolic tangent of x.";
  static constexpr std::string_view example = "rille.tanh(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::tanh(x);
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return A(1) - y * y;
    }
  };
  static void samples(SampleList& s) { unary_samples<Tanh>(s, -2, 2); }
};

struct Asinh : Unary<Asinh> {
  static constexpr std::string_view name = "asinh";
  static constexpr std::string_view doc = "The number whose hyperbolic sine is x.";
  static constexpr std::string_view example = "rille.asinh(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::asinh(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A size = math::fabs(x);  // its square may be infinite
      return A(1) / (size > A(1e10) ? size : math::sqrt(x * x + A(1)));
    }
  };
  static void samples(SampleList& s) { unary_samples<Asinh>(s, -3, 3); }
};

struct Acosh : Unary<Acosh> {
  static constexpr std::string_view name = "acosh";
  static constexpr std::string_view doc = "The number from 0 whose hyperbolic cosine is x.";
  static constexpr std::string_view example = "rille.acosh(rille.tensor{1, 2})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::acosh(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A size = math::fabs(x);
      return A(1) / (size > A(1e10) ? size : math::sqrt((x - A(1)) * (x + A(1))));
    }
  };
  static void samples(SampleList& s) { unary_samples<Acosh>(s, 1.2, 3); }
};

struct Atanh : Unary<Atanh> {
  static constexpr std::string_view name = "atanh";
  static constexpr std::string_view doc = "The number whose hyperbolic tangent is x.";
  static constexpr std::string_view example = "rille.atanh(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::atanh(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(1) / ((A(1) - x) * (A(1) + x));
    }
  };
  static void samples(SampleList& s) { unary_samples<Atanh>(s, -0.9, 0.9); }
};

}  // namespace rille
