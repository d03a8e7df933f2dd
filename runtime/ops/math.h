// Powers, exponentials, logarithms and special functions of one tensor. Where the slope is cheaper
// from the result, backward keeps the result and not x.
#pragma once
#include "cpu/special.h"
#include "ops/pointwise.h"
#include "ops/wrap.h"

namespace rille {

struct Exp : Unary<Exp> {
  static constexpr std::string_view name = "exp";
  static constexpr std::string_view doc = "e to the power of x, elementwise.";
  static constexpr std::string_view example = "rille.exp(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::exp(x);
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return y;
    }
  };
  static void samples(SampleList& s) { unary_samples<Exp>(s, -2, 2); }
};

struct Exp2 : Unary<Exp2> {
  static constexpr std::string_view name = "exp2";
  static constexpr std::string_view doc = "2 to the power of x, elementwise.";
  static constexpr std::string_view example = "rille.exp2(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::exp2(x);
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return y * A(0.6931471805599453);
    }
  };
  static void samples(SampleList& s) { unary_samples<Exp2>(s, -2, 2); }
};

struct Expm1 : Unary<Expm1> {
  static constexpr std::string_view name = "expm1";
  static constexpr std::string_view doc = "exp(x) - 1, exact near 0.";
  static constexpr std::string_view example = "rille.expm1(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::expm1(x);
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return y + A(1);
    }
  };
  static void samples(SampleList& s) { unary_samples<Expm1>(s, -2, 2); }
};

struct Log : Unary<Log> {
  static constexpr std::string_view name = "log";
  static constexpr std::string_view doc = "The natural logarithm of x.";
  static constexpr std::string_view example = "rille.log(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::log(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(1) / x;
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A x) const {
      return dy / x;
    }
  };
  static void samples(SampleList& s) { unary_samples<Log>(s, 0.2, 3); }
};

struct Log2 : Unary<Log2> {
  static constexpr std::string_view name = "log2";
  static constexpr std::string_view doc = "The logarithm of x to base 2.";
  static constexpr std::string_view example = "rille.log2(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::log2(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(1.4426950408889634) / x;
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A x) const {
      return dy * A(1.4426950408889634) / x;
    }
  };
  static void samples(SampleList& s) { unary_samples<Log2>(s, 0.2, 3); }
};

struct Log10 : Unary<Log10> {
  static constexpr std::string_view name = "log10";
  static constexpr std::string_view doc = "The logarithm of x to base 10.";
  static constexpr std::string_view example = "rille.log10(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::log10(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(0.4342944819032518) / x;
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A x) const {
      return dy * A(0.4342944819032518) / x;
    }
  };
  static void samples(SampleList& s) { unary_samples<Log10>(s, 0.2, 3); }
};

struct Log1p : Unary<Log1p> {
  static constexpr std::string_view name = "log1p";
  static constexpr std::string_view doc = "log(1 + x), exact near 0.";
  static constexpr std::string_view example = "rille.log1p(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::log1p(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(1) / (A(1) + x);
    }
  };
  static void samples(SampleList& s) { unary_samples<Log1p>(s, -0.7, 3); }
};

struct Sqrt : Unary<Sqrt> {
  static constexpr std::string_view name = "sqrt";
  static constexpr std::string_view doc = "The square root of x.";
  static constexpr std::string_view example = "rille.sqrt(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::sqrt(x);
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return A(0.5) / y;
    }
  };
  static void samples(SampleList& s) { unary_samples<Sqrt>(s, 0.2, 3); }
};

struct Rsqrt : Unary<Rsqrt> {
  static constexpr std::string_view name = "rsqrt";
  static constexpr std::string_view doc = "1 / sqrt(x), elementwise.";
  static constexpr std::string_view example = "rille.rsqrt(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return A(1) / math::sqrt(x);
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return A(-0.5) * y * y * y;
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A y) const {
      return A(-0.5) * dy * y * y * y;
    }
  };
  static void samples(SampleList& s) { unary_samples<Rsqrt>(s, 0.2, 3); }
};

struct Square : Unary<Square> {
  static constexpr std::string_view name = "square";
  static constexpr std::string_view doc = "x * x, elementwise.";
  static constexpr std::string_view example = "rille.square(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return wrap_mul(x, x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(2) * x;
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A x) const {
      return dy * x * A(2);
    }
  };
  static void samples(SampleList& s) { unary_samples<Square>(s, -2, 2); }
};

struct Reciprocal : Unary<Reciprocal> {
  static constexpr std::string_view name = "reciprocal";
  static constexpr std::string_view doc = "1 / x, elementwise.";
  static constexpr std::string_view example = "rille.reciprocal(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return A(1) / x;
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return -(y * y);
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A y) const {
      return -(dy * y) * y;
    }
  };
  static void samples(SampleList& s) { unary_samples<Reciprocal>(s, 0.3, 3); }
};

struct Erf : Unary<Erf> {
  static constexpr std::string_view name = "erf";
  static constexpr std::string_view doc =
      "The error function: 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.";
  static constexpr std::string_view example = "rille.erf(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::erf(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(1.1283791670955126) * math::exp(-(x * x));
    }
  };
  static void samples(SampleList& s) { unary_samples<Erf>(s, -2, 2); }
};

