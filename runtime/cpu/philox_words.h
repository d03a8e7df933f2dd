// Philox words in bulk, the same as core/philox.h gives one block at a time. For .cpp files of this
// room; words() is inlined into the clone that calls it.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/philox.h"

namespace rille::cpu {

/// How many of the 2^24 values of a word's upper bits are less than p: a number in [0, 1) is one of
/// them over 2^24, so `(word >> 8) < drop_threshold(p)` happens with probability p.
inline uint32_t drop_threshold(double p) {
  return static_cast<uint32_t>(std::ceil(std::clamp(p, 0.0, 1.0) * 0x1p24));
}

/// The 4 * blocks words of the counters (first, op), (first + 1, op) ...
/// Each lane is 64 bits wide and holds a 32-bit word in its lower half: that is the shape in which
/// a vector unit multiplies 32 by 32 to 64 bits.
inline void philox_words(uint64_t seed, uint64_t op, uint64_t first, uint32_t* __restrict words,
                         int64_t blocks) {
  constexpr uint64_t low = 0xffffffffu;
#pragma omp simd
  for (int64_t i = 0; i < blocks; ++i) {
    const uint64_t counter = first + static_cast<uint64_t>(i);
    uint64_t c0 = counter & low, c1 = counter >> 32, c2 = op & low, c3 = op >> 32;
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
#pragma GCC unroll 10
    for (int r = 0; r < 10; ++r) {
      const uint64_t p0 = (c0 & low) * 0xD2511F53u, p1 = (c2 & low) * 0xCD9E8D57u;
      c0 = (p1 >> 32) ^ c1 ^ key0;
      c1 = p1 & low;
      c2 = (p0 >> 32) ^ c3 ^ key1;
      c3 = p0 & low;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    words[4 * i] = static_cast<uint32_t>(c0);
    words[4 * i + 1] = static_cast<uint32_t>(c1);
    words[4 * i + 2] = static_cast<uint32_t>(c2);
    words[4 * i + 3] = static_cast<uint32_t>(c3);
  }
}

}  // namespace rille::cpu
