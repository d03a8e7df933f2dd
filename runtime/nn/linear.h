// Layers that multiply by a matrix, and the one that scales negative values.
#pragma once
#include "nn/layer.h"
#include "ops/op.h"

namespace rille::nn {

struct Linear {
  struct Options {
    int64_t in = 0, out = 0;
    bool bias = true;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "Linear";
  static constexpr std::string_view doc = "x @ weight^T + bias, over the last dim of x.";
  static constexpr auto fields =
      Fields{field("in", &Options::in, "size of the last dim of x").required(),
             field("out", &Options::out, "size of the last dim of the result").required(),
             field("bias", &Options::bias, "adds a vector"),
             field("device", &Options::device, "default: the default device"),
             field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;
  Tensor weight, bias;  // [out, in], [out]

  explicit Linear(const Options& o);
  Slots tensors() { return {parameter("weight", weight), parameter("bias", bias)}; }
  Tensor forward(const Tensor& x) const;
};

struct Bilinear {
  struct Options {
    int64_t in1 = 0, in2 = 0, out = 0;
    bool bias = true;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  struct Inputs {
    Tensor x, y;
  };
  static constexpr std::string_view name = "Bilinear";
  static constexpr std::string_view doc =
      "x^T weight[k] y + bias[k] for each k, over the last dims.";
  static constexpr auto fields =
      Fields{field("in1", &Options::in1, "size of the last dim of x").required(),
             field("in2", &Options::in2, "size of the last dim of y").required(),
             field("out", &Options::out, "size of the last dim of the result").required(),
             field("bias", &Options::bias, "adds a vector"),
             field("device", &Options::device, "default: the default device"),
             field("dtype", &Options::dtype, "default: the default dtype")};
  static constexpr auto input_fields =
      Fields{field("x", &Inputs::x, "[..., in1]"), field("y", &Inputs::y, "[..., in2]")};

  Options options;
  Tensor weight, bias;  // [out, in1, in2], [out]

  explicit Bilinear(const Options& o);
  Slots tensors() { return {parameter("weight", weight), parameter("bias", bias)}; }
  Tensor forward(const Inputs& i) const;
};

struct PReLU {
  struct Options {
    int64_t count = 1;
    double init = 0.25;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "PReLU";
  static constexpr std::string_view doc = "x where it is positive, else weight * x.";
  static constexpr auto fields =
      Fields{field("count", &Options::count, "weights: 1, or one for each channel (dim 2)"),
             field("init", &Options::init, "what the weights begin with"),
             field("device", &Options::device, "default: the default device"),
             field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;
  Tensor weight;  // [count]

  explicit PReLU(const Options& o);
  Slots tensors() { return {parameter("weight", weight)}; }
  Tensor forward(const Tensor& x) const;
};

}  // namespace rille::nn
