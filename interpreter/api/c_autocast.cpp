// The C interface: scopes of autocast.
#include <algorithm>

#include "amp/autocast.h"
#include "interpreter/api/c_options.h"
#include "interpreter/api/inside.h"

using rille::capi::given, rille::capi::guarded, rille::capi::made, rille::capi::text;

namespace rille::capi {
namespace {

amp::AutocastOptions options_from(const rille_value* from) {
  amp::AutocastOptions o;
  o.device = to_string(v1::default_device());
  std::string policy = "cuda";
  std::optional<std::string> dtype;
  std::optional<std::map<std::string, std::string>> rules;
  Options read(from);
  read("device", o.device);
  read("dtype", dtype);
  read("enabled", o.enabled);
  read("cache", o.cache);
  read("policy", policy);
  read("rules", rules);
  read("lenient", o.lenient);
  read.refuse_others();
  if (dtype) o.dtype = api::dtype_of(v1::parse_dtype(*dtype));
  o.lists = amp::lists_named(policy);
  if (rules) o.rules.assign(rules->begin(), rules->end());
  return o;
}

}  // namespace
}  // namespace rille::capi

rille_status rille_autocast_enter(const rille_value* options, uint32_t* before,
                                  rille_error** error) {
  return guarded(error, [&] {
    uint32_t& place = given(before, "the place for what was before");
    rille::api::guarded("autocast", [&] {
      const auto& outside = rille::autocast_mode(rille::Context::current().flags);
      const auto in = rille::amp::entered(rille::capi::options_from(options), outside);
      place = rille::set_autocast(rille::autocast_bits(in.mode));
    });
  });
}
void rille_autocast_leave(uint32_t before) { rille::set_autocast(before); }

int rille_autocast_active(const char* device, rille_dtype* dtype) {
  int active = 0;
  guarded(nullptr, [&] {
    const rille::DeviceType type = rille::amp::device_type(text(device, "the device"));
    const uint32_t flags = rille::Context::current().flags;
    const auto& d = rille::autocast_mode(flags).devices[static_cast<size_t>(type)];
    active = (flags & rille::kAutocast) && d.enabled;
    if (active && dtype) *dtype = static_cast<rille_dtype>(d.dtype);
  });
  return active;
}

int rille_autocast_available(const char* device, rille_dtype dtype, char* reason, size_t size) {
  rille::amp::Availability a{false, ""};
  const rille_status status = guarded(nullptr, [&] {
    a = rille::amp::is_available(text(device, "the device"),
                                 rille::api::dtype_of(rille::capi::dtype_of(dtype)));
  });
  if (status != RILLE_OK) a.reason = "there is no such device type";
  if (reason && size > 0) {
    const size_t n = std::min(size - 1, a.reason.size());
    std::copy_n(a.reason.data(), n, reason);
    reason[n] = 0;
  }
  return a.available;
}
