// Stacks of Transformer layers, and what comes last: a norm, or nothing. Parameters have PyTorch's
// names: "layers.0.self_attn.in_proj_weight", "norm.weight".
//
//   nn::TransformerEncoder encoder(
//       6, [] { return nn::TransformerEncoderLayer(512, 8, {.norm_first = true}); },
//       nn::LayerNorm({512}));
//   Tensor y = encoder(x, {.padding_mask = real});
#pragma once
#include "rille/containers.hpp"
#include "rille/layers.hpp"

namespace rille::RILLE_V1::nn {

/// What encoder and decoder share. `Self` is the class, `Layer` that of its layers.
template <class Self, class Layer>
class TransformerStack : public ModuleOf<Self> {
 public:
  ModuleList<Layer> layers() const { return layers_; }

 protected:
  TransformerStack(std::string kind, const ModuleList<Layer>& layers)
      : ModuleOf<Self>(std::move(kind)), layers_(layers) {
    this->register_module("layers", layers_);
  }
  template <class Norm>
  void end_with(const Norm& norm) {
    this->register_module("norm", norm);
    norm_ = [norm](const Tensor& x) -> Tensor { return norm(x); };
  }
  Tensor ended(const Tensor& x) const { return norm_ ? norm_(x) : x; }

  ModuleList<Layer> layers_;

 private:
  std::function<Tensor(const Tensor&)> norm_;
};

/// Encoder layers one after another, and a norm.
class TransformerEncoder : public TransformerStack<TransformerEncoder, TransformerEncoderLayer> {
 public:
  using Layer = TransformerEncoderLayer;

  /// Of layers that are there. Copies of one handle are one layer, with one set of parameters.
  explicit TransformerEncoder(const std::vector<Layer>& layers)
      : TransformerStack("TransformerEncoder", ModuleList<Layer>(layers)) {}
  template <class Norm>
  TransformerEncoder(const std::vector<Layer>& layers, const Norm& norm)
      : TransformerEncoder(layers) {
    end_with(norm);
  }
  /// Of `count` layers that `make()` makes.
  template <class Make>
  requires std::is_invocable_r_v<Layer, Make&> TransformerEncoder(size_t count, Make make)
      : TransformerStack("TransformerEncoder",
                         ModuleList<Layer>(count, [&](size_t) { return make(); })) {}
  template <class Make, class Norm>
  requires std::is_invocable_r_v<Layer, Make&> TransformerEncoder(size_t count, Make make,
                                                                  const Norm& norm)
      : TransformerEncoder(count, std::move(make)) {
    end_with(norm);
  }

  Tensor operator()(const Tensor& x, const TransformerEncoderLayerInputs& options = {}) const {
    Tensor y = x;
    for (const Layer& layer : layers_) y = layer(y, options);
    return ended(y);
  }
};

/// Decoder layers one after another, and a norm.
class TransformerDecoder : public TransformerStack<TransformerDecoder, TransformerDecoderLayer> {
 public:
  using Layer = TransformerDecoderLayer;

  explicit TransformerDecoder(const std::vector<Layer>& layers)
      : TransformerStack("TransformerDecoder", ModuleList<Layer>(layers)) {}
  template <class Norm>
  TransformerDecoder(const std::vector<Layer>& layers, const Norm& norm)
      : TransformerDecoder(layers) {
    end_with(norm);
  }
  template <class Make>
  requires std::is_invocable_r_v<Layer, Make&> TransformerDecoder(size_t count, Make make)
      : TransformerStack("TransformerDecoder",
                         ModuleList<Layer>(count, [&](size_t) { return make(); })) {}
  template <class Make, class Norm>
  requires std::is_invocable_r_v<Layer, Make&> TransformerDecoder(size_t count, Make make,
                                                                  const Norm& norm)
      : TransformerDecoder(count, std::move(make)) {
    end_with(norm);
  }

  Tensor operator()(const Tensor& x, const Tensor& memory,
                    const TransformerDecoderLayerInputs& options = {}) const {
    Tensor y = x;
    for (const Layer& layer : layers_) y = layer(y, memory, options);
    return ended(y);
  }
};

}  // namespace rille::RILLE_V1::nn
