// Convolutions of 1, 2 and 3 dimensions and their transposes.
#pragma once
#include "nn/layer.h"
#include "ops/op.h"

namespace rille::nn {

/// What stands around an image.
enum class PaddingMode { zeros, reflect, replicate, circular };
constexpr std::array<std::string_view, 4> names_of(PaddingMode) {
  return {"zeros", "reflect", "replicate", "circular"};
}

template <int N>
struct Conv {
  struct Options {
    int64_t in = 0, out = 0;
    PerDim kernel, stride = {1};
    Padding padding = {};
    PerDim dilation = {1};
    int64_t groups = 1;
    bool bias = true;
    PaddingMode padding_mode = PaddingMode::zeros;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = N == 1 ? "Conv1d" : N == 2 ? "Conv2d" : "Conv3d";
  static constexpr std::string_view doc =
      "The convolution (cross-correlation) of x with trained kernels.";
  static constexpr auto fields =
      Fields{field("in", &Options::in, "channels of x").required(),
             field("out", &Options::out, "channels of the result").required(),
             field("kernel", &Options::kernel, "sizes of a kernel").required(),
             field("stride", &Options::stride, "from window to window"),
             field("padding", &Options::padding, "what is added on both sides, 'same' or 'valid'"),
             field("dilation", &Options::dilation, "from element to element of a window"),
             field("groups", &Options::groups, "of channels that don't mix"),
             field("bias", &Options::bias, "adds a number for each channel"),
             field("padding_mode", &Options::padding_mode, "what padding is made of"),
             field("device", &Options::device, "default: the default device"),
             field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;
  Tensor weight, bias;  // [out, in / groups, kernel...], [out]

  explicit Conv(const Options& o);
  Slots tensors() { return {parameter("weight", weight), parameter("bias", bias)}; }
  Tensor forward(const Tensor& x) const;
};

template <int N>
struct ConvTranspose {
  struct Options {
    int64_t in = 0, out = 0;
    PerDim kernel, stride = {1}, padding = {0}, output_padding = {0}, dilation = {1};
    int64_t groups = 1;
    bool bias = true;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = N == 1   ? "ConvTranspose1d"
                                           : N == 2 ? "ConvTranspose2d"
                                                    : "ConvTranspose3d";
  static constexpr std::string_view doc = "The transpose of a convolution with trained kernels.";
  static constexpr auto fields =
      Fields{field("in", &Options::in, "channels of x").required(),
             field("out", &Options::out, "channels of the result").required(),
             field("kernel", &Options::kernel, "sizes of a kernel").required(),
             field("stride", &Options::stride, "from window to window of the result"),
             field("padding", &Options::padding, "what is cut off on both sides of the result"),
             field("output_padding", &Options::output_padding, "more of the result at its end"),
             field("dilation", &Options::dilation, "from element to element of a window"),
             field("groups", &Options::groups, "of channels that don't mix"),
             field("bias", &Options::bias, "adds a number for each channel"),
             field("device", &Options::device, "default: the default device"),
             field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;
  Tensor weight, bias;  // [in, out / groups, kernel...], [out]

  explicit ConvTranspose(const Options& o);
  Slots tensors() { return {parameter("weight", weight), parameter("bias", bias)}; }
  Tensor forward(const Tensor& x) const;
};

}  // namespace rille::nn
