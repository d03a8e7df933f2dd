// Activations made of straight lines, or of pieces of parabolas: value and slope side by side. The
// smooth ones are in ops/activation.h.
#pragma once
#include "ops/pointwise.h"
#include "ops/wrap.h"

namespace rille {

struct Relu : Unary<Relu> {
  static constexpr std::string_view name = "relu";
  static constexpr std::string_view doc = "The larger of x and 0, elementwise.";
  static constexpr std::string_view example = "rille.relu(rille.tensor{-1, 0, 1})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true, saves_output = true;

  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return at_least(x, A(0));
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return y > A(0) ? A(1) : A(0);
    }
  };
  static void samples(SampleList& s) { unary_samples<Relu>(s, -3, 3.3); }
};

struct LeakyRelu : Unary<LeakyRelu> {
  struct Args {
    Tensor x;
    double negative_slope = 0.01;
  };
  static constexpr std::string_view name = "leaky_relu";
  static constexpr std::string_view doc = "x where it is positive, else negative_slope * x.";
  static constexpr std::string_view example = "rille.leaky_relu(rille.tensor{-1, 0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"),
             field("negative_slope", &Args::negative_slope, "below zero")};

  struct Fn {
    double negative_slope;
    template <class A>
    RILLE_HD A value(A x) const {
      return x * slope(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x > A(0) ? A(1) : A(negative_slope);
    }
  };
  static Fn fn(const Args& a) { return {a.negative_slope}; }
  static void samples(SampleList& s) { unary_samples<LeakyRelu>(s, -3, 3.3); }
};

struct Relu6 : Unary<Relu6> {
  static constexpr std::string_view name = "relu6";
  static constexpr std::string_view doc = "x between 0 and 6, elementwise.";
  static constexpr std::string_view example = "rille.relu6(rille.tensor{-1, 0, 1})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true, saves_output = true;

  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return at_most(at_least(x, A(0)), A(6));
    }
    template <class A>
    RILLE_HD A slope_of_output(A y) const {
      return y > A(0) && y < A(6) ? A(1) : A(0);
    }
  };
  static void samples(SampleList& s) { unary_samples<Relu6>(s, -3, 8.9); }
};

struct Hardtanh : Unary<Hardtanh> {
  struct Args {
    Tensor x;
    double min_val = -1, max_val = 1;
  };
  static constexpr std::string_view name = "hardtanh";
  static constexpr std::string_view doc = "x between min_val and max_val, elementwise.";
  static constexpr std::string_view example = "rille.hardtanh(rille.tensor{-1, 0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("min_val", &Args::min_val, "lower limit"),
             field("max_val", &Args::max_val, "upper limit")};
  static constexpr bool keeps_integers = true;

  struct Fn {
    double lo, hi;
    template <class A>
    RILLE_HD A value(A x) const {
      return at_most(at_least(x, limit_as<A>(lo)), limit_as<A>(hi));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x > A(lo) && x < A(hi) ? A(1) : A(0);
    }
  };
  static Fn fn(const Args& a) { return {a.min_val, a.max_val}; }
  static void samples(SampleList& s) { unary_samples<Hardtanh>(s, -3, 3); }
};

struct Hardsigmoid : Unary<Hardsigmoid> {
  static constexpr std::string_view name = "hardsigmoid";
  static constexpr std::string_view doc = "x / 6 + 1 / 2 between 0 and 1, elementwise.";
  static constexpr std::string_view example = "rille.hardsigmoid(rille.tensor{-1, 0, 1})";

  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return at_most(at_least(x + A(3), A(0)), A(6)) / A(6);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x > A(-3) && x < A(3) ? A(1) / A(6) : A(0);
    }
  };
  static void samples(SampleList& s) { unary_samples<Hardsigmoid>(s, -5, 5); }
};

struct Hardswish : Unary<Hardswish> {
  static constexpr std::string_view name = "hardswish";
  static constexpr std::string_view doc = "x * hardsigmoid(x), elementwise.";
  static constexpr std::string_view example = "rille.hardswish(rille.tensor{-1, 0, 1})";

  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return x * (at_most(at_least(x + A(3), A(0)), A(6)) / A(6));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x >= A(3) ? A(1) : (x > A(-3) ? x / A(3) + A(0.5) : A(0));
    }
  };
  static void samples(SampleList& s) { unary_samples<Hardswish>(s, -5, 5); }
};

