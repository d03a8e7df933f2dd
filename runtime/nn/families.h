// The kinds of layers: the only list that a file of layers joins, here and in layer.cpp.
#pragma once
#include <vector>

namespace rille::nn {

struct LayerInfo;
using LayerFamily = std::vector<const LayerInfo*>;

LayerFamily layers_attention();
LayerFamily layers_batch_norm();
LayerFamily layers_conv();
LayerFamily layers_linear();
LayerFamily layers_embedding();
LayerFamily layers_norm();
LayerFamily layers_pad();
LayerFamily layers_preset();
LayerFamily layers_recurrent();
LayerFamily layers_transformer();

}  // namespace rille::nn
