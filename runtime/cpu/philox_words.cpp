// Each lane is 64 bits wide and holds a 32-bit word in its lower half: that is the shape in which a
// vector unit multiplies 32 by 32 to 64 bits. What lies in the upper half nobody looks at.
#include "cpu/philox_words.h"

#include <cstring>

#include "cpu/isa.h"
#include "cpu/vec.h"

namespace rille::cpu {
namespace {

// Vectors on their way at once: a round waits for its products longer than they take.
constexpr int kVectors = 4;

// product = a * b of the lower halves. Its instruction is written out: the compiler would multiply
// whole lanes, or add shifted ones where it knows a factor.
template <class V>
[[gnu::always_inline]] inline void multiply_low(V& product, const V& a, const V& b) {
#if defined(__x86_64__)
  V now = a;  // the compiler keeps an array in registers only if no element is an operand
  if constexpr (sizeof(V) == Baseline::bytes)
    asm("pmuludq %1, %0" : "+x"(now) : "x"(b));
  else
    asm("vpmuludq %1, %0, %0" : "+v"(now) : "v"(b));
  product = now;
#else
  product = (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

// The four words of each block side by side: pairs of words are lanes of 64 bits already.
template <class V>
[[gnu::always_inline]] inline void store_blocks(uint32_t* to, const V& c0, const V& c1, const V& c2,
                                                const V& c3) {
  const V a = (c0 & 0xffffffffu) | (c1 << 32), b = (c2 & 0xffffffffu) | (c3 << 32);
  V first, second;
  if constexpr (sizeof(V) == 16) {
    first = __builtin_shufflevector(a, b, 0, 2);
    second = __builtin_shufflevector(a, b, 1, 3);
  } else if constexpr (sizeof(V) == 32) {
    first = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    second = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else {
    first = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    second = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
  store_to(to, first);
  store_to(to + sizeof(V) / 4, second);
}

struct Job {
  uint64_t seed, op, first;
  uint32_t* words;
  int64_t blocks;

  // The blocks from `first + at` on that kVectors hold.
  template <class V>
  [[gnu::always_inline]] void make(int64_t at, uint32_t* to) const {
    constexpr int64_t lanes = sizeof(V) / 8;
    const V mul0 = V{} + 0xD2511F53u, mul1 = V{} + 0xCD9E8D57u;
    V c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
    V count;
#pragma GCC unroll 8
    for (int64_t j = 0; j < lanes; ++j) count[j] = static_cast<uint64_t>(j);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      c0[v] = count + (first + static_cast<uint64_t>(at + v * lanes));
      c1[v] = c0[v] >> 32;
      c2[v] = V{} + op;
      c3[v] = c2[v] >> 32;
    }
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V p0, p1;
        multiply_low(p0, c0[v], mul0);
        multiply_low(p1, c2[v], mul1);
        c0[v] = (p1 >> 32) ^ (c1[v] ^ key0);
        c1[v] = p1;
        c2[v] = (p0 >> 32) ^ (c3[v] ^ key1);
        c3[v] = p0;
      }
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store_blocks(to + v * 4 * lanes, c0[v], c1[v], c2[v], c3[v]);
  }

  template <class Isa>
  [[gnu::always_inline]] void run() const {
    using V = Vec<uint64_t, Isa::bytes>;
    constexpr int64_t step = kVectors * Isa::bytes / 8;
    int64_t i = 0;
    for (; i + step <= blocks; i += step) make<V>(i, words + 4 * i);
    if (i == blocks) return;
    uint32_t rest[4 * step];
    make<V>(i, rest);
    std::memcpy(words + 4 * i, rest, static_cast<size_t>(blocks - i) * 16);
  }
};

}  // namespace

void philox_words(uint64_t seed, uint64_t op, uint64_t first, uint32_t* words, int64_t blocks) {
  run_best(Job{seed, op, first, words, blocks});
}

}  // namespace rille::cpu
