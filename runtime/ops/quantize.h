// Floats as codes of eight bits or fewer, with scales that bring them into the format's range, and
// back. Values are divided in f32 and rounded once, to nearest even; finite ones end at the largest
// of the format, nan and infinities stay to be seen (ADR 0018). Gradients pass rounding as casts
// have it, straight through.
#pragma once
#include "ops/op.h"

namespace rille {

/// What shares a scale.
enum class Granularity : int { tensor, row, block };
constexpr std::array<std::string_view, 3> names_of(Granularity) {
  return {"tensor", "row", "block"};
}

struct Quantize {
  struct Args {
    Tensor x;
    DType dtype = DType::f8_e4m3;
    Granularity per = Granularity::tensor;
    std::optional<int64_t> block = {};
    std::optional<Tensor> scale = {}, global_scale = {};
  };
  struct Out {
    Tensor q, scale, global_scale;
  };
  static constexpr std::string_view name = "quantize";
  static constexpr std::string_view doc =
      "x as codes of a dtype of eight bits or fewer, and the scales to multiply them with: f32 for "
      "a tensor or for each row (along the last dim), f8_e8m0 for blocks of 32, f8_e4m3 and a "
      "global f32 scale for blocks of 16, f32 for blocks of another size. The global scale is 1 "
      "elsewhere.";
  static constexpr std::string_view example =
      "rille.quantize(rille.randn(4, 64), 'f8_e4m3', { per = 'row' })";
  static constexpr std::array<std::string_view, 3> result_names{"q", "scale", "global_scale"};
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any float tensor"),
      field("dtype", &Args::dtype, "f8_e4m3, f8_e5m2, f6_e3m2, f6_e2m3 or f4_e2m1").required(),
      field("per", &Args::per, "what shares a scale"),
      field("block", &Args::block, "elements of a block; default: 32, for f4_e2m1 16"),
      field("scale", &Args::scale, "one that is known; default: from the largest values").number(),
      field("global_scale", &Args::global_scale, "one that goes with such a scale").number()};
  static constexpr bool method = false, narrow = true;
  static std::array<Meta, 3> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct Dequantize {
  struct Args {
    Tensor x, scale;
    std::optional<Tensor> global_scale = {};
    DType dtype = DType::f32;
  };
  static constexpr std::string_view name = "dequantize";
  static constexpr std::string_view doc =
      "x times its scales, the results of quantize in their order; in f32, rounded once.";
  static constexpr std::string_view example =
      "rille.dequantize(rille.quantize(rille.randn(4, 64), 'f4_e2m1', { per = 'block' }))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"),
             field("scale", &Args::scale, "for all of x, for rows, or for blocks of rows").number(),
             field("global_scale", &Args::global_scale, "for all of x").number(),
             field("dtype", &Args::dtype, "of the result")};
  static constexpr bool method = false, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AmaxScale {
  struct Args {
    Tensor x;
    DType dtype = DType::f8_e4m3;
    bool power_of_two = false;
  };
  static constexpr std::string_view name = "amax_scale";
  static constexpr std::string_view doc =
      "What x is multiplied with to fill the range of a dtype: its largest finite value over the "
      "largest magnitude of x; 1 where x is 0, nan where x is not finite.";
  static constexpr std::string_view example = "rille.amax_scale(rille.randn(4, 64), 'f8_e4m3')";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any float tensor"), field("dtype", &Args::dtype, "a float").required(),
      field("power_of_two", &Args::power_of_two, "rounded down to one")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
