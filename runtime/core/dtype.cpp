#include "core/dtype.h"

#include <array>
#include <cstdint>
#include <limits>

namespace rille {
namespace {

constexpr std::array<DTypeInfo, kDTypes> kInfo{{
    {"f64", "float64", "F64", 8, Category::floating},
    {"f32", "float32", "F32", 4, Category::floating},
    {"f16", "float16", "F16", 2, Category::floating},
    {"bf16", "bfloat16", "BF16", 2, Category::floating},
    {"i64", "int64", "I64", 8, Category::integer},
    {"i32", "int32", "I32", 4, Category::integer},
    {"i16", "int16", "I16", 2, Category::integer},
    {"i8", "int8", "I8", 1, Category::integer},
    {"u8", "uint8", "U8", 1, Category::integer},
    {"bool", "bool", "BOOL", 1, Category::boolean},
}};

struct Alias {
  std::string_view text;
  DType dtype;
};
constexpr Alias kAliases[] = {{"double", DType::f64}, {"float", DType::f32}, {"half", DType::f16},
                              {"long", DType::i64},   {"int", DType::i32},   {"short", DType::i16},
                              {"char", DType::i8},    {"byte", DType::u8}};

constexpr FloatInfo kFloats[] = {
    {64, 11, 52, 1023, 1.7976931348623157e308, 2.220446049250313e-16, 2.2250738585072014e-308,
     4.9406564584124654e-324, 1e-15},
    {32, 8, 23, 127, 3.4028234663852886e38, 1.1920928955078125e-7, 1.1754943508222875e-38,
     1.401298464324817e-45, 1e-6},
    {16, 5, 10, 15, 65504, 9.765625e-4, 6.103515625e-5, 5.960464477539063e-8, 1e-3},
    {16, 8, 7, 127, 3.3895313892515355e38, 0.0078125, 1.1754943508222875e-38, 9.183549615799121e-41,
     1e-2},
};

}  // namespace

const DTypeInfo& info(DType d) { return kInfo[static_cast<size_t>(d)]; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (text == kInfo[i].name || text == kInfo[i].torch) return static_cast<DType>(i);
  for (const Alias& a : kAliases)
    if (text == a.text) return a.dtype;
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (is_float(a)) {
    if (a > b) std::swap(a, b);
    return a >= DType::f16 ? DType::f32 : a;  // f16 and bf16 meet in f32
  }
  if (a > b) std::swap(a, b);  // declared from wide to narrow: a is the wider, u8 comes last
  return b == DType::u8 && a == DType::i8 ? DType::i16 : a;
}

const FloatInfo& float_info(DType d) { return kFloats[static_cast<size_t>(d)]; }

IntInfo int_info(DType d) {
  switch (d) {
    case DType::i64:
      return {64, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    case DType::i32: return {32, INT32_MIN, INT32_MAX};
    case DType::i16: return {16, INT16_MIN, INT16_MAX};
    case DType::i8: return {8, INT8_MIN, INT8_MAX};
    case DType::u8: return {8, 0, UINT8_MAX};
    default: return {8, 0, 1};
  }
}

}  // namespace rille
