// Tensors from nothing: constants and ranges. Random ones are in ops/random.h.
#pragma once
#include "ops/op.h"

namespace rille {

struct Full {
  struct Args {
    Sizes shape;
    double value = 0;
    std::optional<DType> dtype;
    std::optional<Device> device;
  };
  static constexpr std::string_view name = "full";
  static constexpr std::string_view doc = "A tensor of that shape, every element the same value.";
  static constexpr std::string_view example = "rille.full({2, 3}, 7)";
  static constexpr auto fields = std::tuple{
      field("shape", &Args::shape, "sizes").required(), field("value", &Args::value, "of every element").required(),
      field("dtype", &Args::dtype, "default: the default dtype"), field("device", &Args::device, "default: the default device")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

/// Fills `t` in place with a value, outside of every graph.
void fill(const Tensor& t, double value);
Tensor full(const Shape& shape, double value, DType dtype, Device device = {});
Tensor zeros_like(const Tensor& t);
Tensor ones_like(const Tensor& t);

}  // namespace rille
