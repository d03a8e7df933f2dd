// Smooth activations: value and slope side by side, everything else comes from Unary. Silu is the
// model of how an op is written. Formulas have no branches around calls, so that the loops over
// them vectorise. Those made of straight lines are in ops/rectifier.h.
#pragma once
#include "cpu/normal.h"
#include "ops/pointwise.h"

namespace rille {

struct Silu : Unary<Silu> {
  static constexpr std::string_view name = "silu";
  static constexpr std::string_view doc = "x * sigmoid(x), elementwise; also called swish.";
  static constexpr std::string_view example = "rille.silu(rille.tensor{-1, 0, 1})";

  struct Fn {  // value and slope side by side: whoever edits one sees the other
    template <class A>
    RILLE_HD A value(A x) const {
      return x / (A(1) + math::exp(-x));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A s = A(1) / (A(1) + math::exp(-x));
      return s * (A(1) + x * (A(1) - s));
    }
  };
  static void samples(SampleList& s) { unary_samples<Silu>(s, -3, 3); }
};

struct Sigmoid : Unary<Sigmoid> {
  static constexpr std::string_view name = "sigmoid";
  static constexpr std::string_view doc = "1 / (1 + exp(-x)), elementwise.";
  static constexpr std::string_view example = "rille.sigmoid(rille.tensor{-1, 0, 1})";
  static constexpr bool saves_output = true;

  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return A(1) / (A(1) + math::exp(-x));
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return y * (A(1) - y);
    }
  };
  static void samples(SampleList& s) { unary_samples<Sigmoid>(s, -3, 3); }
};

struct Gelu : Unary<Gelu> {
  enum class Approximate { none, tanh };
  struct Args {
    Tensor x;
    Approximate approximate = Approximate::none;
  };
  static constexpr std::string_view name = "gelu";
  static constexpr std::string_view doc =
      "x times the normal distribution function at x, exactly or by the tanh formula.";
  static constexpr std::string_view example =
      "rille.gelu(rille.tensor{-1, 0, 1}, { approximate = 'tanh' })";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor"),
                                        field("approximate", &Args::approximate, "the formula")};

  struct Fn {
    bool tanh;
    /// The normal distribution function at x or, nearly the same, sigmoid(2 u) with
    /// u = sqrt(2 / pi) * (x + 0.044715 * x^3).
    template <class A>
    RILLE_HD A gate(A x) const {
      if (tanh)
        return A(1) /
               (A(1) + math::exp(x * (A(-1.5957691216057308) + A(-0.07135481627260025) * x * x)));
      return math::normal_cdf(x);
    }
    template <class A>
    RILLE_HD A gate_slope(A x, A g) const {
      // From x = 1000 on the first factors are 0 and the square might be infinite.
      if (tanh)
        return g * (A(1) - g) *
               (A(1.5957691216057308) + A(0.21406444881780073) * at_most(x * x, A(1e6)));
      return math::normal_pdf(x);
    }
    template <class A>
    RILLE_HD A value(A x) const {
      return x * gate(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A g = gate(x);
      return g + x * gate_slope(x, g);
    }
  };
  static Fn fn(const Args& a) { return {a.approximate == Approximate::tanh}; }
  static void samples(SampleList& s) {
    unary_samples<Gelu>(s, -3, 3);
    add_sample<Gelu>(s, {.x = grid({5}, -3, 3), .approximate = Approximate::tanh});
  }
};
constexpr std::array<std::string_view, 2> names_of(Gelu::Approximate) { return {"none", "tanh"}; }

struct Elu : Unary<Elu> {
  struct Args {
    Tensor x;
    double alpha = 1;
  };
  static constexpr std::string_view name = "elu";
  static constexpr std::string_view doc = "x where it is positive, else alpha * (exp(x) - 1).";
  static constexpr std::string_view example = "rille.elu(rille.tensor{-1, 0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"),
             field("alpha", &Args::alpha, "minus the limit at minus infinity")};

  struct Fn {
    double alpha;
    template <class A>
    RILLE_HD A value(A x) const {
      return at_least(x, A(0)) + A(alpha) * math::expm1(at_most(x, A(0)));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::exp(at_most(x, A(0))) * (x > A(0) ? A(1) : A(alpha));
    }
  };
  static Fn fn(const Args& a) { return {a.alpha}; }
  static void samples(SampleList& s) { unary_samples<Elu>(s, -3, 3.3); }
};

