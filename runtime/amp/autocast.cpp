#include "amp/autocast.h"

#include <algorithm>

#include "core/fail.h"

namespace rille::amp {
namespace {

constexpr std::string_view kTypes[kDeviceTypes] = {"cpu", "cuda", "meta"};

[[noreturn]] void no_policy(std::string_view name) {
  throw option_error("'{}' is no autocast policy", name)
      .fact("takes: lower, f32, f32_out, widest, follow, banned");
}

Autocast policy_named(std::string_view text) {
  if (text == "fp32") return Autocast::f32;
  for (const Autocast a : {Autocast::follow, Autocast::lower, Autocast::f32, Autocast::f32_out,
                           Autocast::widest, Autocast::banned})
    if (name(a) == text) return a;
  no_policy(text);
}

std::vector<AutocastRule> rules_of(const AutocastOptions& options) {
  std::vector<AutocastRule> rules;
  if (options.lists == AutocastLists::torch_cpu) rules = torch_cpu_rules();
  for (const auto& [op_name, policy] : options.rules) {
    const OpInfo* op = find_public_op(op_name);
    if (!op)
      throw option_error("a rule for '{}', which is no op", op_name)
          .hint("rille.ops() lists them with their policies");
    std::erase_if(rules, [&](const AutocastRule& r) { return r.op == op; });
    rules.push_back({op, policy_named(policy), AutocastRule::From::script});
  }
  std::sort(rules.begin(), rules.end(),
            [](const AutocastRule& a, const AutocastRule& b) { return a.op < b.op; });
  return rules;
}

}  // namespace

AutocastLists lists_named(std::string_view name) {
  if (name == "cuda") return AutocastLists::cuda;
  if (name == "torch-cpu") return AutocastLists::torch_cpu;
  throw arg_error("'policy' must be 'cuda' or 'torch-cpu', got '{}'", name);
}

DeviceType device_type(std::string_view device) {
  if (device == "auto") return parse_device(device).type;
  const std::string_view type = device.substr(0, device.find(':'));
  for (int i = 0; i < kDeviceTypes; ++i)
    if (type == kTypes[i]) return static_cast<DeviceType>(i);
  throw fail(Kind::device, "E_AMP_DEVICE", "'{}' is no device type", device)
      .hint("cpu, cuda, meta or auto");
}

DType default_dtype(DeviceType device) {
  return device == DeviceType::cuda ? DType::f16 : DType::bf16;
}

Availability is_available(std::string_view device, std::optional<DType> dtype) {
  const DeviceType type = device_type(device);
  const DType d = dtype.value_or(default_dtype(type));
  if (d != DType::f16 && d != DType::bf16)
    return {false, fmt::format("autocast computes in f16 or bf16, not in {}", name(d))};
  if (type == DeviceType::cuda) return {false, "there is no CUDA device here"};
  return {true, ""};
}

EnteredMode entered(const AutocastOptions& options, const AutocastMode& outside) {
  EnteredMode in{outside, ""};
  const DeviceType type = device_type(options.device);
  AutocastDevice& device = in.mode.devices[static_cast<size_t>(type)];
  device.dtype = options.dtype.value_or(default_dtype(type));
  device.rules = rules_of(options);
  device.enabled = options.enabled;
  in.mode.cache = options.cache;
  if (!options.enabled) return in;
  if (device.dtype != DType::f16 && device.dtype != DType::bf16 && !options.lenient)
    throw fail(Kind::dtype, "E_AMP_DTYPE", "ops on {} can't be cast to {}",
               kTypes[static_cast<size_t>(type)], name(device.dtype))
        .hint("dtype = \"bf16\" or \"f16\"");
  if (const Availability a = is_available(options.device, device.dtype); !a.available) {
    device.enabled = false;
    in.warning = a.reason + ": the scope does nothing";
  }
  return in;
}

}  // namespace rille::amp
