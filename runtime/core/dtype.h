// The number formats. Values are stable: files, kernels and the script API share this one list.
// Narrow floats (eight bits or fewer) are for storage: ops convert them, move them and compare them
// and compute in another (core/narrow.h has their codes). Those below eight bits lie packed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rille {

enum class DType : uint8_t {
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
inline constexpr int kDTypes = 18;

/// Promotion looks at the category first: boolean < integer < floating.
enum class Category : uint8_t { boolean, integer, floating };

struct DTypeInfo {
  std::string_view name;   // "f32"
  std::string_view torch;  // "float32", accepted as an alias; where it has none, ml_dtypes' name
  std::string_view tag;    // "F32", safetensors' spelling
  uint8_t bits;            // of an element
  Category category;
};

const DTypeInfo& info(DType d);
/// Bytes of an element; of a packed format 1, which is what its code takes while a kernel works on
/// it. How much memory elements take is bytes_of's to say.
inline size_t size_of(DType d) {
  static constexpr uint8_t bytes[kDTypes] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  return bytes[static_cast<int>(d)];
}
/// A float that ops compute in.
inline bool is_float(DType d) { return d <= DType::bf16; }
/// A float for storage, of eight bits or fewer.
inline bool is_narrow(DType d) { return d >= DType::f8_e4m3; }
/// Elements share bytes: four 6-bit values lie in three, two 4-bit ones in one, the first lowest.
inline bool is_packed(DType d) { return d >= DType::f6_e3m2; }
inline bool is_integer(DType d) { return d >= DType::i64 && d <= DType::u8; }
inline Category category(DType d) {
  return is_float(d) || is_narrow(d) ? Category::floating
         : d == DType::boolean       ? Category::boolean
                                     : Category::integer;
}
inline int bits_of(DType d) {
  return !is_packed(d) ? 8 * static_cast<int>(size_of(d)) : d == DType::f4_e2m1 ? 4 : 6;
}
/// What n elements take, the last byte of packed ones whole.
inline int64_t bytes_of(DType d, int64_t n) {
  return is_packed(d) ? (n * bits_of(d) + 7) / 8 : n * static_cast<int64_t>(size_of(d));
}
inline std::string_view name(DType d) { return info(d).name; }

/// Our name, PyTorch's ("float32", "half", "float8_e4m3fn"), a short one ("f8e4m3fn") or nothing.
std::optional<DType> parse_dtype(std::string_view text);
/// The names for hints, "f64 f32 ...": all but the fnuz pair, which is there for its files alone.
std::string dtype_names();

/// The dtype that holds both: higher category wins, then the wider one (semantics 2.1.3). Throws
/// E_F8_PROMOTE for a narrow float and anything else.
DType promote(DType a, DType b);

/// Limits of a floating format, as numpy's and PyTorch's finfo give them.
struct FloatInfo {
  int bits, exp_bits, mant_bits, bias;
  double max, eps, smallest_normal, smallest_subnormal, resolution;  // no subnormals: 0
  bool has_inf = true, has_nan = true, has_zero = true, is_signed = true;
  bool saturates = false;  // casts make what is beyond its range its largest value, unless told
  double min() const { return is_signed ? -max : smallest_normal; }
};
const FloatInfo& float_info(DType d);

/// Limits of an integer format.
struct IntInfo {
  int bits;
  int64_t min, max;
};
IntInfo int_info(DType d);

}  // namespace rille
