// Orders of samples, and random numbers that belong to a place in one. A value is a pure function
// of (seed, stream, index): nothing has to be stored to go on in the middle of an epoch, and
// workers need no streams of their own. A loader's stream is the epoch, its index the sample's
// position, counted from 1.
#pragma once
#include <cstdint>
#include <span>

namespace rille::data {

/// 63 random bits: an integer that is not negative.
int64_t random_bits(int64_t seed, int64_t stream, int64_t index);

/// Puts `order` into random order. E_BUDGET where the run's time ends meanwhile.
void shuffle(std::span<int64_t> order, int64_t seed, int64_t stream);

}  // namespace rille::data
