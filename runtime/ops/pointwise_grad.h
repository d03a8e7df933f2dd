// Gradients of functions of two tensors and more, each in one pass. Floats below f64 are computed
// in double and rounded once, so that no step in between leaves the range of the result: as
// products and quotients of tensors they would, in f16 from 256 on.
#pragma once
#include "ops/pointwise.h"

namespace rille {

/// scale * x * y / z^power: gradients of quotients.
struct Ratio {
  struct Args {
    Tensor x, y, z;
    int64_t power = 1;
    double scale = 1;
    bool or_zero = false;
  };
  static constexpr std::string_view name = "ratio";
  static constexpr std::string_view doc = "scale * x * y / z^power.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor").number().saved(),
                                        field("y", &Args::y, "any float tensor").number().saved(),
                                        field("z", &Args::z, "any float tensor").number().saved(),
                                        field("power", &Args::power, "1 or 2"),
                                        field("scale", &Args::scale, "a factor"),
                                        field("or_zero", &Args::or_zero, "0 where z is 0")};
  static constexpr bool method = false, internal = true, broadcasts = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& out);
  static Args grad(const Back<Ratio>& b);
  static void samples(SampleList& s);
};

/// dy * k * x^(k - 1), k being a number or a tensor: the gradient of pow to its base.
struct PowerSlope {
  struct Args {
    Tensor x, k, dy;
  };
  static constexpr std::string_view name = "power_slope";
  static constexpr std::string_view doc = "dy * k * x^(k - 1), and 0 where k is 0.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor").number().saved(),
                                        field("k", &Args::k, "the exponent").number().saved(),
                                        field("dy", &Args::dy, "gradient of the result").saved()};
  static constexpr bool method = false, internal = true, broadcasts = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& out);
  static Args grad(const Back<PowerSlope>& b);
  static void samples(SampleList& s);
};

/// dy * y / (x^2 + y^2), and 0 at the origin: the gradient of atan2.
struct Turn {
  struct Args {
    Tensor x, y, dy;
  };
  static constexpr std::string_view name = "turn";
  static constexpr std::string_view doc = "dy * y / (x * x + y * y), and 0 where both are 0.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor").number().saved(),
                                        field("y", &Args::y, "any float tensor").number().saved(),
                                        field("dy", &Args::dy, "gradient of the result").saved()};
  static constexpr bool method = false, internal = true, broadcasts = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& out);
  static Args grad(const Back<Turn>& b);
  static void samples(SampleList& s);
};
Tensor turn(const Tensor& x, const Tensor& y, const Tensor& dy);

/// The part of dy that x gets where base^x and base^y are added: dy / (1 + base^(y - x)).
struct ExponentialShare {
  struct Args {
    Tensor x, y, dy;
    double log_base = 1;
  };
  static constexpr std::string_view name = "exponential_share";
  static constexpr std::string_view doc = "dy / (1 + exp(log_base * (y - x))).";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor").number().saved(),
             field("y", &Args::y, "any float tensor").number().saved(),
             field("dy", &Args::dy, "gradient of the result").saved(),
             field("log_base", &Args::log_base, "the logarithm of the base")};
  static constexpr bool method = false, internal = true, broadcasts = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& out);
  static Args grad(const Back<ExponentialShare>& b);
  static void samples(SampleList& s);
};
Tensor exponential_share(const Tensor& x, const Tensor& y, const Tensor& dy, double log_base);

/// The part of dy that x gets of the larger or smaller of x and y: half where both are equal. Where
/// one is nan, both get dy, of fmax and fmin the other one.
struct ExtremeShare {
  enum class Of { max, min, fmax, fmin };
  struct Args {
    Tensor x, y, dy;
    Of of = Of::max;
    bool second = false;
  };
  static constexpr std::string_view name = "extreme_share";
  static constexpr std::string_view doc = "The gradient of maximum, minimum, fmax and fmin.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor").number().saved(),
                                        field("y", &Args::y, "any tensor").number().saved(),
                                        field("dy", &Args::dy, "gradient of the result"),
                                        field("of", &Args::of, "the function"),
                                        field("second", &Args::second, "the part of y")};
  static constexpr bool method = false, internal = true, broadcasts = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& out);
  static Args grad(const Back<ExtremeShare>& b);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 4> names_of(ExtremeShare::Of) {
  return {"max", "min", "fmax", "fmin"};
}

/// The part of dy that x, low or high gets of x between the two. Numbers as limits take none, and x
/// has none at them; tensors take half where x is equal to one of them.
struct ClampShare {
  enum class Part { x, low, high };
  struct Args {
    Tensor x, low, high, dy;
    Part part = Part::x;
    bool numbers = false;
  };
  static constexpr std::string_view name = "clamp_share";
  static constexpr std::string_view doc = "The gradient of clamp.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor").saved(),
                                        field("low", &Args::low, "lower limit").number().saved(),
                                        field("high", &Args::high, "upper limit").number().saved(),
                                        field("dy", &Args::dy, "gradient of the result"),
                                        field("part", &Args::part, "whose gradient"),
                                        field("numbers", &Args::numbers, "the limits are numbers")};
  static constexpr bool method = false, internal = true, broadcasts = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& out);
  static Args grad(const Back<ClampShare>& b);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 3> names_of(ClampShare::Part) {
  return {"x", "low", "high"};
}

}  // namespace rille
