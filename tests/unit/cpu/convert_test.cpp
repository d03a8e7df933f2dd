#include "cpu/convert.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/half.h"
#include "core/tensor.h"

using namespace rille;
using cpu::convert;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

template <class To, class From>
To one(DType from, From value, DType to) {
  From in[3] = {value, value, value};
  To out[3];
  convert(from, in, to, out, 3);
  return out[2];
}

// The nearest value of a format with `bits` of mantissa, by the definition of rounding to even.
double rounded(double x, int bits, int min_exp, double max) {
  if (x == 0 || std::isnan(x) || std::isinf(x)) return x;
  const int e = std::max(std::ilogb(x), min_exp);
  const double unit = std::ldexp(1.0, e - bits);
  const double q = std::nearbyint(x / unit) * unit;
  return std::fabs(q) > max ? std::copysign(kInf, x) : q;
}

double value_of(DType d, const void* p) {
  switch (d) {
    case DType::f64: return *static_cast<const double*>(p);
    case DType::f32: return *static_cast<const float*>(p);
    case DType::f16: return *static_cast<const f16*>(p);
    case DType::bf16: return *static_cast<const bf16*>(p);
    case DType::i64: return static_cast<double>(*static_cast<const int64_t*>(p));
    case DType::i32: return *static_cast<const int32_t*>(p);
    case DType::i16: return *static_cast<const int16_t*>(p);
    case DType::i8: return *static_cast<const int8_t*>(p);
    default: return is_narrow(d) ? load_element(d, p) : *static_cast<const uint8_t*>(p);
  }
}

}  // namespace

TEST_CASE("every pair of dtypes keeps small whole numbers", "[convert]") {
  const int64_t n = 1500;  // more than one piece of the two-step paths
  std::vector<double> whole(n);
  for (int64_t i = 0; i < n; ++i) whole[static_cast<size_t>(i)] = static_cast<double>(i % 2);
  for (int a = 0; a < kDTypes; ++a)
    for (int b = 0; b < kDTypes; ++b) {
      const DType from = static_cast<DType>(a), to = static_cast<DType>(b);
      if (from == DType::f8_e8m0 || to == DType::f8_e8m0) continue;  // it has no 0
      std::vector<char> src(8 * n), dst(8 * n), strided(24 * n), back(8 * n);
      convert(DType::f64, whole.data(), from, src.data(), n);
      convert(from, src.data(), to, dst.data(), n);
      cpu::scatter(from, src.data(), n, to, strided.data(), 3);
      cpu::gather(to, strided.data(), 3, n, from, back.data());
      bool same = true;
      for (size_t i = 0; i < whole.size(); ++i) {
        same &= value_of(to, dst.data() + i * size_of(to)) == whole[i];
        same &= value_of(from, back.data() + i * size_of(from)) == whole[i];
      }
      INFO(name(from) << " to " << name(to));
      CHECK(same);
    }
}

TEST_CASE("f64 is rounded once on its way to 16 bits", "[convert]") {
  // Just above a tie of the short format, by less than a float can tell.
  const double bf_tie = 1 + 0x1p-8, f_tie = 1 + 0x1p-11;
  CHECK(float(one<bf16>(DType::f64, bf_tie, DType::bf16)) == 1.0f);
  CHECK(float(one<bf16>(DType::f64, bf_tie + 0x1p-40, DType::bf16)) == 1.0f + 0x1p-7f);
  CHECK(float(one<f16>(DType::f64, f_tie, DType::f16)) == 1.0f);
  CHECK(float(one<f16>(DType::f64, -f_tie - 0x1p-40, DType::f16)) == -1.0f - 0x1p-10f);
  CHECK(float(one<f16>(DType::f64, 1e300, DType::f16)) == float(kInf));
  CHECK(std::isnan(float(one<f16>(DType::f64, kNan, DType::f16))));
  const int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 52);
  CHECK(float(one<bf16>(DType::i64, tie, DType::bf16)) == 0x1p60f);
  CHECK(float(one<bf16>(DType::i64, tie + 1, DType::bf16)) == 0x1p60f * (1 + 0x1p-7f));
  CHECK(float(one<bf16>(DType::i64, -tie - 1, DType::bf16)) == -0x1p60f * (1 + 0x1p-7f));
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double x = std::ldexp(static_cast<double>(static_cast<int64_t>(state)), -63) *
                     std::ldexp(1.0, static_cast<int>(state >> 33) % 45 - 28);
    const float h = one<f16>(DType::f64, x, DType::f16), f = static_cast<float>(x);
    const float b = one<bf16>(DType::f64, x, DType::bf16);
    REQUIRE(h == rounded(x, 10, -14, 65504));
    REQUIRE(b == rounded(x, 7, -126, 3.3895313892515355e38));
    REQUIRE(float(one<f16>(DType::f32, f, DType::f16)) == rounded(f, 10, -14, 65504));
  }
}