struct Selu : Unary<Selu> {
  static constexpr std::string_view name = "selu";
  static constexpr std::string_view doc =
      "scale * elu(x, alpha) with the constants that keep mean 0 and variance 1.";
  static constexpr std::string_view example = "rille.selu(rille.tensor{-1, 0, 1})";

  struct Fn {
    static constexpr double kScale = 1.0507009873554805, kAlpha = 1.6732632423543772;
    template <class A>
    RILLE_HD A value(A x) const {
      return A(kScale) * at_least(x, A(0)) + A(kScale * kAlpha) * math::expm1(at_most(x, A(0)));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::exp(at_most(x, A(0))) * (x > A(0) ? A(kScale) : A(kScale * kAlpha));
    }
  };
  static void samples(SampleList& s) { unary_samples<Selu>(s, -3, 3.3); }
};

struct Celu : Unary<Celu> {
  struct Args {
    Tensor x;
    double alpha = 1;
  };
  static constexpr std::string_view name = "celu";
  static constexpr std::string_view doc =
      "x where it is positive, else alpha * (exp(x / alpha) - 1).";
  static constexpr std::string_view example = "rille.celu(rille.tensor{-1, 0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"),
             field("alpha", &Args::alpha, "minus the limit at minus infinity")};

  struct Fn {
    double alpha;
    template <class A>
    RILLE_HD A value(A x) const {
      return at_least(x, A(0)) + A(alpha) * math::expm1(at_most(x, A(0)) / A(alpha));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return math::exp(at_most(x, A(0)) / A(alpha));
    }
  };
  static Fn fn(const Args& a) { return {a.alpha}; }
  static void samples(SampleList& s) { unary_samples<Celu>(s, -3, 3.3); }
};

struct Mish : Unary<Mish> {
  static constexpr std::string_view name = "mish";
  static constexpr std::string_view doc = "x * tanh(softplus(x)), elementwise.";
  static constexpr std::string_view example = "rille.mish(rille.tensor{-1, 0, 1})";

  struct Fn {
    // With e = exp(x), tanh(log(1 + e)) is n / (n + 2), n = e * (e + 2); beyond x = 20 it is 1.
    template <class A>
    RILLE_HD A value(A x) const {
      const A e = math::exp(at_most(x, A(20))), n = e * (e + A(2));
      return x * (n / (n + A(2)));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A e = math::exp(at_most(x, A(20))), n = e * (e + A(2)), t = n / (n + A(2));
      return t + at_most(x, A(20)) * (A(4) * e * (e + A(1)) / ((n + A(2)) * (n + A(2))));
    }
  };
  static void samples(SampleList& s) { unary_samples<Mish>(s, -3, 3); }
};

struct Softplus : Unary<Softplus> {
  struct Args {
    Tensor x;
    double beta = 1, threshold = 20;
  };
  static constexpr std::string_view name = "softplus";
  static constexpr std::string_view doc =
      "log(1 + exp(beta * x)) / beta, and x itself where beta * x passes the threshold.";
  static constexpr std::string_view example = "rille.softplus(rille.tensor{-1, 0, 1})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor"),
                                        field("beta", &Args::beta, "sharpness of the bend"),
                                        field("threshold", &Args::threshold, "where it is a line")};
  static constexpr Autocast autocast = Autocast::f32;

  struct Fn {
    double beta, threshold;
    template <class A>
    RILLE_HD A value(A x) const {
      const A z = x * A(beta);
      const A bend = (at_least(z, A(0)) + math::log1p(math::exp(-math::fabs(z)))) / A(beta);
      return z > A(threshold) ? x : bend;
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A z = x * A(beta);
      return A(1) / (A(1) + math::exp(z > A(threshold) ? A(-HUGE_VAL) : -z));
    }
  };
  static Fn fn(const Args& a) { return {a.beta, a.threshold}; }
  static void samples(SampleList& s) {
    unary_samples<Softplus>(s, -3, 3);
    add_sample<Softplus>(s, {.x = grid({6}, -3, 3.1), .beta = 2, .threshold = 3});
  }
};

