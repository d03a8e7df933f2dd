// The narrow formats against ml_dtypes (narrow_tables.h; scripts/dev/narrow_tables.py made it).
// They agree in every code and every number but where Rille differs on purpose:
//   f8_e4m3     what is beyond 448 saturates unless told not to; ml_dtypes makes nan of it
//   nan         one code a format, without sign: 0x7f (ml_dtypes: 0xff of -nan; 0x7e for f8_e5m2)
//   f6 and f4   nan has no code: casts refuse it, and encode gives +0 (ml_dtypes: -0)
//   f64         is rounded once (ml_dtypes goes through f32)
#include "core/narrow.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/packed.h"
#include "cpu/convert.h"
#include "narrow_tables.h"

using namespace rille;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr uint32_t kEdges[] = {
    0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff,
    0x00000001, 0x807fffff, 0x00400000, 0x005fffff, 0x00600000, 0x00800000, 0x7f3fffff, 0x7f400000,
    0x7f7fffff, 0x43e00000, 0x43e80000, 0x43e80001, 0xc3e88000, 0x43700000, 0x43780000, 0x47600000,
    0x476fffff, 0x47700000, 0xc7700000, 0x41e00000, 0x40f00000, 0x40f80000, 0x40c00000, 0x40e00000};

uint64_t splitmix(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The million numbers, as the script makes them: any bits; near 1; ties and their neighbours;
// edges.
std::vector<float> numbers() {
  std::vector<float> x;
  for (uint64_t i = 0; i < 1000000; ++i) {
    const uint64_t r = splitmix(i), kind = i % 8;
    const uint64_t sign = r >> 63 << 31, exponent = (103 + (r >> 40) % 46) << 23;
    const uint64_t kept = uint64_t{0x7fffff} << (18 + (r >> 56) % 6);
    const uint64_t tie = sign | exponent | (r & 0x7fffff & kept);
    const uint64_t bits = kind < 2   ? r
                          : kind < 4 ? sign | exponent | (r & 0x7fffff)
                          : kind < 6 ? tie
                          : kind < 7 ? tie + (r >> 24) % 3 - 1
                                     : kEdges[(i >> 3) % std::size(kEdges)];
    x.push_back(bits_to_float(static_cast<uint32_t>(bits)));
  }
  return x;
}

// CRC-32 as zlib has it.
uint32_t crc32(const std::vector<uint8_t>& bytes) {
  uint32_t crc = ~0u;
  for (const uint8_t b : bytes) {
    crc ^= b;
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ ((crc & 1) ? 0xedb88320u : 0u);
  }
  return ~crc;
}

int codes_of(DType d) { return 1 << bits_of(d); }

// The same by looking at every value there is: the nearest, of two the one with the even code (of
// f8_e8m0 the greater). For numbers within the format's range.
uint8_t nearest(const NarrowTruth& f, double x) {
  const bool odd_sign = std::signbit(x) && float_info(f.dtype).is_signed;
  int best = -1;
  double distance = INFINITY;
  for (int code = 0; code < codes_of(f.dtype); ++code) {
    const auto v = static_cast<double>(bits_to_float(f.values[code]));
    if (!std::isfinite(v) || std::signbit(v) != odd_sign) continue;
    const double d = std::fabs(v - x);
    const bool wins_tie = f.dtype == DType::f8_e8m0 ? code > best : code % 2 == 0;
    if (d < distance || (d == distance && wins_tie)) {
      best = code;
      distance = d;
    }
  }
  return static_cast<uint8_t>(best);
}

}  // namespace

TEST_CASE("narrow: every code of every format has ml_dtypes' value", "[core]") {
  for (const NarrowTruth& f : kNarrowTruth)
    for (int code = 0; code < codes_of(f.dtype); ++code) {
      INFO(name(f.dtype) << " code " << code);
      const float got = decode(f.dtype, static_cast<uint8_t>(code));
      REQUIRE(float_to_bits(got) == f.values[code]);
    }
}

TEST_CASE("narrow: every value has its code, from f32 and from f64", "[core]") {
  for (const NarrowTruth& f : kNarrowTruth)
    for (int code = 0; code < codes_of(f.dtype); ++code) {
      INFO(name(f.dtype) << " code " << code);
      const float v = bits_to_float(f.values[code]);
      if (std::isnan(v)) continue;  // several codes may be nan
      for (const bool saturate : {false, true}) {
        const bool beyond = saturate && std::isinf(v);
        const uint8_t want = static_cast<uint8_t>(beyond ? code - 1 : code);
        REQUIRE(encode(f.dtype, v, saturate) == want);
        REQUIRE(encode(f.dtype, static_cast<double>(v), saturate) == want);
      }
    }
}

