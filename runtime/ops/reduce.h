// Reductions over dims.
#pragma once
#include "ops/op.h"

namespace rille {

struct Sum {
  struct Args { Tensor x; Axes dims = {}; bool keepdim = false; std::optional<DType> dtype = {}; };
  static constexpr std::string_view name = "sum";
  static constexpr std::string_view doc = "The sum over all elements, or over the dims given. Integers sum in i64.";
  static constexpr std::string_view example = "rille.sum(rille.ones(2, 3), 1)";
  static constexpr auto fields = std::tuple{
      field("x", &Args::x, "any tensor"), field("dims", &Args::dims, "default: all"),
      field("keepdim", &Args::keepdim, "keep reduced dims with size 1"),
      field("dtype", &Args::dtype, "of the result; cast before summing")};
  static constexpr Autocast autocast = Autocast::f32_out;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Sum>& b);
  static void samples(SampleList& s);
};

}  // namespace rille
