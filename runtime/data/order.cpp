#include "data/order.h"

#include <utility>

#include "core/budget.h"

namespace rille::data {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
constexpr size_t kLook = 4096;  // elements from one look at the clock to the next

// The finalizer of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// 2014).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t key_of(int64_t seed, int64_t stream) {
  const uint64_t key = mix(static_cast<uint64_t>(seed) + kGolden) ^
                       (static_cast<uint64_t>(stream) * 0xd1342543de82ef95);
  return mix(key + kGolden);
}

uint64_t bits_at(uint64_t key, uint64_t index) { return mix(key + index * kGolden) >> 1; }

}  // namespace

int64_t random_bits(int64_t seed, int64_t stream, int64_t index) {
  return static_cast<int64_t>(bits_at(key_of(seed, stream), static_cast<uint64_t>(index)));
}

// The bias of the remainder is below n / 2^63.
void shuffle(std::span<int64_t> order, int64_t seed, int64_t stream) {
  const uint64_t key = key_of(seed, stream);
  for (size_t i = order.size(); i > 1; --i) {
    if (Budget* b = i % kLook == 0 ? Budget::ending() : nullptr; b && b->over()) b->raise();
    std::swap(order[i - 1], order[bits_at(key, i) % i]);
  }
}

}  // namespace rille::data
