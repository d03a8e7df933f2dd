// Autocast scopes as they are asked for: options are checked here and become the mode that the path
// of an op follows (ops/autocast.h). Scripts, C++ hosts and C programs all come by here.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/autocast.h"

namespace rille::amp {

/// Whose lists of ops: PyTorch's for CUDA, on every device; or those of its CPU build, to compare
/// with it.
enum class AutocastLists { cuda, torch_cpu };
/// "cuda" and "torch-cpu". Throws E_ARG for another.
AutocastLists lists_named(std::string_view name);

struct AutocastOptions {
  std::string device = "cpu";       // a type or one device of it: "cpu", "cuda:1", "auto"
  std::optional<DType> dtype = {};  // f16 or bf16; default: f16 on cuda, else bf16
  bool enabled = true;              // false: off inside a scope that is on
  bool cache = true;                // weights are cast once, not at each use
  bool lenient = false;             // a dtype that can't be leaves the scope without effect
  AutocastLists lists = AutocastLists::cuda;
  std::vector<std::pair<std::string, std::string>> rules = {};  // op name, policy name
};

struct EnteredMode {
  AutocastMode mode;
  std::string warning;  // why the scope does nothing, where that is so; else empty
};
/// The mode inside a scope with these options, within `outside`.
/// Throws E_AMP_DEVICE for what is no device type, E_AMP_DTYPE, E_OPTION for an op or a policy that
/// is not known.
EnteredMode entered(const AutocastOptions& options, const AutocastMode& outside);

struct Availability {
  bool available;
  std::string reason;  // why not; or what it is worth here
};
/// Whether ops of a device type can be cast to `dtype` (default: as in a scope).
/// Throws E_AMP_DEVICE.
Availability is_available(std::string_view device, std::optional<DType> dtype);

/// "cpu" of "cpu:1"; "auto" is cuda where there is one. Throws E_AMP_DEVICE.
DeviceType device_type(std::string_view device);
/// The dtype of a scope that names none.
DType default_dtype(DeviceType device);

/// The exceptions of AutocastLists::torch_cpu, in the order of `op` (torch_cpu.cpp).
const std::vector<AutocastRule>& torch_cpu_rules();

}  // namespace rille::amp
