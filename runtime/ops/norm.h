// Normalisation over the last dims, one row at a time: mean and variance (or only the square mean)
// of a row, then a scale and a shift by element. Forward keeps the statistics of each row in the
// accumulator's type; backward is one fused pass. Those over batches or channels are in
// batch_norm.h.
#pragma once
#include "ops/op.h"

namespace rille {

struct LayerNorm {
  struct Args {
    Tensor x;
    std::optional<Tensor> weight = {}, bias = {};
    double eps = 1e-5;
    std::optional<Sizes> shape = {};
  };
  struct Saved {
    Tensor mean, rstd;
  };
  static constexpr std::string_view name = "layer_norm";
  static constexpr std::string_view doc =
      "(x - mean) / sqrt(variance + eps) * weight + bias, mean and variance over the last dims: "
      "those "
      "of weight, or of shape, or else the last one.";
  static constexpr std::string_view example =
      "rille.layer_norm(rille.randn(2, 8), { weight = rille.ones(8) })";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor").saved(),
             field("weight", &Args::weight, "scale").saved(), field("bias", &Args::bias, "shift"),
             field("eps", &Args::eps, "added to the variance"),
             field("shape", &Args::shape, "sizes of the dims to normalise")};
  static constexpr Autocast autocast = Autocast::f32;
  static Meta infer(const Args& a);
  static std::array<Meta, 2> saved_meta(const Args& a);
  static void cpu(const Args& a, Tensor& y, Saved* saved);
  static Tensor compose(const Args& a);
  static Args grad(const Back<LayerNorm>& b);
  static void samples(SampleList& s);
};

/// Gradients of layer_norm; those that `wanted` (bits: x, weight, bias) leaves out are empty.
struct LayerNormGrad {
  struct Args {
    Tensor x, dy, mean, rstd;
    std::optional<Tensor> weight = {};
    double eps = 1e-5;
    int64_t dims = 1, wanted = 7;
    DType affine_dtype = DType::f32;
  };
  struct Out {
    Tensor dx, dweight, dbias;
  };
  static constexpr std::string_view name = "layer_norm_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradients of layer_norm.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "the argument"),
             field("dy", &Args::dy, "gradient of the result"),
             field("mean", &Args::mean, "of each row"),
             field("rstd", &Args::rstd, "of each row"),
             field("weight", &Args::weight, "scale"),
             field("eps", &Args::eps, "added to the variance"),
             field("dims", &Args::dims, "how many are normalised"),
             field("wanted", &Args::wanted, "bits: x 1, weight 2, bias 4"),
             field("affine_dtype", &Args::affine_dtype, "of scale and shift")};
  static constexpr bool method = false;
  static std::array<Meta, 3> infer(const Args& a);
  static void cpu(const Args& a, Out& out);
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct RmsNorm {
  struct Args {
    Tensor x;
    std::optional<Tensor> weight = {};
    std::optional<double> eps = {};
    std::optional<Sizes> shape = {};
  };
  struct Saved {
    Tensor rstd;
  };
  static constexpr std::string_view name = "rms_norm";
  static constexpr std::string_view doc =
      "x / sqrt(mean of squares + eps) * weight, the mean over the last dims: those of weight, or "
      "of "
      "shape, or else the last one.";
  static constexpr std::string_view example =
      "rille.rms_norm(rille.randn(2, 8), { weight = rille.ones(8) })";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor").saved(),
             field("weight", &Args::weight, "scale").saved(),
             field("eps", &Args::eps, "default: the machine epsilon of f32, or of f64"),
             field("shape", &Args::shape, "sizes of the dims to normalise")};
  static constexpr Autocast autocast = Autocast::f32;
  static Meta infer(const Args& a);
  static std::array<Meta, 1> saved_meta(const Args& a);
  static void cpu(const Args& a, Tensor& y, Saved* saved);
  static Tensor compose(const Args& a);
  static Args grad(const Back<RmsNorm>& b);
  static void samples(SampleList& s);
};

/// Gradients of rms_norm; those that `wanted` (bits: x, weight) leaves out are empty.
struct RmsNormGrad {
  struct Args {
    Tensor x, dy, rstd;
    std::optional<Tensor> weight = {};
    double eps = 1e-5;
    int64_t dims = 1, wanted = 3;
  };
  struct Out {
    Tensor dx, dweight;
  };
  static constexpr std::string_view name = "rms_norm_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradients of rms_norm.";
  static constexpr auto fields = Fields{field("x", &Args::x, "the argument"),
                                        field("dy", &Args::dy, "gradient of the result"),
                                        field("rstd", &Args::rstd, "of each row"),
                                        field("weight", &Args::weight, "scale"),
                                        field("eps", &Args::eps, "added to the square mean"),
                                        field("dims", &Args::dims, "how many are normalised"),
                                        field("wanted", &Args::wanted, "bits: x 1, weight 2")};
  static constexpr bool method = false;
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& out);
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
