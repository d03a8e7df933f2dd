#include "core/device.h"

#include <charconv>

#include "core/fail.h"

namespace rille {

std::string to_string(Device d) {
  switch (d.type) {
    case DeviceType::cpu: return d.index ? fmt::format("cpu:{}", d.index) : "cpu";
    case DeviceType::cuda: return fmt::format("cuda:{}", d.index);
    case DeviceType::meta: return "meta";
  }
  return "?";
}

Device parse_device(std::string_view text) {
  if (text == "auto") return {};
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  unsigned index = 0;
  bool good = kind == "cpu" || kind == "cuda" || (kind == "meta" && colon == text.npos);
  if (good && colon != text.npos) {
    const char *first = text.data() + colon + 1, *last = text.data() + text.size();
    const auto [end, status] = std::from_chars(first, last, index);
    good = first != last && end == last && status == std::errc() && index < 64;
  }
  if (!good)
    throw arg_error("'{}' is no device", text).hint("cpu, cpu:1, cuda, cuda:1, meta or auto");
  if (kind == "cuda")
    throw fail(Kind::device, "E_NO_DEVICE", "there is no device '{}' here (available: cpu, meta)",
               text);
  return {kind == "meta" ? DeviceType::meta : DeviceType::cpu, static_cast<uint8_t>(index)};
}

}  // namespace rille