struct Erfc : Unary<Erfc> {
  static constexpr std::string_view name = "erfc";
  static constexpr std::string_view doc = "1 - erf(x), exact for large x.";
  static constexpr std::string_view example = "rille.erfc(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::erfc(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(-1.1283791670955126) * math::exp(-(x * x));
    }
  };
  static void samples(SampleList& s) { unary_samples<Erfc>(s, -2, 2); }
};

struct Erfinv : Unary<Erfinv> {
  static constexpr std::string_view name = "erfinv";
  static constexpr std::string_view doc = "The number whose error function is x.";
  static constexpr std::string_view example = "rille.erfinv(rille.tensor{0.25, 0.5, 0.75})";
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::erfinv(x);
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return A(0.8862269254527580) * math::exp(y * y);
    }
  };
  static void samples(SampleList& s) { unary_samples<Erfinv>(s, -0.9, 0.9); }
};

struct Lgamma : Unary<Lgamma> {
  static constexpr std::string_view name = "lgamma";
  static constexpr std::string_view doc =
      "The logarithm of the absolute value of the gamma function.";
  static constexpr std::string_view example = "rille.lgamma(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::lgamma(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::polygamma(0, x);
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A x) const {
      return static_cast<A>(dy * math::polygamma(0, static_cast<double>(x)));
    }
  };
  static void samples(SampleList& s) { unary_samples<Lgamma>(s, -1.7, 3.1); }
};

struct Digamma : Unary<Digamma> {
  static constexpr std::string_view name = "digamma";
  static constexpr std::string_view doc = "The slope of lgamma.";
  static constexpr std::string_view example = "rille.digamma(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::polygamma(0, x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::polygamma(1, x);
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A x) const {
      return static_cast<A>(dy * math::polygamma(1, static_cast<double>(x)));
    }
  };
  static void samples(SampleList& s) { unary_samples<Digamma>(s, 0.3, 4); }
};

struct Polygamma : Unary<Polygamma> {
  struct Args {
    Tensor x;
    int64_t n = 1;
  };
  static constexpr std::string_view name = "polygamma";
  static constexpr std::string_view doc = "The n-th derivative of digamma.";
  static constexpr std::string_view example = "rille.polygamma(rille.tensor{1, 2}, 1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("n", &Args::n, "from 0")};
  struct Fn {
    int n;
    template <class A>
    RILLE_HD A value(A x) const {
      return math::polygamma(n, x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::polygamma(n + 1, x);
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A x) const {
      return static_cast<A>(dy * math::polygamma(n + 1, static_cast<double>(x)));
    }
  };
  // From 170 on nothing but the sign is left of a value: it is infinite, 0 or nan.
  static Fn fn(const Args& a) {
    constexpr int64_t kMost = 1000;
    return {static_cast<int>(a.n <= kMost ? a.n : kMost + a.n % 2)};
  }
  static Meta infer(const Args& a);
  static void samples(SampleList& s) {
    unary_samples<Polygamma>(s, 0.6, 4);
    add_sample<Polygamma>(s, {.x = grid({5}, 0.6, 4), .n = 2});
  }
};

struct Sinc : Unary<Sinc> {
  static constexpr std::string_view name = "sinc";
  static constexpr std::string_view doc = "sin(pi * x) / (pi * x), and 1 at 0.";
  static constexpr std::string_view example = "rille.sinc(rille.tensor{0.25, 0.5, 0.75})";
  struct Fn {
    // sin and cos of pi |x|, by the distance from the nearest whole number, which is exact.
    template <class A>
    struct Wave {
      A sin, cos;
      RILLE_HD explicit Wave(A x) {
        const A size = math::fabs(x);
        A r = size - A(2) * math::floor(size * A(0.5));
        const bool odd = r > A(0.5) && !(r > A(1.5));
        r = odd ? r - A(1) : r > A(0.5) ? r - A(2) : r;
        const A z = A(3.141592653589793) * r, sign = odd ? A(-1) : A(1);
        sin = sign * math::sin(z), cos = sign * math::cos(z);
      }
    };
    // Below 0.5 a series: the formula loses digits there, its slopes first.
    template <class A>
    RILLE_HD A value(A x) const {
      const A z = A(3.141592653589793) * x, q = z * z;
      if (!(q < A(0.25))) return Wave<A>(x).sin / math::fabs(z);
      return A(1) -
             q / A(6) *
                 (A(1) - q / A(20) * (A(1) - q / A(42) * (A(1) - q / A(72) * (A(1) - q / A(110)))));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A z = A(3.141592653589793) * x, q = z * z;
      if (!(q < A(0.25))) {
        const Wave<A> w(x);
        return (w.cos - w.sin / math::fabs(z)) / x;
      }
      const A tail =
          A(1) - q / A(28) * (A(1) - q / A(54) * (A(1) - q / A(88) * (A(1) - q / A(130))));
      return A(-3.141592653589793) * z / A(3) * (A(1) - q / A(10) * tail);
    }
  };
  static void samples(SampleList& s) {
    unary_samples<Sinc>(s, -2, 2);
    add_sample<Sinc>(s, {.x = grid({5}, -0.2, 0.2)});
  }
};

}  // namespace rille