struct Softshrink : Unary<Softshrink> {
  struct Args {
    Tensor x;
    double lambd = 0.5;
  };
  static constexpr std::string_view name = "softshrink";
  static constexpr std::string_view doc = "x moved towards 0 by lambd, 0 within lambd of it.";
  static constexpr std::string_view example = "rille.softshrink(rille.tensor{-1, 0, 1})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor"),
                                        field("lambd", &Args::lambd, "half the width of the zero")};

  struct Fn {
    double lambd;
    template <class A>
    RILLE_HD A value(A x) const {
      return x - at_most(at_least(x, A(-lambd)), A(lambd));
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x > A(lambd) || x < A(-lambd) ? A(1) : A(0);
    }
  };
  static Fn fn(const Args& a) { return {a.lambd}; }
  static void samples(SampleList& s) { unary_samples<Softshrink>(s, -2, 2.1); }
};

struct Hardshrink : Unary<Hardshrink> {
  struct Args {
    Tensor x;
    double lambd = 0.5;
  };
  static constexpr std::string_view name = "hardshrink";
  static constexpr std::string_view doc = "x, but 0 within lambd of 0.";
  static constexpr std::string_view example = "rille.hardshrink(rille.tensor{-1, 0, 1})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor"),
                                        field("lambd", &Args::lambd, "half the width of the zero")};

  struct Fn {
    double lambd;
    template <class A>
    RILLE_HD A value(A x) const {
      return x >= A(-lambd) && x <= A(lambd) ? A(0) : x;
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x >= A(-lambd) && x <= A(lambd) ? A(0) : A(1);
    }
  };
  static Fn fn(const Args& a) { return {a.lambd}; }
  static void samples(SampleList& s) { unary_samples<Hardshrink>(s, -2, 2.1); }
};

struct Threshold : Unary<Threshold> {
  struct Args {
    Tensor x;
    double threshold = 0, value = 0;
  };
  static constexpr std::string_view name = "threshold";
  static constexpr std::string_view doc = "x where it is above threshold, else value.";
  static constexpr std::string_view example = "rille.threshold(rille.tensor{-1, 0, 1}, 0.5, 20)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("threshold", &Args::threshold, "what x is compared with").required(),
             field("value", &Args::value, "the replacement").required()};
  static constexpr bool keeps_integers = true;

  struct Fn {
    double limit, low;
    template <class A>
    RILLE_HD A value(A x) const {
      return x <= limit_as<A>(limit) ? limit_as<A>(low) : x;
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x <= A(limit) ? A(0) : A(1);
    }
  };
  static Fn fn(const Args& a) { return {a.threshold, a.value}; }
  static void samples(SampleList& s) {
    add_sample<Threshold>(s, {.x = grid({3, 4}, -2, 2.1), .threshold = 0.5, .value = -1});
    add_sample<Threshold>(s, {.x = strided(grid({3, 4}, -2, 2.1)), .threshold = -0.5, .value = 2});
  }
};

struct Rrelu : Unary<Rrelu> {
  struct Args {
    Tensor x;
    double lower = 0.125, upper = 1.0 / 3;
  };
  static constexpr std::string_view name = "rrelu";
  static constexpr std::string_view doc =
      "leaky_relu with the mean of lower and upper as its slope: what the random form is when not "
      "training.";
  static constexpr std::string_view example = "rille.rrelu(rille.tensor{-1, 0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("lower", &Args::lower, "least slope"),
             field("upper", &Args::upper, "largest slope")};

  struct Fn {
    double leak;
    template <class A>
    RILLE_HD A value(A x) const {
      return x * slope(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x > A(0) ? A(1) : A(leak);
    }
  };
  static Fn fn(const Args& a) { return {(a.lower + a.upper) / 2}; }
  static void samples(SampleList& s) { unary_samples<Rrelu>(s, -3, 3.3); }
};

struct Prelu {
  struct Args {
    Tensor x, weight;
  };
  static constexpr std::string_view name = "prelu";
  static constexpr std::string_view doc =
      "x where it is positive, else weight * x, with one weight for all or one for each channel "
      "(dim 2).";
  static constexpr std::string_view example =
      "rille.prelu(rille.tensor{-1, 2}, rille.tensor{0.25})";
  static constexpr auto fields = Fields{field("x", &Args::x, "[batch, channels, ...] or any"),
                                        field("weight", &Args::weight, "[1] or [channels]")};
  static constexpr Autocast autocast = Autocast::lower;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// prelu with the weight already in a shape that broadcasts.
struct PreluBroadcast : Binary<PreluBroadcast> {
  static constexpr std::string_view name = "prelu_broadcast";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "x where it is positive, else y * x.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor").saved(),
                                        field("y", &Args::y, "the slope below zero").saved()};
  static constexpr bool method = false, in_place = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return wrap_mul(x, x > A(0) ? A(1) : y);
    }
  };
  static Args grad(const Back<PreluBroadcast>& b);
  static void samples(SampleList& s);
};

}  // namespace rille
