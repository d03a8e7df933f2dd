// Where a tensor lives. cpu:0 and cpu:1 are logical devices of the same memory; meta has shapes
// only; cuda is served by a second library, opened when first asked for.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace rille {

enum class DeviceType : uint8_t { cpu, cuda, meta };
inline constexpr int kDeviceTypes = 3;

struct Device {
  DeviceType type = DeviceType::cpu;
  uint8_t index = 0;
  bool operator==(const Device&) const = default;
  bool is_cpu() const { return type == DeviceType::cpu; }
  bool is_meta() const { return type == DeviceType::meta; }
};

/// "cpu", "cpu:1", "cuda:0", "meta".
std::string to_string(Device d);
/// Reads the same, and "auto" (cuda where there is one, else cpu). Throws E_ARG for what is no
/// device and E_NO_DEVICE for one that this machine lacks.
Device parse_device(std::string_view text);

}  // namespace rille
