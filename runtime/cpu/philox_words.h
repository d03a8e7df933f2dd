// Philox words in bulk, the same as core/philox.h gives one block at a time.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace rille::cpu {

/// How many of the 2^24 values of a word's upper bits are less than p: a number in [0, 1) is one of
/// them over 2^24, so `(word >> 8) < drop_threshold(p)` happens with probability p.
inline uint32_t drop_threshold(double p) {
  return static_cast<uint32_t>(std::ceil(std::clamp(p, 0.0, 1.0) * 0x1p24));
}

/// The 4 * blocks words of the counters (first, op), (first + 1, op) ...
void philox_words(uint64_t seed, uint64_t op, uint64_t first, uint32_t* words, int64_t blocks);

}  // namespace rille::cpu
