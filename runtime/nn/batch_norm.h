// Normalisation by channel. BatchNorm keeps running statistics, which it moves in training and uses
// after; GroupNorm and InstanceNorm look at one instance at a time.
#pragma once
#include "nn/layer.h"
#include "ops/op.h"

namespace rille::nn {

/// What the layers of running statistics share.
struct ChannelNorm {
  Tensor weight, bias, running_mean, running_var;  // [features]
  Tensor num_batches_tracked;                      // i64, how many moved the statistics
  bool training = true;

  Slots tensors() {
    return {parameter("weight", weight), parameter("bias", bias),
            buffer("running_mean", running_mean), buffer("running_var", running_var),
            buffer("num_batches_tracked", num_batches_tracked)};
  }
  /// Makes the tensors that the options ask for.
  template <class Options>
  void make(const Options& o);
};

template <int N>
struct BatchNorm : ChannelNorm {
  struct Options {
    int64_t features = 0;
    double eps = 1e-5, momentum = 0.1;
    bool affine = true, track_running_stats = true, cumulative = false;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = N == 1   ? "BatchNorm1d"
                                           : N == 2 ? "BatchNorm2d"
                                                    : "BatchNorm3d";
  static constexpr std::string_view doc =
      "(x - mean) / sqrt(variance + eps) * weight + bias for each channel: of the batch in "
      "training, after "
      "it the running ones.";
  static constexpr auto fields = Fields{
      field("features", &Options::features, "channels, dim 2 of x").required(),
      field("eps", &Options::eps, "added to the variance"),
      field("momentum", &Options::momentum, "share of a batch in the running statistics"),
      field("affine", &Options::affine, "has weight and bias"),
      field("track_running_stats", &Options::track_running_stats, "keeps running statistics"),
      field("cumulative", &Options::cumulative, "running statistics weigh all batches alike"),
      field("device", &Options::device, "default: the default device"),
      field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;

  explicit BatchNorm(const Options& o);
  Tensor forward(const Tensor& x) const;

 private:
  double count_batch() const;
};

template <int N>
struct InstanceNorm : ChannelNorm {
  struct Options {
    int64_t features = 0;
    double eps = 1e-5, momentum = 0.1;
    bool affine = false, track_running_stats = false;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = N == 1   ? "InstanceNorm1d"
                                           : N == 2 ? "InstanceNorm2d"
                                                    : "InstanceNorm3d";
  static constexpr std::string_view doc =
      "(x - mean) / sqrt(variance + eps) for each channel of each instance.";
  static constexpr auto fields = Fields{
      field("features", &Options::features, "channels, dim 2 of x").required(),
      field("eps", &Options::eps, "added to the variance"),
      field("momentum", &Options::momentum, "share of a batch in the running statistics"),
      field("affine", &Options::affine, "has weight and bias"),
      field("track_running_stats", &Options::track_running_stats, "keeps running statistics"),
      field("device", &Options::device, "default: the default device"),
      field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;

  explicit InstanceNorm(const Options& o);
  Tensor forward(const Tensor& x) const;
};

struct GroupNorm {
  struct Options {
    int64_t groups = 1, features = 0;
    double eps = 1e-5;
    bool affine = true;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "GroupNorm";
  static constexpr std::string_view doc =
      "(x - mean) / sqrt(variance + eps) * weight + bias over each group of channels of each "
      "instance.";
  static constexpr auto fields =
      Fields{field("groups", &Options::groups, "of channels").required(),
             field("features", &Options::features, "channels").required(),
             field("eps", &Options::eps, "added to the variance"),
             field("affine", &Options::affine, "has weight and bias"),
             field("device", &Options::device, "default: the default device"),
             field("dtype", &Options::dtype, "default: the default dtype")};

  Options options;
  Tensor weight, bias;  // [features]

  explicit GroupNorm(const Options& o);
  Slots tensors() { return {parameter("weight", weight), parameter("bias", bias)}; }
  Tensor forward(const Tensor& x) const;
};

}  // namespace rille::nn
