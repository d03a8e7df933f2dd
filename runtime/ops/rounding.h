// Signs, whole numbers and other functions that are pieces of lines. Integers stay integers.
#pragma once
#include "ops/pointwise.h"
#include "ops/wrap.h"

namespace rille {

struct Abs : Unary<Abs> {
  static constexpr std::string_view name = "abs";
  static constexpr std::string_view doc = "The absolute value of x; its slope at 0 is 0.";
  static constexpr std::string_view example = "rille.abs(rille.tensor{-1.5, 0.25, 2.5})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::fabs(x);
    }
    RILLE_HD int64_t value(int64_t x) const { return x < 0 ? wrap_sub(int64_t{0}, x) : x; }
    template <class A>
    RILLE_HD A slope(A x) const {
      return A(x > A(0)) - A(x < A(0));
    }
  };
  static void samples(SampleList& s) { unary_samples<Abs>(s, -2, 2.1); }
};

struct Sign : Unary<Sign> {
  static constexpr std::string_view name = "sign";
  static constexpr std::string_view doc = "-1, 0 or 1 with the sign of x; nan stays nan.";
  static constexpr std::string_view example = "rille.sign(rille.tensor{-1.5, 0.25, 2.5})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return x != x ? x : static_cast<A>(A(x > A(0)) - A(x < A(0)));
    }
  };
  static void samples(SampleList& s) { unary_samples<Sign>(s, -2, 2.1); }
};

struct Floor : Unary<Floor> {
  static constexpr std::string_view name = "floor";
  static constexpr std::string_view doc = "The largest whole number that is at most x.";
  static constexpr std::string_view example = "rille.floor(rille.tensor{-1.5, 0.25, 2.5})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::floor(x);
    }
    RILLE_HD int64_t value(int64_t x) const { return x; }
  };
  static void samples(SampleList& s) { unary_samples<Floor>(s, -2.4, 2.3); }
};

struct Ceil : Unary<Ceil> {
  static constexpr std::string_view name = "ceil";
  static constexpr std::string_view doc = "The smallest whole number that is at least x.";
  static constexpr std::string_view example = "rille.ceil(rille.tensor{-1.5, 0.25, 2.5})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::ceil(x);
    }
    RILLE_HD int64_t value(int64_t x) const { return x; }
  };
  static void samples(SampleList& s) { unary_samples<Ceil>(s, -2.4, 2.3); }
};

struct Trunc : Unary<Trunc> {
  static constexpr std::string_view name = "trunc";
  static constexpr std::string_view doc = "x without its fraction.";
  static constexpr std::string_view example = "rille.trunc(rille.tensor{-1.5, 0.25, 2.5})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return math::trunc(x);
    }
    RILLE_HD int64_t value(int64_t x) const { return x; }
  };
  static void samples(SampleList& s) { unary_samples<Trunc>(s, -2.4, 2.3); }
};

struct Round : Unary<Round> {
  struct Args {
    Tensor x;
    int64_t decimals = 0;
  };
  static constexpr std::string_view name = "round";
  static constexpr std::string_view doc =
      "x rounded to that many decimals, halves to the even neighbour.";
  static constexpr std::string_view example =
      "rille.round(rille.tensor{2.5, 3.14159}, { decimals = 2 })";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("decimals", &Args::decimals, "negative: tens, hundreds")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    double scale;
    template <class A>
    RILLE_HD A value(A x) const {
      if (scale == 1) return math::rint(x);
      // In double: the product of a float might be rounded onto a half, or be infinite. Doubles
      // from 2^53 on have no decimals to lose.
      const double wide = x;
      if (scale > 1 && !(math::fabs(wide) < 0x1p53)) return x;
      return static_cast<A>(scale > 1 ? math::rint(wide * scale) / scale
                                      : math::rint(wide / (1 / scale)) * (1 / scale));
    }
    RILLE_HD int64_t value(int64_t x) const { return x; }
  };
  static Fn fn(const Args& a) { return {std::pow(10.0, static_cast<double>(a.decimals))}; }
  static void samples(SampleList& s) {
    unary_samples<Round>(s, -2.4, 2.3);
    add_sample<Round>(s, {.x = grid({5}, -2, 2.31), .decimals = 1});
  }
};

struct Frac : Unary<Frac> {
  static constexpr std::string_view name = "frac";
  static constexpr std::string_view doc = "The fraction of x, with its sign.";
  static constexpr std::string_view example = "rille.frac(rille.tensor{-1.5, 0.25, 2.5})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return x - math::trunc(x);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x == x ? A(1) : x;
    }
  };
  static void samples(SampleList& s) { unary_samples<Frac>(s, -2.4, 2.3); }
};

struct Deg2rad : Unary<Deg2rad> {
  static constexpr std::string_view name = "deg2rad";
  static constexpr std::string_view doc = "Degrees as radians.";
  static constexpr std::string_view example = "rille.deg2rad(rille.tensor{90, 180})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return x * A(0.017453292519943295);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x == x ? A(0.017453292519943295) : x;
    }
  };
  static void samples(SampleList& s) { unary_samples<Deg2rad>(s, -90, 180); }
};

struct Rad2deg : Unary<Rad2deg> {
  static constexpr std::string_view name = "rad2deg";
  static constexpr std::string_view doc = "Radians as degrees.";
  static constexpr std::string_view example = "rille.rad2deg(rille.tensor{1, 2})";
  struct Fn {
    template <class A>
    RILLE_HD A value(A x) const {
      return x * A(57.29577951308232);
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x == x ? A(57.29577951308232) : x;
    }
  };
  static void samples(SampleList& s) { unary_samples<Rad2deg>(s, -2, 3); }
};

/// What nan and the infinities become; they get no gradient.
struct NanToNum : Unary<NanToNum> {
  struct Args {
    Tensor x;
    double nan = 0;
    std::optional<double> posinf{}, neginf{};
  };
  static constexpr std::string_view name = "nan_to_num";
  static constexpr std::string_view doc =
      "x with nan, infinity and minus infinity replaced; the infinities by the largest finite "
      "numbers.";
  static constexpr std::string_view example =
      "rille.nan_to_num(rille.tensor{1, 0 / 0, 1 / 0}, { posinf = 9 })";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("nan", &Args::nan, "in place of nan"),
      field("posinf", &Args::posinf, "in place of infinity; default: the largest number"),
      field("neginf", &Args::neginf, "in place of minus infinity; default: the least number")};
  static constexpr bool keeps_integers = true;
  struct Fn {
    double nan, posinf, neginf;
    template <class A>
    RILLE_HD A value(A x) const {
      if (x != x) return A(nan);
      return x == A(HUGE_VAL) ? A(posinf) : x == A(-HUGE_VAL) ? A(neginf) : x;
    }
    RILLE_HD int64_t value(int64_t x) const { return x; }
    template <class A>
    RILLE_HD A slope(A x) const {
      return x - x == A(0) ? A(1) : A(0);
    }
  };
  static Fn fn(const Args& a);
  static void samples(SampleList& s);
};

struct Positive {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "positive";
  static constexpr std::string_view doc = "x itself, as the unary plus gives it.";
  static constexpr std::string_view example = "rille.positive(rille.tensor{1, -2})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static Tensor compose(const Args& a) { return a.x; }
  static void samples(SampleList& s) { unary_samples<Positive>(s, -2, 2); }
};

}  // namespace rille
