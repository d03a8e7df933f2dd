// Autocast: inside a scope ops take their arguments in the dtype that suits them, products in f16
// or bf16, sums and losses in f32. Parameters and their gradients stay as they are.
//
//   { amp::Autocast scope{{.dtype = Dtype::bf16}}; loss = mse_loss(model(x), y); }
//   loss.backward();                                  // outside: it uses the dtypes of the forward
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rille/tensor.hpp"

namespace rille::RILLE_V1::amp {

struct AutocastOptions {
  std::optional<Device> device{};  // whose tensors; default: the default device
  std::optional<Dtype> dtype{};    // f16 or bf16; default: f16 on cuda, else bf16
  bool enabled = true;             // false: off, inside a scope that is on
  bool cache = true;               // each weight is cast once, not at each use
  std::string policy = "cuda";     // whose lists of ops; or "torch-cpu"
  /// Over the lists: names of ops and lower, f32, f32_out, widest, follow or banned.
  std::vector<std::pair<std::string, std::string>> rules{};
  bool lenient = false;  // a dtype that can't be switches the scope off, without an error
};

/// Of this thread, while it lives; scopes nest. Where there is no such device it does nothing.
/// Throws E_AMP_DTYPE, E_ARG, E_OPTION for an op or a policy that is not known.
class [[nodiscard]] Autocast {
 public:
  RILLE_API explicit Autocast(const AutocastOptions& options = {});
  RILLE_API ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  uint32_t before_;
};

/// What ops of the device are cast to on this thread now; nothing outside of scopes.
RILLE_API std::optional<Dtype> autocast_dtype(Device device = default_device());

/// Whether ops of the device can be cast to `dtype` (default: as in a scope); if not, `reason` (may
/// be null) gets why.
RILLE_API bool is_available(Device device, std::optional<Dtype> dtype = {},
                            std::string* reason = nullptr);

}  // namespace rille::RILLE_V1::amp
