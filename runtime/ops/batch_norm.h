// Normalisation by channel: over the batch, over groups of channels, over one instance. The first
// has a kernel, the others are written in other ops, in f32 or f64. Those over the last dims are in
// norm.h.
#pragma once
#include "ops/op.h"

namespace rille {

/// Running statistics are updated in place, outside of the tape, where training.
struct BatchNorm {
  struct Args {
    Tensor x;
    std::optional<Tensor> running_mean = {}, running_var = {}, weight = {}, bias = {};
    bool training = false;
    double momentum = 0.1, eps = 1e-5;
  };
  struct Saved {
    Tensor mean, rstd;
  };
  static constexpr std::string_view name = "batch_norm";
  static constexpr std::string_view doc =
      "(x - mean) / sqrt(variance + eps) * weight + bias for each channel: of the batch in "
      "training, "
      "which moves the running statistics, else of those.";
  static constexpr std::string_view example =
      "rille.batch_norm(rille.randn(4, 3), { training = true })";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, channels, ...]"),
             field("running_mean", &Args::running_mean, "[channels]"),
             field("running_var", &Args::running_var, "[channels]"),
             field("weight", &Args::weight, "scale, [channels]"),
             field("bias", &Args::bias, "shift, [channels]"),
             field("training", &Args::training, "use the statistics of the batch"),
             field("momentum", &Args::momentum, "share of the batch in the running statistics"),
             field("eps", &Args::eps, "added to the variance")};
  static Meta infer(const Args& a);
  static std::array<Meta, 2> saved_meta(const Args& a);
  static void cpu(const Args& a, Tensor& y, Saved* saved);
  static Tensor compose(const Args& a);
  /// x and weight; running statistics only where somebody wants their gradients, since others move
  /// before backward.
  static uint64_t saves(const Args& a, uint64_t needs) {
    const uint64_t running = 2 | 4;
    return 1 | 8 | (!a.training && (needs & running) ? running : 0);
  }
  static Args grad(const Back<BatchNorm>& b);
  static void samples(SampleList& s);
};

/// Gradients of batch_norm; those that `wanted` (bits: x, weight, bias) leaves out are empty.
struct BatchNormGrad {
  struct Args {
    Tensor x, dy, mean, rstd;
    std::optional<Tensor> weight = {};
    bool training = false;
    double eps = 1e-5;
    int64_t wanted = 7;
    DType affine_dtype = DType::f32;
  };
  struct Out {
    Tensor dx, dweight, dbias;
  };
  static constexpr std::string_view name = "batch_norm_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradients of batch_norm.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "the argument"),
             field("dy", &Args::dy, "gradient of the result"),
             field("mean", &Args::mean, "of each channel"),
             field("rstd", &Args::rstd, "of each channel"),
             field("weight", &Args::weight, "scale"),
             field("training", &Args::training, "mean and rstd are those of x"),
             field("eps", &Args::eps, "added to the variance"),
             field("wanted", &Args::wanted, "bits: x 1, weight 2, bias 4"),
             field("affine_dtype", &Args::affine_dtype, "of scale and shift")};
  static constexpr bool method = false;
  static std::array<Meta, 3> infer(const Args& a);
  static void cpu(const Args& a, Out& out);
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct GroupNorm {
  struct Args {
    Tensor x;
    int64_t groups = 1;
    std::optional<Tensor> weight = {}, bias = {};
    double eps = 1e-5;
  };
  static constexpr std::string_view name = "group_norm";
  static constexpr std::string_view doc =
      "(x - mean) / sqrt(variance + eps) * weight + bias, mean and variance over each group of "
      "channels of one instance.";
  static constexpr std::string_view example = "rille.group_norm(rille.randn(2, 4, 3), 2)";
  static constexpr auto fields = Fields{field("x", &Args::x, "[n, channels, ...]"),
                                        field("groups", &Args::groups, "of channels").required(),
                                        field("weight", &Args::weight, "scale, [channels]"),
                                        field("bias", &Args::bias, "shift, [channels]"),
                                        field("eps", &Args::eps, "added to the variance")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct InstanceNorm {
  struct Args {
    Tensor x;
    std::optional<Tensor> running_mean = {}, running_var = {}, weight = {}, bias = {};
    bool use_input_stats = true;
    double momentum = 0.1, eps = 1e-5;
  };
  static constexpr std::string_view name = "instance_norm";
  static constexpr std::string_view doc =
      "(x - mean) / sqrt(variance + eps) * weight + bias, mean and variance over each channel of "
      "one "
      "instance, or running ones.";
  static constexpr std::string_view example = "rille.instance_norm(rille.randn(2, 3, 8))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, channels, ...]"),
             field("running_mean", &Args::running_mean, "[channels]"),
             field("running_var", &Args::running_var, "[channels]"),
             field("weight", &Args::weight, "scale, [channels]"),
             field("bias", &Args::bias, "shift, [channels]"),
             field("use_input_stats", &Args::use_input_stats, "else the running statistics"),
             field("momentum", &Args::momentum, "share of the batch in the running statistics"),
             field("eps", &Args::eps, "added to the variance")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct LocalResponseNorm {
  struct Args {
    Tensor x;
    int64_t size = 1;
    double alpha = 1e-4, beta = 0.75, k = 1;
  };
  static constexpr std::string_view name = "local_response_norm";
  static constexpr std::string_view doc =
      "x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta.";
  static constexpr std::string_view example = "rille.local_response_norm(rille.ones(1, 4, 2), 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, channels, ...]"),
             field("size", &Args::size, "channels in a window").required(),
             field("alpha", &Args::alpha, "factor of the mean"),
             field("beta", &Args::beta, "the power"), field("k", &Args::k, "added to the mean")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
