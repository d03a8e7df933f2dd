// Random fills and dropout. Every number is a function of (seed, op, element index) alone: the
// same for any number of threads, any split of the tensor, and on the GPU (core/philox.h).
// Called by ops; the caller counts operations and hands out `op`.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille::cpu {

/// Element 0 of a call is element `first` of operation `op` under `seed`. 32-bit draws take word
/// i % 4 of block i / 4; f64 and randint take two words, block i / 2.
struct Draw {
  uint64_t seed, op;
  int64_t first = 0;
};

/// [low, high). 16-bit values are the f32 ones rounded, but never `high`.
void uniform(DType d, void* out, int64_t n, double low, double high, Draw draw);
/// Box and Muller's; 16-bit values are the f32 ones rounded.
void normal(DType d, void* out, int64_t n, double mean, double std, Draw draw);
/// -log(1 - u) / rate.
void exponential(DType d, void* out, int64_t n, double rate, Draw draw);
/// 1 with probability p, else 0, in any dtype.
void bernoulli(DType d, void* out, int64_t n, double p, Draw draw);
/// The same with a probability for each element, of floating dtype `pd`.
void bernoulli(DType d, void* out, int64_t n, DType pd, const void* p, Draw draw);
/// Whole numbers from low to high, both included, in any dtype; the odds differ by 2^-64 a number.
void randint(DType d, void* out, int64_t n, int64_t low, int64_t high, Draw draw);
/// A random order of 0 .. n-1 (Fisher and Yates).
void randperm(int64_t* out, int64_t n, Draw draw);

/// y = x / (1 - p) with probability 1 - p, else 0. Its gradient is the same call on dy. y may be x.
void dropout(DType d, const void* x, void* y, int64_t n, double p, Draw draw);

/// The raw 32-bit words.
void random_words(uint32_t* out, int64_t n, Draw draw);

}  // namespace rille::cpu
