#include "io/crc32c.h"

#include <array>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rille::io {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78u;

// kTables[k][b]: what byte b does to the sum when k more bytes follow it.
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t c = b;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1u) ? kPolynomial : 0u);
    t[0][b] = c;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xffu];
  return t;
}();

// Sums are polynomials modulo P, the bit of x^0 on top. Appending n zero bits multiplies by x^n.
constexpr uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b >> 1) ^ ((b & 1u) ? kPolynomial : 0u);
  }
  return product;
}

// x^bits
constexpr uint32_t power(uint64_t bits) {
  uint32_t result = 1u << 31, square = 1u << 30;  // x^0, x^1
  for (; bits != 0; bits >>= 1) {
    if (bits & 1u) result = multiply(square, result);
    square = multiply(square, square);
  }
  return result;
}
constexpr uint32_t power_of(uint64_t bytes) { return power(8 * bytes); }

#if defined(__x86_64__)
// The instruction takes three cycles, and one may start in each: three stretches at once.
constexpr size_t kStretch = 4096;

// kBehind[s][k][b]: what byte k of a sum, being b, becomes when s + 1 stretches follow.
using Behind = std::array<std::array<uint32_t, 256>, 4>;
constexpr auto kBehind = [] {
  std::array<Behind, 2> t{};
  for (size_t s = 0; s < 2; ++s)
    for (uint32_t k = 0; k < 4; ++k)
      for (uint32_t b = 0; b < 256; ++b)
        t[s][k][b] = multiply(power_of(kStretch * (s + 1)), b << (8 * k));
  return t;
}();

uint64_t moved(const Behind& t, uint64_t sum) {
  return t[0][sum & 0xffu] ^ t[1][(sum >> 8) & 0xffu] ^ t[2][(sum >> 16) & 0xffu] ^
         t[3][(sum >> 24) & 0xffu];
}
#endif

uint64_t load8(const unsigned char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(const unsigned char* p, size_t n,
                                                        uint32_t crc) {
  uint64_t c = crc;
  for (; n >= 3 * kStretch; p += 3 * kStretch, n -= 3 * kStretch) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kStretch; i += 8) {
      if (i % 64 == 0)
        for (size_t k = 3; k < 6; ++k) __builtin_prefetch(p + k * kStretch + i);
      c = _mm_crc32_u64(c, load8(p + i));
      second = _mm_crc32_u64(second, load8(p + kStretch + i));
      third = _mm_crc32_u64(third, load8(p + 2 * kStretch + i));
    }
    c = moved(kBehind[1], c) ^ moved(kBehind[0], second) ^ third;
  }
  for (; n >= 8; p += 8, n -= 8) c = _mm_crc32_u64(c, load8(p));
  auto rest = static_cast<uint32_t>(c);
  for (; n > 0; ++p, --n) rest = _mm_crc32_u8(rest, *p);
  return rest;
}

// The paper: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel
// 2009. Four registers of four 128-bit parts each hold a polynomial that is congruent to what was
// read. A part, H x^64 + L, is moved on by D bits as H (x^(64 + D) mod P) + L (x^D mod P). Bits are
// in reflected order, in which the product of two 64-bit halves comes out multiplied by x: hence
// one less in both exponents.
constexpr size_t kFolded = 256;  // bytes in the four registers
constexpr uint64_t folding(uint64_t bits) { return uint64_t{power(bits - 1)} << 32; }

__attribute__((target("avx512f,vpclmulqdq,sse4.2"))) uint32_t crc32c_avx512(const unsigned char* p,
                                                                            size_t n,
                                                                            uint32_t crc) {
  constexpr auto high = static_cast<int64_t>(folding(8 * kFolded + 64)),
                 low = static_cast<int64_t>(folding(8 * kFolded));
  const __m512i by = _mm512_set_epi64(low, high, low, high, low, high, low, high);
  __m512i x[4];
  for (size_t k = 0; k < 4; ++k) x[k] = _mm512_loadu_si512(p + 64 * k);
  x[0] =
      _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int32_t>(crc))));
  for (p += kFolded, n -= kFolded; n >= kFolded; p += kFolded, n -= kFolded)
    for (size_t k = 0; k < 4; ++k) {
      __builtin_prefetch(p + 64 * k + 4096);
      x[k] = _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x[k], by, 0x00),
                                       _mm512_clmulepi64_epi128(x[k], by, 0x11),
                                       _mm512_loadu_si512(p + 64 * k), 0x96);  // the xor of three
    }
  unsigned char folded[kFolded];
  for (size_t k = 0; k < 4; ++k) _mm512_storeu_si512(folded + 64 * k, x[k]);
  return crc32c_sse42(p, n, crc32c_sse42(folded, kFolded, 0));
}

bool has_sse42() {
  static const bool yes = __builtin_cpu_supports("sse4.2");
  return yes;
}
bool has_avx512() {
  static const bool yes =
      has_sse42() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
  return yes;
}
#endif

}  // namespace

uint32_t crc32c_tables(const void* data, size_t bytes, uint32_t before) {
  const auto* p = static_cast<const unsigned char*>(data);
  uint32_t c = ~before;
  for (; bytes >= 8; p += 8, bytes -= 8) {
    const uint64_t v = load8(p) ^ c;
    c = 0;
    for (size_t k = 0; k < 8; ++k) c ^= kTables[7 - k][(v >> (8 * k)) & 0xffu];
  }
  for (; bytes > 0; ++p, --bytes) c = (c >> 8) ^ kTables[0][(c ^ *p) & 0xffu];
  return ~c;
}

uint32_t crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes) {
  return multiply(power_of(second_bytes), first) ^ second;
}

uint32_t crc32c(const void* data, size_t bytes, uint32_t before) {
#if defined(__x86_64__)
  if (bytes >= 2 * kFolded && has_avx512())
    return ~crc32c_avx512(static_cast<const unsigned char*>(data), bytes, ~before);
  if (has_sse42()) return ~crc32c_sse42(static_cast<const unsigned char*>(data), bytes, ~before);
#endif
  return crc32c_tables(data, bytes, before);
}

}  // namespace rille::io
