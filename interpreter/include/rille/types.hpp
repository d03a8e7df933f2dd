// Number formats, devices, shapes: what tensors are described with.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rille/api.h"

namespace rille::RILLE_V1 {

/// From f8_e4m3 on: for storage. Tensors of these are converted, moved and compared. Who is given a
/// number that is none of these throws E_DTYPE.
enum class Dtype : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u8,
  boolean,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f6_e3m2,
  f6_e2m3,
  f4_e2m1
};

/// "f32"
RILLE_API std::string_view name(Dtype dtype);
/// Bytes of an element; 1 where several share a byte (f6, f4): Tensor::nbytes() counts those.
RILLE_API size_t size_of(Dtype dtype);
/// Reads "f32", and PyTorch's "float32" and "float8_e4m3fn". Throws E_DTYPE.
RILLE_API Dtype parse_dtype(std::string_view text);
RILLE_API std::ostream& operator<<(std::ostream& out, Dtype dtype);

/// Numbers that a tensor's memory can be read as. Half floats have no C++ type here.
template <class T>
concept Element = std::is_same_v<T, bool> || std::is_same_v<T, float> ||
    std::is_same_v<T, double> ||(std::is_integral_v<T> && (std::is_signed_v<T> || sizeof(T) == 1));

/// The dtype whose elements are T: f32 for float.
template <Element T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return Dtype::boolean;
  if constexpr (std::is_same_v<T, double>) return Dtype::f64;
  if constexpr (std::is_same_v<T, float>) return Dtype::f32;
  if constexpr (!std::is_signed_v<T>) return Dtype::u8;
  return sizeof(T) == 8   ? Dtype::i64
         : sizeof(T) == 4 ? Dtype::i32
         : sizeof(T) == 2 ? Dtype::i16
                          : Dtype::i8;
}

/// Where a tensor lives. cpu:0, cpu:1, ... share memory and kernels; meta has shapes only.
struct RILLE_API Device {
  enum class Type : uint8_t { cpu, cuda, meta };
  Type type = Type::cpu;
  uint8_t index = 0;

  constexpr Device() = default;
  constexpr Device(Type device_type, uint8_t device_index = 0)
      : type(device_type), index(device_index) {}
  /// "cpu", "cpu:1", "cuda:0", "meta", or "auto": cuda where there is one, else cpu. Throws E_ARG
  /// for what is no device, E_NO_DEVICE for one that this machine lacks.
  Device(const char* text);
  Device(std::string_view text);
  Device(const std::string& text);

  bool operator==(const Device&) const = default;
};
/// "cpu:1"
RILLE_API std::string to_string(Device device);
RILLE_API std::ostream& operator<<(std::ostream& out, Device device);

/// Sizes, strides or dims; dims count from 0, negative ones from the end.
using Shape = std::vector<int64_t>;

/// Where, and in which format, tensors are made when nothing else is said; one setting a thread.
RILLE_API Device default_device();
RILLE_API void set_default_device(Device device);
RILLE_API Dtype default_dtype();
/// Throws E_DTYPE for one that is no float.
RILLE_API void set_default_dtype(Dtype dtype);

}  // namespace rille::RILLE_V1