TEST_CASE("all f16 and bf16 values survive the way through f32 and f64", "[convert]") {
  std::vector<uint16_t> bits(65536), back(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  for (const DType d : {DType::f16, DType::bf16})
    for (const DType wide : {DType::f32, DType::f64}) {
      std::vector<double> room(65536);
      convert(d, bits.data(), wide, room.data(), 65536);
      convert(wide, room.data(), d, back.data(), 65536);
      const int inf = d == DType::f16 ? 0x7c00 : 0x7f80;
      int wrong = 0;
      for (size_t i = 0; i < bits.size(); ++i) {
        const bool nan = (bits[i] & 0x7fff) > inf;
        wrong += nan ? (back[i] & 0x7fff) <= inf : back[i] != bits[i];
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("floats become integers by truncation and saturate", "[convert]") {
  CHECK(one<int32_t>(DType::f32, 2.9f, DType::i32) == 2);
  CHECK(one<int32_t>(DType::f32, -2.9f, DType::i32) == -2);
  CHECK(one<int32_t>(DType::f32, 3e9f, DType::i32) == INT32_MAX);
  CHECK(one<int32_t>(DType::f64, -kInf, DType::i32) == INT32_MIN);
  CHECK(one<int64_t>(DType::f64, 0x1p63, DType::i64) == INT64_MAX);
  CHECK(one<int64_t>(DType::f64, -0x1p63, DType::i64) == INT64_MIN);
  CHECK(one<int64_t>(DType::f32, 0x1p62f, DType::i64) == int64_t{1} << 62);
  CHECK(one<int64_t>(DType::f64, kNan, DType::i64) == 0);
  CHECK(one<uint8_t>(DType::f32, 255.9f, DType::u8) == 255);
  CHECK(one<uint8_t>(DType::f32, 256.0f, DType::u8) == 255);
  CHECK(one<uint8_t>(DType::f32, -0.5f, DType::u8) == 0);
  CHECK(one<int8_t>(DType::f32, -128.5f, DType::i8) == -128);
  CHECK(one<int8_t>(DType::bf16, bf16(300.0f), DType::i8) == 127);
  CHECK(one<int8_t>(DType::i32, int32_t{300}, DType::i8) == 44);  // integers wrap
  CHECK(one<bool>(DType::f32, 0.1f, DType::boolean));
  CHECK(one<bool>(DType::i64, int64_t{256}, DType::boolean));
  CHECK_FALSE(one<bool>(DType::f64, -0.0, DType::boolean));
}

TEST_CASE("gather walks backwards and repeats", "[convert]") {
  const float x[] = {1, 2, 3, 4};
  double y[4];
  cpu::gather(DType::f32, x + 3, -1, 4, DType::f64, y);
  CHECK((y[0] == 4 && y[1] == 3 && y[2] == 2 && y[3] == 1));
  cpu::gather(DType::f32, x + 1, 0, 4, DType::f64, y);
  CHECK((y[0] == 2 && y[3] == 2));
}
