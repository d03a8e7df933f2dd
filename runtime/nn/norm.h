// Normalisation over the last dims of each element of a batch: the same in training and after.
#pragma once
#include "nn/layer.h"
#include "ops/op.h"

namespace rille::nn {

struct LayerNorm {
  struct Options {
    Sizes shape;
    double eps = 1e-5;
    bool affine = true, bias = true;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "LayerNorm";
  static constexpr std::string_view doc =
      "(x - mean) / sqrt(variance + eps) * weight + bias, over the last dims.";
  static constexpr auto fields =
      Fields{field("shape", &Options::shape, "sizes of the last dims").required(),
             field("eps", &Options::eps, "added to the variance"),
             field("affine", &Options::affine, "has weight and bias"),
             field("bias", &Options::bias, "has the bias, where affine"),
             field("device", &Options::device, "default: the default device"),
             field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;
  Tensor weight, bias;  // both of `shape`

  explicit LayerNorm(const Options& o);
  Slots tensors() { return {parameter("weight", weight), parameter("bias", bias)}; }
  Tensor forward(const Tensor& x) const;
};

struct RMSNorm {
  struct Options {
    Sizes shape;
    std::optional<double> eps = {};
    bool affine = true;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "RMSNorm";
  static constexpr std::string_view doc =
      "x / sqrt(mean of squares + eps) * weight, over the last dims.";
  static constexpr auto fields =
      Fields{field("shape", &Options::shape, "sizes of the last dims").required(),
             field("eps", &Options::eps, "default: the machine epsilon of x"),
             field("affine", &Options::affine, "has a weight"),
             field("device", &Options::device, "default: the default device"),
             field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;
  Tensor weight;  // of `shape`

  explicit RMSNorm(const Options& o);
  Slots tensors() { return {parameter("weight", weight)}; }
  Tensor forward(const Tensor& x) const;
};

}  // namespace rille::nn
