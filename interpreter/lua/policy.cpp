#include "interpreter/lua/policy.h"

#include <algorithm>

#include "core/fail.h"

namespace rille::lua {
namespace {

std::string listed(const std::vector<Device>& devices) {
  std::string out;
  for (const Device d : devices) out += (out.empty() ? "" : ", ") + to_string(d);
  return out;
}

}  // namespace

Device granted_device(const Policy& policy, std::string_view text) {
  if (!policy.devices.empty() && text == "auto") return policy.devices.front();
  const Device d = parse_device(text);
  if (policy.devices.empty() || d.is_meta()) return d;
  if (std::find(policy.devices.begin(), policy.devices.end(), d) == policy.devices.end())
    throw fail(Kind::state, "E_SANDBOX", "the device '{}' is not granted to this script",
               to_string(d))
        .hint(fmt::format("granted: {}", listed(policy.devices)));
  return d;
}

}  // namespace rille::lua
