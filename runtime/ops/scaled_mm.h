// The product of two matrices of narrow floats with their scales. Codes are decoded to f32, which
// holds each exactly, products and sums happen there, and the result is rounded once. Gradients are
// those of the composition, in f32.
#pragma once
#include "ops/op.h"

namespace rille {

struct ScaledMm {
  struct Args {
    Tensor a, b;
    std::optional<Tensor> scale_a = {}, scale_b = {}, bias = {};
    std::optional<DType> dtype = {};
    std::optional<Tensor> global_scale_a = {}, global_scale_b = {};
  };
  static constexpr std::string_view name = "scaled_mm";
  static constexpr std::string_view doc =
      "(a * scale_a) @ (b * scale_b) + bias for matrices of floats of 32 bits or fewer, any two "
      "formats; products and sums in f32, rounded once. A scale is one number, f32 for each row of "
      "a (column of b), or along k f8_e8m0 for blocks of 32, f8_e4m3 for blocks of 16 or f32 for "
      "blocks that divide k.";
  static constexpr std::string_view example =
      "rille.scaled_mm(rille.ones(2, 32):to 'f8_e4m3', rille.ones(32, 3):to 'f8_e5m2', "
      "{ scale_a = 0.5, dtype = 'f32' })";
  static constexpr auto fields =
      Fields{field("a", &Args::a, "[m, k]"),
             field("b", &Args::b, "[k, n]"),
             field("scale_a", &Args::scale_a, "for all of a, [m, 1], or [m, blocks]").number(),
             field("scale_b", &Args::scale_b, "for all of b, [1, n], or [blocks, n]").number(),
             field("bias", &Args::bias, "[n]"),
             field("dtype", &Args::dtype, "a float; default: that of a"),
             field("global_scale_a", &Args::global_scale_a, "one number for all of a").number(),
             field("global_scale_b", &Args::global_scale_b, "one number for all of b").number()};
  static constexpr bool narrow = true;
  static Meta infer(const Args& a);
  static double flops(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
