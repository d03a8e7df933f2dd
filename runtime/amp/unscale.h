// Gradients divided by the scale of their loss, all in one sweep, with a look for values that are
// not finite.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/tensor.h"

namespace rille::amp {

/// A parameter whose gradient is to be unscaled.
struct ScaledParam {
  Tensor param;
  std::string name;     // for errors
  bool master = false;  // its optimizer steps an f32 copy of it
};

/// Adds lines to an error as facts: five, and how many more there are.
void list_facts(Error& e, std::span<const std::string> lines);

/// Multiplies every gradient by `inverse` in place, and clears its mark of being scaled. The f16 or
/// bf16 gradient of a parameter that has a master copy is replaced by an f32 one, so that small
/// values survive. Returns the positions of the gradients that were not finite.
/// Throws E_SCALER_F16_GRADS for other f16 gradients, E_DEVICE_MISMATCH, E_READONLY; then nothing
/// has changed.
std::vector<size_t> unscale(std::span<const ScaledParam> params, double inverse);

}  // namespace rille::amp
