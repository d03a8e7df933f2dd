// Convolutions of 1, 2 and 3 dimensions and their transposes. All of them come down to three ops,
// each of which is linear in both operands and has its gradients in the other two, so that they can
// be derived as often as one likes: y from x and w, x from y and w, w from x and y.
#pragma once
#include "ops/op.h"

namespace rille {

/// What the three share: how a window moves.
struct ConvGeometry {
  static constexpr bool method = false;
  template <class A>
  static constexpr auto geometry_fields() {
    return Fields{field("stride", &A::stride, "from window to window"),
                  field("begin", &A::begin, "zeros before each spatial dim"),
                  field("end", &A::end, "zeros after each spatial dim"),
                  field("dilation", &A::dilation, "from element to element of a window"),
                  field("groups", &A::groups, "of channels that don't mix")};
  }
};

struct Convolution : ConvGeometry {
  struct Args {
    Tensor x, weight;
    std::optional<Tensor> bias = {};
    PerDim stride = {1}, begin = {0}, end = {0}, dilation = {1};
    int64_t groups = 1;
  };
  static constexpr std::string_view name = "convolution";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "A convolution of any number of dimensions, zeros around it given side by side.";
  static constexpr auto fields =
      joined(Fields{field("x", &Args::x, "[n, in, ...]"),
                    field("weight", &Args::weight, "[out, in / groups, ...]"),
                    field("bias", &Args::bias, "[out]")},
             geometry_fields<Args>());
  static constexpr Autocast autocast = Autocast::lower;
  static Meta infer(const Args& a);
  static double flops(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static uint64_t saves(const Args&, uint64_t needs) { return (needs & 1) << 1 | (needs >> 1 & 1); }
  static Args grad(const Back<Convolution>& b);
  static void samples(SampleList& s);
};

/// The gradient for x, and the transposed convolution.
struct ConvolutionInput : ConvGeometry {
  struct Args {
    Tensor y, weight;
    std::optional<Tensor> bias = {};
    Sizes size;
    PerDim stride = {1}, begin = {0}, end = {0}, dilation = {1};
    int64_t groups = 1;
  };
  static constexpr std::string_view name = "convolution_input";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "What a convolution's results say of an input of that size: its transpose.";
  static constexpr auto fields =
      joined(Fields{field("y", &Args::y, "[n, out, ...]"),
                    field("weight", &Args::weight, "[out, in / groups, ...]"),
                    field("bias", &Args::bias, "[in]"),
                    field("size", &Args::size, "spatial sizes of the input").required()},
             geometry_fields<Args>());
  static constexpr Autocast autocast = Autocast::lower;
  static Meta infer(const Args& a);
  static double flops(const Args& a);
  static void cpu(const Args& a, Tensor& x);
  static uint64_t saves(const Args&, uint64_t needs) { return (needs & 1) << 1 | (needs >> 1 & 1); }
  static Args grad(const Back<ConvolutionInput>& b);
  static void samples(SampleList& s);
};

/// The gradient for the weight.
struct ConvolutionWeight : ConvGeometry {
  struct Args {
    Tensor x, y;
    Sizes size;
    PerDim stride = {1}, begin = {0}, end = {0}, dilation = {1};
    int64_t groups = 1;
  };
  static constexpr std::string_view name = "convolution_weight";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "What a convolution's input and results say of a kernel of that size.";
  static constexpr auto fields =
      joined(Fields{field("x", &Args::x, "[n, in, ...]"), field("y", &Args::y, "[n, out, ...]"),
                    field("size", &Args::size, "spatial sizes of the kernel").required()},
             geometry_fields<Args>());
  static constexpr Autocast autocast = Autocast::lower;
  static Meta infer(const Args& a);
  static double flops(const Args& a);
  static void cpu(const Args& a, Tensor& w);
  static uint64_t saves(const Args&, uint64_t needs) { return (needs & 1) << 1 | (needs >> 1 & 1); }
  static Args grad(const Back<ConvolutionWeight>& b);
  static void samples(SampleList& s);
};

// ---- what scripts call
// ---------------------------------------------------------------------------

struct ConvNd {
  struct Args {
    Tensor x, weight;
    std::optional<Tensor> bias = {};
    PerDim stride = {1};
    Padding padding = {};
    PerDim dilation = {1};
    int64_t groups = 1;
  };
  static constexpr auto fields_of(std::string_view x, std::string_view weight) {
    return Fields{field("x", &Args::x, x),
                  field("weight", &Args::weight, weight),
                  field("bias", &Args::bias, "[out]"),
                  field("stride", &Args::stride, "from window to window"),
                  field("padding", &Args::padding, "zeros on both sides, 'same' or 'valid'"),
                  field("dilation", &Args::dilation, "from element to element of a window"),
                  field("groups", &Args::groups, "of channels that don't mix")};
  }
  static constexpr Autocast autocast = Autocast::lower;
};

struct Conv1d : ConvNd {
  static constexpr std::string_view name = "conv1d";
  static constexpr std::string_view doc =
      "The convolution (cross-correlation) of signals with kernels.";
  static constexpr std::string_view example =
      "rille.conv1d(rille.ones(1, 2, 8), rille.ones(4, 2, 3))";
  static constexpr auto fields = fields_of("[n, in, l] or [in, l]", "[out, in / groups, kl]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Conv2d : ConvNd {
  static constexpr std::string_view name = "conv2d";
  static constexpr std::string_view doc =
      "The convolution (cross-correlation) of images with kernels.";
  static constexpr std::string_view example =
      "rille.conv2d(rille.ones(1, 3, 8, 8), rille.ones(4, 3, 3, 3), { padding = 'same' })";
  static constexpr auto fields =
      fields_of("[n, in, h, w] or [in, h, w]", "[out, in / groups, kh, kw]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Conv3d : ConvNd {
  static constexpr std::string_view name = "conv3d";
  static constexpr std::string_view doc =
      "The convolution (cross-correlation) of volumes with kernels.";
  static constexpr std::string_view example =
      "rille.conv3d(rille.ones(1, 2, 4, 4, 4), rille.ones(3, 2, 2, 2, 2))";
  static constexpr auto fields =
      fields_of("[n, in, d, h, w] or [in, d, h, w]", "[out, in / groups, kd, kh, kw]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct ConvTransposeNd {
  struct Args {
    Tensor x, weight;
    std::optional<Tensor> bias = {};
    PerDim stride = {1}, padding = {0}, output_padding = {0};
    int64_t groups = 1;
    PerDim dilation = {1};
  };
  static constexpr auto fields_of(std::string_view x, std::string_view weight) {
    return Fields{field("x", &Args::x, x),
                  field("weight", &Args::weight, weight),
                  field("bias", &Args::bias, "[out]"),
                  field("stride", &Args::stride, "from window to window of the result"),
                  field("padding", &Args::padding, "what is cut off on both sides of the result"),
                  field("output_padding", &Args::output_padding, "more of the result at its end"),
                  field("groups", &Args::groups, "of channels that don't mix"),
                  field("dilation", &Args::dilation, "from element to element of a window")};
  }
  static constexpr Autocast autocast = Autocast::lower;
};

struct ConvTranspose1d : ConvTransposeNd {
  static constexpr std::string_view name = "conv_transpose1d";
  static constexpr std::string_view doc =
      "The transpose of conv1d: each element adds a scaled kernel to the result.";
  static constexpr std::string_view example =
      "rille.conv_transpose1d(rille.ones(1, 2, 4), rille.ones(2, 3, 2), { stride = 2 })";
  static constexpr auto fields = fields_of("[n, in, l] or [in, l]", "[in, out / groups, kl]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct ConvTranspose2d : ConvTransposeNd {
  static constexpr std::string_view name = "conv_transpose2d";
  static constexpr std::string_view doc =
      "The transpose of conv2d: each element adds a scaled kernel to the result.";
  static constexpr std::string_view example =
      "rille.conv_transpose2d(rille.ones(1, 2, 4, 4), rille.ones(2, 3, 2, 2), { stride = 2 })";
  static constexpr auto fields =
      fields_of("[n, in, h, w] or [in, h, w]", "[in, out / groups, kh, kw]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct ConvTranspose3d : ConvTransposeNd {
  static constexpr std::string_view name = "conv_transpose3d";
  static constexpr std::string_view doc =
      "The transpose of conv3d: each element adds a scaled kernel to the result.";
  static constexpr std::string_view example =
      "rille.conv_transpose3d(rille.ones(1, 2, 2, 2, 2), rille.ones(2, 3, 2, 2, 2), { stride = 2 "
      "})";
  static constexpr auto fields =
      fields_of("[n, in, d, h, w] or [in, d, h, w]", "[in, out / groups, kd, kh, kw]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
