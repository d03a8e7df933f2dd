// Philox4x32-10, the counter-based generator of Salmon et al. (SC 2011), and what is drawn from it.
// Element i of operation `op` under `seed` is always the same number: word i % 4 of the block whose
// counter is (i / 4, op). So draws depend neither on threads nor on splits, and CPU and GPU agree.
#pragma once
#include <cmath>
#include <cstdint>

#include "core/macros.h"

namespace rille {

struct PhiloxBlock {
  uint32_t word[4];
};

namespace philox_detail {
RILLE_HD inline void round(PhiloxBlock& c, uint32_t key0, uint32_t key1) {
  const uint64_t p0 = uint64_t{0xD2511F53u} * c.word[0], p1 = uint64_t{0xCD9E8D57u} * c.word[2];
  c = {{static_cast<uint32_t>(p1 >> 32) ^ c.word[1] ^ key0, static_cast<uint32_t>(p1),
        static_cast<uint32_t>(p0 >> 32) ^ c.word[3] ^ key1, static_cast<uint32_t>(p0)}};
}
}  // namespace philox_detail

/// The block of four words at a 128-bit counter, given by its low and its high half.
RILLE_HD inline PhiloxBlock philox(uint64_t seed, uint64_t low, uint64_t high) {
  PhiloxBlock c{{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                 static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)}};
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
#if defined(__GNUC__)
#pragma GCC unroll 10
#endif
  for (int i = 0; i < 10; ++i) {
    philox_detail::round(c, key0, key1);
    key0 += 0x9E3779B9u;  // the golden ratio and sqrt(3) - 1, as the paper's Weyl sequence
    key1 += 0xBB67AE85u;
  }
  return c;
}

/// [0, 1) in steps of 2^-24.
RILLE_HD inline float unit_float(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f;
}
/// [0, 1) in steps of 2^-53, from two words.
RILLE_HD inline double unit_double(uint32_t first, uint32_t second) {
  const uint64_t bits = (uint64_t{first} << 32 | second) >> 11;
  return static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-53;
}

namespace philox_detail {
// Alternating power series in r^2, from the last coefficient to the first. f32 has no bits for the
// last three: they are below 2^-28 of the sum up to r = pi/4.
template <class A, int n>
RILLE_HD inline A series(const double (&c)[n], A square) {
  constexpr int terms = sizeof(A) == sizeof(float) ? n - 3 : n;
  A sum = static_cast<A>(c[terms - 1]);
#if defined(__GNUC__)
#pragma GCC unroll 10
#endif
  for (int i = terms - 2; i >= 0; --i) sum = static_cast<A>(c[i]) - sum * square;
  return sum;
}
}  // namespace philox_detail

template <class A>
struct NormalPair {
  A first, second;
};

/// Two standard normals of two uniforms of [0, 1): radius sqrt(-2 log(1 - u)), angle 2 pi v (Box
/// and Muller). The angle's sine and cosine come from the nearest quarter turn and Taylor's series
/// on the +-pi/4 that remain: branchless, so that a loop over this vectorises.
template <class A>
RILLE_HD inline NormalPair<A> box_muller(A u, A v) {
  constexpr double kSin[] = {
      1.0,           1.0 / 6,         1.0 / 120,         1.0 / 5040,
      1.0 / 362880., 1.0 / 39916800., 1.0 / 6227020800., 1.0 / 1307674368000.};
  constexpr double kCos[] = {1.0,
                             1.0 / 2,
                             1.0 / 24,
                             1.0 / 720,
                             1.0 / 40320.,
                             1.0 / 3628800.,
                             1.0 / 479001600.,
                             1.0 / 87178291200.,
                             1.0 / 20922789888000.};
  const int quarter = static_cast<int>(A(4) * v + A(0.5));
  const A r = (A(4) * v - static_cast<A>(quarter)) * static_cast<A>(1.5707963267948966);
  const A sine = r * philox_detail::series<A>(kSin, r * r);
  const A cosine = philox_detail::series<A>(kCos, r * r);
  const bool odd = (quarter & 1) != 0;
  const A sign_x = ((quarter + 1) & 2) != 0 ? A(-1) : A(1),
          sign_y = (quarter & 2) != 0 ? A(-1) : A(1);
  const A radius = std::sqrt(A(-2) * std::log(A(1) - u));
  return {radius * sign_x * (odd ? sine : cosine), radius * sign_y * (odd ? cosine : sine)};
}

}  // namespace rille
