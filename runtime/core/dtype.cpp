#include "core/dtype.h"

#include <array>
#include <cstdint>
#include <limits>

#include "core/fail.h"

namespace rille {
namespace {

constexpr std::array<DTypeInfo, kDTypes> kInfo{{
    {"f64", "float64", "F64", 64, Category::floating},
    {"f32", "float32", "F32", 32, Category::floating},
    {"f16", "float16", "F16", 16, Category::floating},
    {"bf16", "bfloat16", "BF16", 16, Category::floating},
    {"i64", "int64", "I64", 64, Category::integer},
    {"i32", "int32", "I32", 32, Category::integer},
    {"i16", "int16", "I16", 16, Category::integer},
    {"i8", "int8", "I8", 8, Category::integer},
    {"u8", "uint8", "U8", 8, Category::integer},
    {"bool", "bool", "BOOL", 8, Category::boolean},
    {"f8_e4m3", "float8_e4m3fn", "F8_E4M3", 8, Category::floating},
    {"f8_e5m2", "float8_e5m2", "F8_E5M2", 8, Category::floating},
    {"f8_e8m0", "float8_e8m0fnu", "F8_E8M0", 8, Category::floating},
    {"f8_e4m3fnuz", "float8_e4m3fnuz", "F8_E4M3FNUZ", 8, Category::floating},
    {"f8_e5m2fnuz", "float8_e5m2fnuz", "F8_E5M2FNUZ", 8, Category::floating},
    {"f6_e3m2", "float6_e3m2fn", "F6_E3M2", 6, Category::floating},
    {"f6_e2m3", "float6_e2m3fn", "F6_E2M3", 6, Category::floating},
    {"f4_e2m1", "float4_e2m1fn", "F4", 4, Category::floating},
}};

struct Alias {
  std::string_view text;
  DType dtype;
};
constexpr Alias kAliases[] = {{"double", DType::f64},        {"float", DType::f32},
                              {"half", DType::f16},          {"long", DType::i64},
                              {"int", DType::i32},           {"short", DType::i16},
                              {"char", DType::i8},           {"byte", DType::u8},
                              {"f8e4m3fn", DType::f8_e4m3},  {"f8e5m2", DType::f8_e5m2},
                              {"f8e8m0fnu", DType::f8_e8m0}, {"f8e4m3fnuz", DType::f8_e4m3fnuz},
                              {"f6e3m2fn", DType::f6_e3m2},  {"f8e5m2fnuz", DType::f8_e5m2fnuz},
                              {"f6e2m3fn", DType::f6_e2m3},  {"f4e2m1fn", DType::f4_e2m1},
                              {"f8e4m3", DType::f8_e4m3},    {"f8e8m0", DType::f8_e8m0},
                              {"f6e3m2", DType::f6_e3m2},    {"f6e2m3", DType::f6_e2m3},
                              {"f4e2m1", DType::f4_e2m1}};

// In the order of DType, the integers left out. Sources: IEEE 754; OCP 8-bit Floating Point and
// Microscaling Formats, version 1.0; for the fnuz pair torch.finfo.
constexpr FloatInfo kFloats[] = {
    {64, 11, 52, 1023, 1.7976931348623157e308, 2.220446049250313e-16, 2.2250738585072014e-308,
     4.9406564584124654e-324, 1e-15},
    {32, 8, 23, 127, 3.4028234663852886e38, 1.1920928955078125e-7, 1.1754943508222875e-38,
     1.401298464324817e-45, 1e-6},
    {16, 5, 10, 15, 65504, 9.765625e-4, 6.103515625e-5, 5.960464477539063e-8, 1e-3},
    {16, 8, 7, 127, 3.3895313892515355e38, 0.0078125, 1.1754943508222875e-38, 9.183549615799121e-41,
     1e-2},
    {8, 4, 3, 7, 448, 0.125, 0x1p-6, 0x1p-9, 1, false, true, true, true, true},
    {8, 5, 2, 15, 57344, 0.25, 0x1p-14, 0x1p-16, 1},
    {8, 8, 0, 127, 0x1p127, 1, 0x1p-127, 0, 1, false, true, false, false},
    {8, 4, 3, 8, 240, 0.125, 0x1p-7, 0x1p-10, 1, false},
    {8, 5, 2, 16, 57344, 0.25, 0x1p-15, 0x1p-17, 1, false},
    {6, 3, 2, 3, 28, 0.25, 0.25, 0.0625, 1, false, false, true, true, true},
    {6, 2, 3, 1, 7.5, 0.125, 1, 0.125, 1, false, false, true, true, true},
    {4, 2, 1, 1, 6, 0.5, 1, 0.5, 1, false, false, true, true, true},
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

std::string dtype_names() {
  std::string out;
  for (const DTypeInfo& i : kInfo) {
    if (i.name.ends_with("fnuz")) continue;
    if (!out.empty()) out += ' ';
    out += i.name;
  }
  return out;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_narrow(a) || is_narrow(b))
    throw fail(Kind::dtype, "E_F8_PROMOTE", "{} and {} do not promote to a common dtype", name(a),
               name(b))
        .hint(fmt::format("convert the {} one first: x:to \"f32\"", name(is_narrow(a) ? a : b)));
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (is_float(a)) {
    if (a > b) std::swap(a, b);
    return a >= DType::f16 ? DType::f32 : a;  // f16 and bf16 meet in f32
  }
  if (a > b) std::swap(a, b);  // declared from wide to narrow: a is the wider, u8 comes last
  return b == DType::u8 && a == DType::i8 ? DType::i16 : a;
}

const FloatInfo& float_info(DType d) {
  constexpr size_t integers = static_cast<size_t>(DType::f8_e4m3) - static_cast<size_t>(DType::i64);
  return kFloats[static_cast<size_t>(d) - (is_narrow(d) ? integers : 0)];
}

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
