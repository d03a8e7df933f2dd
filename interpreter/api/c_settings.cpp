// The C interface: number formats, and what tensors are made as when nothing else is said.
#include "interpreter/api/c_handles.h"

using rille::capi::copy_text, rille::capi::given, rille::capi::guarded, rille::capi::text;
using rille::v1::Dtype, rille::v1::Error, rille::v1::ErrorKind;

static_assert(static_cast<int>(Dtype::f64) == RILLE_F64 &&
              static_cast<int>(Dtype::boolean) == RILLE_BOOL &&
              static_cast<int>(Dtype::f4_e2m1) == RILLE_F4_E2M1);

namespace rille::capi {

namespace {

bool is_dtype(rille_dtype dtype) { return dtype >= RILLE_F64 && dtype <= RILLE_F4_E2M1; }

}  // namespace

v1::Dtype dtype_of(rille_dtype dtype) {
  if (!is_dtype(dtype))
    throw Error(ErrorKind::dtype, "E_DTYPE", std::to_string(dtype) + " is no dtype",
                "RILLE_F64 to RILLE_F4_E2M1 are");
  return static_cast<Dtype>(dtype);
}

void copy_text(const std::string& from, char* out, size_t size, const char* what) {
  if (from.size() >= size)
    throw Error(ErrorKind::argument, "E_ARG",
                std::string(what) + " needs " + std::to_string(from.size() + 1) + " bytes");
  std::memcpy(&given(out, "the place"), from.c_str(), from.size() + 1);
}

}  // namespace rille::capi

// Names of dtypes are literals: a zero follows them.
const char* rille_dtype_name(rille_dtype dtype) {
  return rille::capi::is_dtype(dtype) ? name(static_cast<Dtype>(dtype)).data() : nullptr;
}
size_t rille_dtype_size(rille_dtype dtype) {
  return rille::capi::is_dtype(dtype) ? size_of(static_cast<Dtype>(dtype)) : 0;
}
rille_status rille_dtype_parse(const char* from, rille_dtype* out, rille_error** error) {
  return guarded(error, [&] {
    given(out, "the place") = static_cast<rille_dtype>(rille::v1::parse_dtype(text(from, "it")));
  });
}

rille_status rille_default_device(char* out, size_t size, rille_error** error) {
  return guarded(
      error, [&] { copy_text(to_string(rille::v1::default_device()), out, size, "the device"); });
}
rille_status rille_set_default_device(const char* device, rille_error** error) {
  return guarded(error, [&] { rille::v1::set_default_device(text(device, "the device")); });
}
rille_dtype rille_default_dtype(void) {
  return static_cast<rille_dtype>(rille::v1::default_dtype());
}
rille_status rille_set_default_dtype(rille_dtype dtype, rille_error** error) {
  return guarded(error, [&] { rille::v1::set_default_dtype(rille::capi::dtype_of(dtype)); });
}
