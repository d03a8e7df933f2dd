// Layers that fix an argument of an op, or do more in training than the op does.
#pragma once
#include "nn/layer.h"
#include "ops/op.h"

namespace rille::nn {

/// Softmax over the channels of images, dim 2 of [n, channels, height, width].
struct Softmax2d {
  struct Options {};
  static constexpr std::string_view name = "Softmax2d";
  static constexpr std::string_view doc = "Softmax over the channels of each place of an image.";
  static constexpr Fields<> fields{};
  static constexpr bool wrapped = true;

  Options options;

  explicit Softmax2d(const Options& o) : options(o) {}
  Slots tensors() { return {}; }
  Tensor forward(const Tensor& x) const;
};

/// Images at another size: Upsample with the mode in the name.
template <bool bilinear>
struct Upsampling2d {
  struct Options {
    PerDim size;
    std::vector<double> scale_factor = {};
  };
  static constexpr std::string_view name =
      bilinear ? "UpsamplingBilinear2d" : "UpsamplingNearest2d";
  static constexpr std::string_view doc =
      bilinear ? "Images at another size, from their four nearest pixels; corners stay in place."
               : "Images at another size, from their nearest pixels.";
  static constexpr auto fields =
      Fields{field("size", &Options::size, "height and width of the result"),
             field("scale_factor", &Options::scale_factor,
                   "instead: new over old size, one or one a dim")};
  static constexpr bool wrapped = true;

  Options options;

  explicit Upsampling2d(const Options& o) : options(o) {}
  Slots tensors() { return {}; }
  Tensor forward(const Tensor& x) const;
};

struct RReLU {
  struct Options {
    double lower = 1.0 / 8, upper = 1.0 / 3;
  };
  static constexpr std::string_view name = "RReLU";
  static constexpr std::string_view doc =
      "leaky_relu with a slope of its own for each element in training, drawn from lower to upper; "
      "after it, with the mean of both.";
  static constexpr auto fields = Fields{field("lower", &Options::lower, "least slope"),
                                        field("upper", &Options::upper, "largest slope")};
  static constexpr bool wrapped = true;

  Options options;
  bool training = true;

  explicit RReLU(const Options& o);
  Slots tensors() { return {}; }
  Tensor forward(const Tensor& x) const;
};

}  // namespace rille::nn
