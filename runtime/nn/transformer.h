// Transformer layers, with PyTorch's names of parameters. Masks are true where attention may look,
// padding masks for real tokens.
#pragma once
#include "nn/attention.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace rille::nn {

struct TransformerOptions {
  int64_t width = 0, heads = 0, feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";
  double eps = 1e-5;
  bool norm_first = false, causal = false, bias = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

/// What layers of encoders and decoders share: attention, the two linear layers, norms.
struct TransformerLayer {
  using Options = TransformerOptions;
  static constexpr auto fields = Fields{
      field("width", &Options::width, "size of the last dim of x").required(),
      field("heads", &Options::heads, "of attention").required(),
      field("feedforward", &Options::feedforward, "width of the hidden layer"),
      field("dropout", &Options::dropout, "of weights, of the hidden layer and of sublayers"),
      field("activation", &Options::activation, "the name of an op of one tensor"),
      field("eps", &Options::eps, "of the norms"),
      field("norm_first", &Options::norm_first, "norms before the sublayers, not after"),
      field("causal", &Options::causal, "no look ahead"),
      field("bias", &Options::bias, "adds vectors"),
      field("device", &Options::device, "default: the default device"),
      field("dtype", &Options::dtype, "default: the default dtype")};
  static constexpr bool wrapped = true;

  Options options;
  std::vector<MultiheadAttention> attention;  // to itself, and a decoder's to the memory
  Linear linear1, linear2;
  std::vector<LayerNorm> norms;  // one a sublayer
  bool training = true;

  Slots tensors();

 protected:
  TransformerLayer(const Options& o, int attentions);
  /// x + f(norm(x)), or norm(x + f(x)).
  template <class F>
  Tensor sublayer(size_t i, const Tensor& x, F&& f) const;
  Tensor attend(size_t i, MultiheadAttention::Inputs inputs) const;
  Tensor feed(const Tensor& x) const;
  Tensor dropped(const Tensor& x) const;
};

struct TransformerEncoderLayer : TransformerLayer {
  struct Inputs {
    Tensor x;
    std::optional<Tensor> mask = {}, padding_mask = {};
    bool causal = false;
  };
  static constexpr std::string_view name = "TransformerEncoderLayer";
  static constexpr std::string_view doc =
      "Self-attention and a hidden layer, each with a norm around it.";
  static constexpr auto input_fields = Fields{
      field("x", &Inputs::x, "[batch, time, width]"),
      field("mask", &Inputs::mask, "[time, time] or broadcastable, true where it may look"),
      field("padding_mask", &Inputs::padding_mask, "[batch, time], true for real tokens"),
      field("causal", &Inputs::causal, "no look ahead; so, too, where the layer was made causal")};

  explicit TransformerEncoderLayer(const Options& o) : TransformerLayer(o, 1) {}
  Tensor forward(const Inputs& i) const;
};

struct TransformerDecoderLayer : TransformerLayer {
  struct Inputs {
    Tensor x, memory;
    std::optional<Tensor> mask = {}, padding_mask = {};
    bool causal = false;
    std::optional<Tensor> memory_mask = {}, memory_padding_mask = {};
  };
  static constexpr std::string_view name = "TransformerDecoderLayer";
  static constexpr std::string_view doc =
      "Self-attention, attention to a memory and a hidden layer, each with a norm around it.";
  static constexpr auto input_fields = Fields{
      field("x", &Inputs::x, "[batch, time, width]"),
      field("memory", &Inputs::memory, "[batch, time of the memory, width]"),
      field("mask", &Inputs::mask, "[time, time] or broadcastable, true where it may look"),
      field("padding_mask", &Inputs::padding_mask, "[batch, time], true for real tokens"),
      field("causal", &Inputs::causal, "no look ahead; so, too, where the layer was made causal"),
      field("memory_mask", &Inputs::memory_mask, "[time, time of the memory]"),
      field("memory_padding_mask", &Inputs::memory_padding_mask, "[batch, time of the memory]")};

  explicit TransformerDecoderLayer(const Options& o) : TransformerLayer(o, 2) {}
  Tensor forward(const Inputs& i) const;
};

}  // namespace rille::nn
