// Ops that only look: results share storage with the argument and follow its version.
#pragma once
#include "ops/op.h"

namespace rille {

struct Squeeze {
  struct Args { Tensor x; std::optional<Axis> dim; };
  static constexpr std::string_view name = "squeeze";
  static constexpr std::string_view doc = "x without dims of size 1: all of them, or the one named if its size is 1.";
  static constexpr std::string_view example = "rille.zeros(1, 3, 1):squeeze()";
  static constexpr auto fields = std::tuple{field("x", &Args::x, "any tensor"),
                                            field("dim", &Args::dim, "default: every dim of size 1")};
  static View view(const Args& a);
  static Args grad(const Back<Squeeze>& b);
  static void samples(SampleList& s);
};

/// x with that shape, as a view where strides allow, else copied. -1 in the shape is worked out.
Tensor reshape(const Tensor& x, const Shape& shape);

}  // namespace rille
