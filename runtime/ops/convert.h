// Casts by rule: what t:to(dtype, { saturate, nan, rounding }) does. Apart from the plain cast
// (ops/cast.h), which every mixed-dtype op goes through and which so asks about no rule.
#pragma once
#include "ops/pointwise.h"

namespace rille {

enum class NanRule : int { propagate, error, zero };
constexpr std::array<std::string_view, 3> names_of(NanRule) {
  return {"propagate", "error", "zero"};
}

struct Convert {
  struct Args {
    Tensor x;
    DType dtype = DType::f32;
    bool saturate = false;
    NanRule nan = NanRule::propagate;
    bool overflow = false;
  };
  static constexpr std::string_view name = "convert";
  static constexpr std::string_view doc =
      "x in another dtype, rounded to nearest even; saturate: what is beyond its range, inf too, "
      "becomes its largest finite value, as f8_e4m3, f6 and f4 have it anyway.";
  static constexpr std::string_view example =
      "rille.convert(rille.tensor{1e6, -2}, 'f16', { saturate = true })";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dtype", &Args::dtype, "the dtype wanted").required(),
             field("saturate", &Args::saturate, "keep to the dtype's finite range"),
             field("nan", &Args::nan, "what becomes of nan"),
             field("overflow", &Args::overflow, "inf or nan where the dtype would saturate")};
  static constexpr bool method = false, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Convert>& b);
  static void samples(SampleList& s);
};

/// Throws E_NAN_UNREPRESENTABLE, with the first place, where x holds nan and dtype `to` has none.
void refuse_lost_nan(const Tensor& x, DType to);

/// The same with stochastic rounding.
struct ConvertDrawn {
  struct Args {
    Tensor x;
    DType dtype = DType::f32;
    bool saturate = false;
    NanRule nan = NanRule::propagate;
    bool overflow = false;
    Draw draw = {};
  };
  static constexpr std::string_view name = "convert_drawn";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "x in another float dtype, rounded up or down by chance so that the mean of many casts is x.";
  static constexpr std::string_view example =
      "rille.convert_drawn(rille.tensor{1 + 2 ^ -9}, 'bf16')";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dtype", &Args::dtype, "a float dtype").required(),
             field("saturate", &Args::saturate, "keep to the dtype's finite range"),
             field("nan", &Args::nan, "what becomes of nan"),
             field("overflow", &Args::overflow, "inf or nan where the dtype would saturate"),
             field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<ConvertDrawn>& b);
  static void samples(SampleList& s);
};

}  // namespace rille
