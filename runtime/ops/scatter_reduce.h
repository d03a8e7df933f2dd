// Scattered values reduced on the places where they fall.
#pragma once
#include "ops/op.h"

namespace rille {

struct ScatterReduce {
  enum class Reduce { sum, prod, mean, amax, amin };
  struct Args {
    Tensor x;
    Axis dim;
    Tensor index, source;
    Reduce reduce = Reduce::sum;
    bool include_self = true;
  };
  static constexpr std::string_view name = "scatter_reduce";
  static constexpr std::string_view doc =
      "What falls on each place is reduced, together with what x has there unless include_self is "
      "false.";
  static constexpr std::string_view example =
      "rille.zeros(3):scatter_reduce(1, rille.tensor({0, 0, 2}, { dtype = 'i64' }), rille.ones(3), "
      "'mean')";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim that ids address").required(),
             field("index", &Args::index, "ids from 0; as many dims as x"),
             field("source", &Args::source, "values in the places of index"),
             field("reduce", &Args::reduce, "how"),
             field("include_self", &Args::include_self, "x takes part")};
  static constexpr bool in_place = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static uint64_t saves(const Args& a, uint64_t needs);
  static Args grad(const Back<ScatterReduce>& b);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 5> names_of(ScatterReduce::Reduce) {
  return {"sum", "prod", "mean", "amax", "amin"};
}

}  // namespace rille
