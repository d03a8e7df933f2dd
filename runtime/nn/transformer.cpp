#include "nn/transformer.h"

#include "core/fail.h"
#include "nn/register.h"
#include "ops/dropout.h"
#include "ops/pointwise.h"

namespace rille::nn {
namespace {

// An op that takes one tensor and nothing else that must be given.
const OpInfo* activation_of(const std::string& name) {
  const OpInfo* op = find_public_op(name);
  bool fits = op && op->results == 1 && !op->fields.empty();
  for (size_t i = 0; fits && i < op->fields.size(); ++i) {
    const bool is_tensor = op->fields[i].kind == ArgKind::tensor;
    fits = i == 0 ? is_tensor : !is_tensor && !op->fields[i].required;
  }
  if (!fits) throw arg_error("'activation' must name an op of one tensor, got '{}'", name);
  return op;
}

Tensor activated(const OpInfo& op, const Tensor& x) {
  const ArgBlock a(op);
  a.at<Tensor>(op.fields[0]) = x;
  Results out;
  call_erased(op, a.get(), out);
  return std::move(out[0]);
}

std::vector<MultiheadAttention> attentions_of(const TransformerOptions& o, int count) {
  std::vector<MultiheadAttention> out;
  for (int i = 0; i < count; ++i)
    out.emplace_back(MultiheadAttention::Options{.width = o.width,
                                                 .heads = o.heads,
                                                 .dropout = o.dropout,
                                                 .bias = o.bias,
                                                 .device = o.device,
                                                 .dtype = o.dtype});
  return out;
}

Linear::Options linear_of(const TransformerOptions& o, int64_t in, int64_t out) {
  return {.in = in, .out = out, .bias = o.bias, .device = o.device, .dtype = o.dtype};
}

std::vector<LayerNorm> norms_of(const TransformerOptions& o, int count) {
  std::vector<LayerNorm> out;
  for (int i = 0; i < count; ++i)
    out.emplace_back(LayerNorm::Options{
        .shape = {o.width}, .eps = o.eps, .bias = o.bias, .device = o.device, .dtype = o.dtype});
  return out;
}

}  // namespace

// Members are made, and so drawn, in PyTorch's order.
TransformerLayer::TransformerLayer(const Options& o, int attentions)
    : options(o),
      attention(attentions_of(o, attentions)),
      linear1(linear_of(o, o.width, o.feedforward)),
      linear2(linear_of(o, o.feedforward, o.width)),
      norms(norms_of(o, attentions + 1)) {
  activation_of(o.activation);
}

Slots TransformerLayer::tensors() {
  Slots out;
  append_slots(out, "self_attn", attention[0].tensors());
  if (attention.size() > 1) append_slots(out, "multihead_attn", attention[1].tensors());
  append_slots(out, "linear1", linear1.tensors());
  append_slots(out, "linear2", linear2.tensors());
  for (size_t i = 0; i < norms.size(); ++i)
    append_slots(out, fmt::format("norm{}", i + 1), norms[i].tensors());
  return out;
}

Tensor TransformerLayer::dropped(const Tensor& x) const {
  return call<Dropout>({.x = x, .p = options.dropout, .training = training});
}

template <class F>
Tensor TransformerLayer::sublayer(size_t i, const Tensor& x, F&& f) const {
  if (options.norm_first) return x + dropped(f(norms[i].forward(x)));
  return norms[i].forward(x + dropped(f(x)));
}

Tensor TransformerLayer::attend(size_t i, MultiheadAttention::Inputs inputs) const {
  MultiheadAttention now = attention[i];  // handles; the mode is this layer's
  now.training = training;
  return now.forward(inputs).y;
}

Tensor TransformerLayer::feed(const Tensor& x) const {
  const Tensor h = activated(*activation_of(options.activation), linear1.forward(x));
  return linear2.forward(dropped(h));
}

Tensor TransformerEncoderLayer::forward(const Inputs& i) const {
  const bool causal = i.causal || options.causal;
  const Tensor y = sublayer(0, i.x, [&](const Tensor& h) {
    return attend(0,
                  {.query = h, .mask = i.mask, .padding_mask = i.padding_mask, .causal = causal});
  });
  return sublayer(1, y, [&](const Tensor& h) { return feed(h); });
}

Tensor TransformerDecoderLayer::forward(const Inputs& i) const {
  const bool causal = i.causal || options.causal;
  Tensor y = sublayer(0, i.x, [&](const Tensor& h) {
    return attend(0,
                  {.query = h, .mask = i.mask, .padding_mask = i.padding_mask, .causal = causal});
  });
  y = sublayer(1, y, [&](const Tensor& h) {
    return attend(1, {.query = h,
                      .key = i.memory,
                      .mask = i.memory_mask,
                      .padding_mask = i.memory_padding_mask});
  });
  return sublayer(2, y, [&](const Tensor& h) { return feed(h); });
}

LayerFamily layers_transformer() {
  return list_layers<TransformerEncoderLayer, TransformerDecoderLayer>();
}

}  // namespace rille::nn