TEST_CASE("narrow: a million numbers become ml_dtypes' codes", "[core]") {
  const std::vector<float> x = numbers();
  for (const NarrowTruth& f : kNarrowTruth) {
    INFO(name(f.dtype));
    std::vector<uint8_t> codes(x.size()), same(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      codes[i] = encode(f.dtype, x[i], false);
      same[i] = encode(f.dtype, static_cast<double>(x[i]), false);
    }
    CHECK(crc32(codes) == f.codes);
    CHECK(codes == same);
  }
}

// torch.from_numpy(numbers()).to(torch.float8_e4m3fn) of PyTorch 2.15 on the CPU, nan as 0x7f.
TEST_CASE("narrow: f8_e4m3 saturates as PyTorch's does", "[core]") {
  std::vector<uint8_t> codes;
  for (const float x : numbers()) codes.push_back(encode<DType::f8_e4m3>(x));
  CHECK(crc32(codes) == 0x830dad3e);
}

TEST_CASE("narrow: saturated, only what was beyond is another code", "[core]") {
  const std::vector<float> x = numbers();
  for (const NarrowTruth& f : kNarrowTruth) {
    const auto most = static_cast<float>(float_info(f.dtype).max);
    for (size_t i = 0; i < x.size(); i += 3) {
      const uint8_t plain = encode(f.dtype, x[i], false), kept = encode(f.dtype, x[i], true);
      const float value = decode(f.dtype, plain);
      INFO(name(f.dtype) << " of " << x[i]);
      const bool has_sign = float_info(f.dtype).is_signed;
      if (!std::isfinite(value) && !std::isnan(x[i]) && (has_sign || x[i] > 0))
        REQUIRE(decode(f.dtype, kept) == std::copysign(most, x[i]));
      else
        REQUIRE(kept == plain);
    }
  }
}

TEST_CASE("narrow: doubles are rounded once, to the nearest value", "[core]") {
  for (const NarrowTruth& f : kNarrowTruth) {
    const FloatInfo& info = float_info(f.dtype);
    for (uint64_t i = 0; i < 4000; ++i) {
      // A tie of the format or near it, and a little beside: f32 has no room for the difference.
      const uint64_t r = splitmix(i);
      const int exponent = static_cast<int>(r % 12) - 6 - (f.dtype == DType::f8_e8m0 ? 100 : 0);
      const double step = std::ldexp(1.0, exponent - info.mant_bits - 1);
      double x = std::ldexp(1.0, exponent) + step * static_cast<double>(r >> 32 & 15);
      x *= 1 + static_cast<double>(static_cast<int>(r >> 40 & 3) - 1) * 0x1p-40;
      if ((r >> 50 & 1) && info.is_signed) x = -x;
      if (std::fabs(x) > info.max) continue;
      INFO(name(f.dtype) << " of " << x);
      const uint8_t code = encode(f.dtype, x, true);
      REQUIRE((code & 0x7f) == (nearest(f, x) & 0x7f));
    }
  }
}

TEST_CASE("narrow: the check vectors of the formats' definition", "[core]") {
  const auto e4m3 = [](float x) { return encode<DType::f8_e4m3>(x); };
  CHECK(e4m3(448) == 0x7e);
  CHECK(e4m3(464) == 0x7e);
  CHECK(e4m3(465) == 0x7e);
  CHECK(encode<DType::f8_e4m3>(464.f, false) == 0x7e);
  CHECK(encode<DType::f8_e4m3>(465.f, false) == 0x7f);
  CHECK(e4m3(0x1p-9f) == 0x01);
  CHECK(e4m3(0x1p-10f) == 0x00);
  CHECK(e4m3(1.0001f * 0x1p-10f) == 0x01);
  CHECK(e4m3(1.0625f) == 0x38);
  CHECK(e4m3(1.1875f) == 0x3a);
  CHECK(e4m3(-0.f) == 0x80);
  CHECK(e4m3(kInf) == 0x7e);
  CHECK(e4m3(-kInf) == 0xfe);
  CHECK(e4m3(kNan) == 0x7f);
  const auto e5m2 = [](float x) { return encode<DType::f8_e5m2>(x); };
  CHECK(e5m2(1.125f) == 0x3c);
  CHECK(e5m2(1.375f) == 0x3e);
  CHECK(e5m2(0x1p-17f) == 0x00);
  CHECK(e5m2(1.0001f * 0x1p-17f) == 0x01);
  CHECK(e5m2(61439) == 0x7b);
  CHECK(e5m2(61440) == 0x7c);
  CHECK(encode<DType::f8_e5m2>(61440.f, true) == 0x7b);
  CHECK(e5m2(kNan) == 0x7f);
  CHECK(encode<DType::f8_e4m3fnuz>(kInf) == 0x80);
  CHECK(encode<DType::f8_e5m2fnuz>(-0.f) == 0x00);
  CHECK(f16_bits(1 + 0x1p-11f) == 0x3c00);
  CHECK(f16_bits(1 + 3 * 0x1p-11f) == 0x3c02);
  CHECK(f16_bits(0x1p-25f) == 0);
  CHECK(f16_bits(1.0001f * 0x1p-25f) == 1);
  CHECK(bf16_bits(1 + 0x1p-8f) == 0x3f80);
  CHECK(bf16_bits(1 + 3 * 0x1p-8f) == 0x3f82);
  CHECK(bf16_bits(4.5e-41f) == 0);
}

