// Autocast for hosts: rille/autocast.hpp.
#include "rille/autocast.hpp"

#include "amp/autocast.h"
#include "interpreter/api/inside.h"

namespace rille::v1::amp {
namespace {

namespace engine = rille::amp;

std::optional<rille::DType> engine_dtype(std::optional<Dtype> dtype) {
  if (!dtype) return {};
  return api::dtype_of(*dtype);
}

engine::AutocastOptions engine_options(const AutocastOptions& given) {
  engine::AutocastOptions o;
  o.device = to_string(given.device.value_or(default_device()));
  o.dtype = engine_dtype(given.dtype);
  o.enabled = given.enabled;
  o.cache = given.cache;
  o.lenient = given.lenient;
  o.lists = engine::lists_named(given.policy);
  o.rules = given.rules;
  return o;
}

}  // namespace

Autocast::Autocast(const AutocastOptions& options)
    : before_(api::guarded("Autocast", [&] {
        const AutocastMode& outside = autocast_mode(Context::current().flags);
        return set_autocast(autocast_bits(engine::entered(engine_options(options), outside).mode));
      })) {}
Autocast::~Autocast() { set_autocast(before_); }

std::optional<Dtype> autocast_dtype(Device device) {
  const uint32_t flags = Context::current().flags;
  const AutocastDevice& d = autocast_mode(flags).devices[static_cast<size_t>(device.type)];
  if (!(flags & kAutocast) || !d.enabled) return {};
  return api::dtype_of(d.dtype);
}

bool is_available(Device device, std::optional<Dtype> dtype, std::string* reason) {
  return api::guarded("is_available", [&] {
    const engine::Availability a = engine::is_available(to_string(device), engine_dtype(dtype));
    if (reason) *reason = a.reason;
    return a.available;
  });
}

}  // namespace rille::v1::amp