struct Logsigmoid : Unary<Logsigmoid> {
  static constexpr std::string_view name = "logsigmoid";
  static constexpr std::string_view doc = "log(sigmoid(x)), elementwise, without overflow.";
  static constexpr std::string_view example = "rille.logsigmoid(rille.tensor{-1, 0, 1})";

  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return at_most(x, A(0)) - math::log1p(math::exp(-math::fabs(x)));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(1) / (A(1) + math::exp(x));
    }
  };
  static void samples(SampleList& s) { unary_samples<Logsigmoid>(s, -3, 3); }
};

struct Softsign : Unary<Softsign> {
  static constexpr std::string_view name = "softsign";
  static constexpr std::string_view doc = "x / (1 + |x|), elementwise.";
  static constexpr std::string_view example = "rille.softsign(rille.tensor{-1, 0, 1})";

  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return x / (A(1) + math::fabs(x));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A r = A(1) / (A(1) + math::fabs(x));
      return r * r;
    }
  };
  static void samples(SampleList& s) { unary_samples<Softsign>(s, -3, 3.3); }
};

struct Tanhshrink : Unary<Tanhshrink> {
  static constexpr std::string_view name = "tanhshrink";
  static constexpr std::string_view doc = "x - tanh(x), elementwise.";
  static constexpr std::string_view example = "rille.tanhshrink(rille.tensor{-1, 0, 1})";

  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return x - math::tanh(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A t = math::tanh(x);
      return t * t;
    }
  };
  static void samples(SampleList& s) { unary_samples<Tanhshrink>(s, -3, 3); }
};

/// Within eps of 0 and 1, where eps is given, x is moved inside and the slope is 0.
struct Logit : Unary<Logit> {
  struct Args {
    Tensor x;
    std::optional<double> eps{};
  };
  static constexpr std::string_view name = "logit";
  static constexpr std::string_view doc = "log(x / (1 - x)), elementwise; eps keeps x off 0 and 1.";
  static constexpr std::string_view example = "rille.logit(rille.tensor{0.25, 0.5})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor"),
                                        field("eps", &Args::eps, "x is clamped to eps .. 1 - eps")};

  struct Fn {
    double eps;  // negative: none
    template <class A>
    RILLE_HD A clamped(A x) const {
      return x < A(eps) ? A(eps) : x > A(1 - eps) ? A(1 - eps) : x;
    }
    template <class A>
    RILLE_HD A value(A x) const {
      const A p = eps < 0 ? x : clamped(x);
      return math::log(p / (A(1) - p));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A p = eps < 0 ? x : clamped(x);
      return (p == x ? A(1) : A(0)) / (p * (A(1) - p));
    }
    template <class A>
    RILLE_HD A times_slope(A dy, A x) const {
      const A p = eps < 0 ? x : clamped(x);
      return (p == x ? dy : A(0)) / p / (A(1) - p);
    }
  };
  static Fn fn(const Args& a) { return {a.eps.value_or(-1)}; }
  static void samples(SampleList& s) {
    unary_samples<Logit>(s, 0.1, 0.9);
    add_sample<Logit>(s, {.x = grid({6}, 0.05, 0.93), .eps = 0.2});
    add_sample<Logit>(s, {.x = grid({6}, 0.05, 0.93), .eps = 0.7});
  }
};

struct Glu {
  struct Args {
    Tensor x;
    Axis dim{-1};
  };
  static constexpr std::string_view name = "glu";
  static constexpr std::string_view doc =
      "The first half of a dim times the sigmoid of its second half.";
  static constexpr std::string_view example = "rille.glu(rille.tensor{1, 2, 0, 0})";
  static constexpr auto fields = Fields{field("x", &Args::x, "of even size along dim"),
                                        field("dim", &Args::dim, "the dim that is halved")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
