// The number formats. Values are stable: files, kernels and the script API share this one list.
// The narrow floats (f8, f6, f4) join it with the low-precision work.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rille {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
inline constexpr int kDTypes = 10;

/// Promotion looks at the category first: boolean < integer < floating.
enum class Category : uint8_t { boolean, integer, floating };

struct DTypeInfo {
  std::string_view name;   // "f32"
  std::string_view torch;  // "float32", accepted as an alias
  std::string_view tag;    // "F32", safetensors' spelling
  uint8_t size;            // bytes an element
  Category category;
};

const DTypeInfo& info(DType d);
inline size_t size_of(DType d) {
  constexpr uint8_t bytes[kDTypes] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  return bytes[static_cast<int>(d)];
}
inline bool is_float(DType d) { return d <= DType::bf16; }
inline bool is_integer(DType d) { return d >= DType::i64 && d <= DType::u8; }
inline Category category(DType d) {
  return is_float(d)           ? Category::floating
         : d == DType::boolean ? Category::boolean
                               : Category::integer;
}
inline std::string_view name(DType d) { return info(d).name; }

/// Our name, PyTorch's ("float32", "half", "long") or nothing.
std::optional<DType> parse_dtype(std::string_view text);

/// The dtype that holds both: higher category wins, then the wider one (semantics 2.1.3).
DType promote(DType a, DType b);

/// Limits of a floating format, as numpy's and PyTorch's finfo give them.
struct FloatInfo {
  int bits, exp_bits, mant_bits, bias;
  double max, eps, smallest_normal, smallest_subnormal, resolution;
};
const FloatInfo& float_info(DType d);

/// Limits of an integer format.
struct IntInfo {
  int bits;
  int64_t min, max;
};
IntInfo int_info(DType d);

}  // namespace rille
