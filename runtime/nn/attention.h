// Attention with projections, in several heads. Names and initialisation are PyTorch's:
// in_proj_weight, or one weight for each projection where keys or values are of another width;
// out_proj. Masks are true where attention may look.
#pragma once
#include "nn/layer.h"
#include "ops/op.h"

namespace rille::nn {

/// The slots of a layer inside of another: "self_attn.in_proj_weight".
void append_slots(Slots& to, std::string_view prefix, const Slots& inner);

struct MultiheadAttention {
  struct Options {
    int64_t width = 0, heads = 0;
    double dropout = 0;
    bool bias = true;
    std::optional<int64_t> kdim = {}, vdim = {};
    bool batch_first = true;
    std::optional<Device> device = {};
    std::optional<DType> dtype = {};
  };
  struct Inputs {
    Tensor query;
    std::optional<Tensor> key = {}, value = {}, mask = {}, padding_mask = {};
    bool causal = false, need_weights = false;
  };
  struct Out {
    Tensor y, weights;  // weights are empty unless they were asked for
  };
  static constexpr std::string_view name = "MultiheadAttention";
  static constexpr std::string_view doc =
      "Attention with projections, in several heads: the result, and the weights where "
      "need_weights.";
  static constexpr auto fields = Fields{
      field("width", &Options::width, "size of the last dim of x and of the result").required(),
      field("heads", &Options::heads, "how many").required(),
      field("dropout", &Options::dropout, "of the weights, in training"),
      field("bias", &Options::bias, "adds vectors"),
      field("kdim", &Options::kdim, "width of the keys; default: width"),
      field("vdim", &Options::vdim, "width of the values; default: width"),
      field("batch_first", &Options::batch_first, "inputs are [batch, time, width]"),
      field("device", &Options::device, "default: the default device"),
      field("dtype", &Options::dtype, "default: the default dtype")};
  static constexpr auto input_fields = Fields{
      field("query", &Inputs::query, "[batch, time, width]"),
      field("key", &Inputs::key, "[batch, time, kdim]; default: the query"),
      field("value", &Inputs::value, "[batch, time, vdim]; default: the key"),
      field("mask", &Inputs::mask,
            "[time, time of the keys] or broadcastable: true where it may look, or added floats"),
      field("padding_mask", &Inputs::padding_mask,
            "[batch, time of the keys]: true for real tokens"),
      field("causal", &Inputs::causal, "no look ahead"),
      field("need_weights", &Inputs::need_weights,
            "weights averaged over the heads, [batch, time, time of the keys], are given second")};
  static constexpr bool wrapped = true;

  Options options;
  Tensor in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight;  // the first, or the others
  Tensor in_proj_bias, out_weight, out_bias;
  bool training = true;

  explicit MultiheadAttention(const Options& o);
  Slots tensors();
  Out forward(const Inputs& i) const;

 private:
  Tensor project(const Tensor& x, int part) const;
  Out weighed(const Tensor& q, const Tensor& k, const Tensor& v, const Inputs& i) const;
};

}  // namespace rille::nn
