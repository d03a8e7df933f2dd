// A layer is a struct: Options, the tensors that it trains or keeps, and forward over ops. C++ uses
// it as it is (nn::Linear fc({.in = 784, .out = 10}); y = fc.forward(x)); scripts reach all of them
// through LayerInfo, the record that nn/register.h derives from the struct.
//
// What a layer says:
//   struct Options { int64_t in = 0; ... std::optional<Device> device; std::optional<DType> dtype;
//   }; name, doc     as scripts know it fields        Fields{field("in", &Options::in,
//   "...").required(), ...}, as ops do tensors()     Slots{parameter("weight", weight),
//   buffer("running_mean", running_mean), ...} forward       Tensor(const Tensor& x), or Tensor or
//   a struct of Tensors from the layer's Inputs,
//                 which has `input_fields`
//   training      a bool, where forward depends on the mode
//   wrapped       true where scripts make it by a class of their own
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/op_info.h"

namespace rille::nn {

/// A tensor of a layer and its name in scripts. Empty where an option leaves it out.
struct Slot {
  std::string name;
  Tensor* tensor;
  bool is_buffer;
};
using Slots = std::vector<Slot>;

inline Slot parameter(std::string name, Tensor& t) { return {std::move(name), &t, false}; }
inline Slot buffer(std::string name, Tensor& t) { return {std::move(name), &t, true}; }

/// A tensor as an optional argument of an op.
inline std::optional<Tensor> maybe(const Tensor& t) { return t ? std::optional(t) : std::nullopt; }

/// What an optimizer takes.
template <class L>
std::vector<Tensor> parameters(L& layer) {
  std::vector<Tensor> out;
  for (const Slot& s : layer.tensors())
    if (!s.is_buffer && *s.tensor) out.push_back(*s.tensor);
  return out;
}

struct LayerInfo {
  OpInfo options;        // the layer's name and doc, the fields of its Options
  OpInfo inputs;         // what forward takes
  uint8_t results = 1;   // how many tensors it gives
  bool wrapped = false;  // scripts have a class of their own for it, which says what it takes
  std::shared_ptr<void> (*make)(const void* options) = nullptr;
  const void* (*options_of)(const void* layer) = nullptr;
  Slots (*tensors)(void* layer) = nullptr;
  void (*forward)(void* layer, const void* inputs, bool training, Results& out) = nullptr;
};

/// "Linear(in=3, out=4, bias=true)": what must be given, what differs from its default, and bias.
std::string layer_text(const LayerInfo& info, const void* options);

/// Every layer there is.
std::span<const LayerInfo* const> all_layers();
const LayerInfo* find_layer(std::string_view name);

}  // namespace rille::nn
