// Turns layer structs into records. Included by the .cpp of each kind of layer.
#pragma once
#include "nn/families.h"
#include "nn/layer.h"
#include "ops/register.h"

namespace rille::nn {
namespace detail {

template <class A>
struct Schema {
  using Args = A;
};

/// A record that only reads and prints a struct of arguments.
template <class A, class List>
OpInfo schema(std::string_view name, std::string_view doc, const List& fields) {
  OpInfo i;
  i.name = name;
  i.doc = doc;
  i.family = "nn";
  const A probe{};
  i.fields = rille::detail::field_infos<Schema<A>>(fields, probe);
  i.args_size = sizeof(A);
  i.args_align = alignof(A);
  i.construct = [](void* p) { new (p) A{}; };
  i.copy = [](void* to, const void* from) { new (to) A(*static_cast<const A*>(from)); };
  i.destroy = [](void* p) { static_cast<A*>(p)->~A(); };
  return i;
}

struct OneInput {
  Tensor x;
};
template <class L>
constexpr auto one_input_fields() {
  std::string_view name = "x";
  if constexpr (requires { L::input; }) name = L::input;
  return Fields{field(name, &OneInput::x, "the input")};
}

template <class L>
concept HasInputs = requires {
  typename L::Inputs;
};

template <class L>
auto forward(L& layer, const void* inputs) {
  if constexpr (HasInputs<L>)
    return layer.forward(*static_cast<const typename L::Inputs*>(inputs));
  else
    return layer.forward(static_cast<const OneInput*>(inputs)->x);
}
template <class L>
using OutOf = decltype(forward(std::declval<L&>(), nullptr));

template <class L>
void forward_thunk(void* p, const void* inputs, [[maybe_unused]] bool training, Results& out) {
  L& layer = *static_cast<L*>(p);
  if constexpr (requires { layer.training; }) layer.training = training;
  auto y = forward(layer, inputs);
  Tensor* fields = reinterpret_cast<Tensor*>(&y);
  for (size_t i = 0; i < tensor_count<OutOf<L>>; ++i) out.push_back(std::move(fields[i]));
}

template <class L>
LayerInfo make_info() {
  using Options = typename L::Options;
  LayerInfo i;
  i.options = schema<Options>(L::name, L::doc, L::fields);
  if constexpr (HasInputs<L>)
    i.inputs = schema<typename L::Inputs>(L::name, L::doc, L::input_fields);
  else
    i.inputs = schema<OneInput>(L::name, L::doc, one_input_fields<L>());
  i.results = static_cast<uint8_t>(tensor_count<OutOf<L>>);
  if constexpr (requires { L::wrapped; }) i.wrapped = L::wrapped;
  i.make = [](const void* o) -> std::shared_ptr<void> {
    return std::make_shared<L>(*static_cast<const Options*>(o));
  };
  i.options_of = [](const void* p) -> const void* { return &static_cast<const L*>(p)->options; };
  i.tensors = [](void* p) { return static_cast<L*>(p)->tensors(); };
  i.forward = &forward_thunk<L>;
  return i;
}

}  // namespace detail

/// The records of some layers, in order.
template <class... L>
LayerFamily list_layers() {
  static const LayerInfo infos[] = {detail::make_info<L>()...};
  LayerFamily out;
  for (const LayerInfo& i : infos) out.push_back(&i);
  return out;
}

}  // namespace rille::nn
