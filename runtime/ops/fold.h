// Images cut into overlapping windows, and put together again.
#pragma once
#include "ops/op.h"

namespace rille {

/// Sliding windows of images as columns, and their sum back into images: each other's gradient.
struct Unfold2d {
  struct Args {
    Tensor x;
    PerDim kernel_size;
    PerDim dilation = {1}, padding = {0}, stride = {1};
  };
  static constexpr std::string_view name = "unfold2d";
  static constexpr std::string_view doc =
      "All windows of images as columns: [n, c, h, w] gives [n, c kh kw, windows]. PyTorch's "
      "F.unfold.";
  static constexpr std::string_view example = "rille.unfold2d(rille.ones(1, 2, 4, 4), 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, c, h, w] or [c, h, w]"),
             field("kernel_size", &Args::kernel_size, "of a window").required(),
             field("dilation", &Args::dilation, "from element to element of a window"),
             field("padding", &Args::padding, "zeros around the image"),
             field("stride", &Args::stride, "from window to window")};
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Unfold2d>& b);
  static void samples(SampleList& s);
};

struct Fold2d {
  struct Args {
    Tensor x;
    PerDim output_size, kernel_size;
    PerDim dilation = {1}, padding = {0}, stride = {1};
  };
  static constexpr std::string_view name = "fold2d";
  static constexpr std::string_view doc =
      "Images from columns of windows, added where they overlap: the reverse way of unfold2d.";
  static constexpr std::string_view example = "rille.fold2d(rille.ones(1, 4, 9), {4, 4}, 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, c kh kw, windows] or without n"),
             field("output_size", &Args::output_size, "height and width").required(),
             field("kernel_size", &Args::kernel_size, "of a window").required(),
             field("dilation", &Args::dilation, "from element to element of a window"),
             field("padding", &Args::padding, "zeros around the image"),
             field("stride", &Args::stride, "from window to window")};
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Fold2d>& b);
  static void samples(SampleList& s);
};

}  // namespace rille
