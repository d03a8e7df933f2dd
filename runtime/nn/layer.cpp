#include "nn/layer.h"

#include <fmt/format.h>

#include "nn/families.h"

namespace rille::nn {

std::string layer_text(const LayerInfo& info, const void* options) {
  std::vector<std::string> parts;
  for (const FieldInfo& f : info.options.fields) {
    if (f.name == "device" || f.name == "dtype") continue;
    const std::string value = value_text(f, options);
    if (f.required || f.name == "bias" || value != default_text(info.options, f))
      parts.push_back(fmt::format("{}={}", f.name, value));
  }
  return fmt::format("{}({})", info.options.name, fmt::join(parts, ", "));
}

std::span<const LayerInfo* const> all_layers() {
  static const LayerFamily& all = *new LayerFamily([] {
    LayerFamily out;
    for (LayerFamily (*family)() :
         {layers_linear, layers_embedding, layers_norm, layers_batch_norm, layers_conv,
          layers_recurrent, layers_attention, layers_transformer, layers_pad, layers_preset}) {
      const LayerFamily part = family();
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }());
  return all;
}

const LayerInfo* find_layer(std::string_view name) {
  for (const LayerInfo* i : all_layers())
    if (i->options.name == name) return i;
  return nullptr;
}

}  // namespace rille::nn