TEST_CASE("narrow: the check vectors of six and four bits, and of exponents", "[core]") {
  const auto value = [](DType d, float x) { return decode(d, encode(d, x, true)); };
  const float e2m1[][2] = {{.25f, 0}, {.26f, .5f}, {.75f, 1}, {1.25f, 1}, {1.75f, 2},
                           {2.5f, 2}, {3.5f, 4},   {5, 4},    {7, 6},     {-kInf, -6}};
  for (const auto& [x, y] : e2m1) CHECK(value(DType::f4_e2m1, x) == y);
  CHECK(value(DType::f6_e2m3, 7.75f) == 7.5f);
  CHECK(value(DType::f6_e3m2, 7.5f) == 8);
  CHECK(value(DType::f6_e3m2, .0625f) == .0625f);
  CHECK(value(DType::f6_e3m2, .03125f) == 0);
  CHECK(encode<DType::f4_e2m1>(kNan) == 0);
  const float e8m0[][2] = {{1.5f, 2}, {.75f, 1}, {3, 4}, {1.49f, 1}, {1e-45f, 0x1p-127f}};
  for (const auto& [x, y] : e8m0) CHECK(value(DType::f8_e8m0, x) == y);
  for (const float x : {0.f, -1.f, kNan, kInf, 0x1.8p127f})
    CHECK(encode<DType::f8_e8m0>(x) == 0xff);
  CHECK(encode<DType::f8_e8m0>(kInf, true) == 0xfe);
}

TEST_CASE("narrow: loops over memory give the same codes as one by one", "[core]") {
  std::vector<float> x = numbers();
  x.resize(5003);
  for (const NarrowTruth& f : kNarrowTruth) {
    std::vector<uint8_t> codes(x.size());
    std::vector<float> back(x.size());
    const auto n = static_cast<int64_t>(x.size());
    cpu::convert(DType::f32, x.data(), f.dtype, codes.data(), n);
    cpu::convert(f.dtype, codes.data(), DType::f32, back.data(), n);
    for (size_t i = 0; i < x.size(); ++i) {
      INFO(name(f.dtype) << " of " << x[i]);
      REQUIRE(codes[i] == encode(f.dtype, x[i], float_info(f.dtype).saturates));
      REQUIRE(float_to_bits(back[i]) == f.values[codes[i]]);
    }
  }
}

TEST_CASE("packed: codes lie at the next free bit, the first lowest", "[core]") {
  uint8_t memory[6] = {};
  const uint8_t fours[] = {1, 2, 15, 4};
  pack(DType::f4_e2m1, fours, 4, memory, 0);
  CHECK(memory[0] == 0x21);
  CHECK(memory[1] == 0x4f);
  const uint8_t sixes[] = {1, 2, 3, 63};
  pack(DType::f6_e3m2, sixes, 4, memory, 0);
  CHECK((memory[0] | memory[1] << 8 | memory[2] << 16) == (1 | 2 << 6 | 3 << 12 | 63 << 18));
}

TEST_CASE("packed: any stretch is written and read, and its neighbours stay", "[core]") {
  for (const DType d : {DType::f4_e2m1, DType::f6_e3m2}) {
    const int mask = (1 << bits_of(d)) - 1;
    for (int64_t first = 0; first < 9; ++first)
      for (int64_t n = 0; n < 20; ++n) {
        std::vector<uint8_t> memory(30, 0xff), codes, back(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i)
          codes.push_back(static_cast<uint8_t>(splitmix(static_cast<uint64_t>(i)) & 255));
        pack(d, codes.data(), n, memory.data(), first);
        unpack(d, memory.data(), first, n, back.data());
        for (int64_t i = 0; i < 40; ++i) {
          const bool inside = i >= first && i < first + n;
          const int want = inside ? codes[static_cast<size_t>(i - first)] & mask : mask;
          REQUIRE(packed_code(d, memory.data(), i) == want);
          if (inside) REQUIRE(back[static_cast<size_t>(i - first)] == want);
        }
      }
  }
}
