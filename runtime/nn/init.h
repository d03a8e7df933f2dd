// How the tensors of layers begin: PyTorch's rules. Parameters come back as leaves that ask for
// gradients. On meta nothing is drawn.
#pragma once
#include <optional>

#include "core/tensor.h"

namespace rille::nn {

/// Where a layer's tensors live; nothing stands for the context's defaults.
struct Place {
  std::optional<Device> device;
  std::optional<DType> dtype;
};
template <class Options>
Place place_of(const Options& o) {
  return {o.device, o.dtype};
}

/// Drawn from [-bound, bound).
Tensor uniform_parameter(const Shape& shape, double bound, const Place& place);
/// Drawn from the normal distribution.
Tensor normal_parameter(const Shape& shape, const Place& place);
Tensor constant_parameter(const Shape& shape, double value, const Place& place);
Tensor constant_buffer(const Shape& shape, double value, const Place& place);

/// 1 / sqrt(fan_in), the bound of weights and biases of linear layers and convolutions (Kaiming's
/// rule with a = sqrt(5)); 0 of none.
double fan_bound(int64_t fan_in);

/// Throws E_ARG where a size is negative (or 0, where it must be `least` 1).
void check_size(int64_t size, std::string_view option, int64_t least = 0);

}  // namespace rille::nn
