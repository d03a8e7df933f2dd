#include "rille/types.hpp"

#include <ostream>

#include "core/context.h"
#include "core/fail.h"
#include "interpreter/api/inside.h"

namespace rille::api {

static_assert(static_cast<int>(v1::Dtype::boolean) == static_cast<int>(DType::boolean));
static_assert(static_cast<int>(v1::Dtype::f4_e2m1) == static_cast<int>(DType::f4_e2m1));
static_assert(static_cast<int>(v1::Device::Type::meta) == static_cast<int>(DeviceType::meta));

DType dtype_of(v1::Dtype d) {
  if (d > v1::Dtype::f4_e2m1) throw dtype_error("{} is no dtype", static_cast<int>(d));
  return static_cast<DType>(d);
}

Device device_of(v1::Device d) {
  const Device same{static_cast<DeviceType>(d.type), d.index};
  return parse_device(to_string(same));  // is it here?
}
v1::Device device_of(Device d) { return {static_cast<v1::Device::Type>(d.type), d.index}; }

}  // namespace rille::api

namespace rille::v1 {

std::string_view name(Dtype dtype) {
  return api::guarded("name", [&] { return rille::name(api::dtype_of(dtype)); });
}
size_t size_of(Dtype dtype) {
  return api::guarded("size_of", [&] { return rille::size_of(api::dtype_of(dtype)); });
}
std::ostream& operator<<(std::ostream& out, Dtype dtype) { return out << name(dtype); }

Dtype parse_dtype(std::string_view text) {
  return api::guarded("parse_dtype", [&] {
    if (const auto d = rille::parse_dtype(text)) return api::dtype_of(*d);
    throw dtype_error("'{}' is no dtype", text).hint("dtypes: " + dtype_names());
  });
}

Device::Device(std::string_view text) {
  *this = api::guarded("device", [&] { return api::device_of(parse_device(text)); });
}
Device::Device(const char* text) : Device(std::string_view(text ? text : "")) {}
Device::Device(const std::string& text) : Device(std::string_view(text)) {}

std::string to_string(Device device) {
  return rille::to_string(rille::Device{static_cast<rille::DeviceType>(device.type), device.index});
}
std::ostream& operator<<(std::ostream& out, Device device) { return out << to_string(device); }

Device default_device() { return api::device_of(Context::current().default_device); }
void set_default_device(Device device) {
  api::guarded("set_default_device",
               [&] { Context::current().default_device = api::device_of(device); });
}
Dtype default_dtype() { return api::dtype_of(Context::current().default_dtype); }
void set_default_dtype(Dtype dtype) {
  api::guarded("set_default_dtype", [&] {
    const DType d = api::dtype_of(dtype);
    if (!is_float(d))
      throw dtype_error("the default dtype must be f64, f32, f16 or bf16, got {}", rille::name(d));
    Context::current().default_dtype = d;
  });
}

void seed(uint64_t value) { Context::current().generator = {value, 0}; }

}  // namespace rille::v1
