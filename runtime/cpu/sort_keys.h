// Sorting works on integers that have the order of the values: of floats, -0 equals 0 and nan comes
// after everything; descending order turns the bits round. A key and its position are one item, so
// equal values stay in the order in which they stood and every way to sort gives the same result.
// For .cpp files of this room.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/budget.h"
#include "core/dtype.h"
#include "cpu/convert.h"
#include "cpu/lines.h"
#include "cpu/scratch.h"

namespace rille::cpu {

/// 32 bits of key above 32 bits of position.
struct ShortItem {
  using Key = uint32_t;
  uint64_t bits;
  static ShortItem make(Key key, uint64_t at) { return {uint64_t{key} << 32 | at}; }
  Key key() const { return static_cast<Key>(bits >> 32); }
  int64_t at() const { return static_cast<int64_t>(bits & 0xffffffffu); }
  friend bool operator<(ShortItem a, ShortItem b) { return a.bits < b.bits; }
};

struct LongItem {
  using Key = uint64_t;
  uint64_t bits, place;
  static LongItem make(Key key, uint64_t at) { return {key, at}; }
  Key key() const { return bits; }
  int64_t at() const { return static_cast<int64_t>(place); }
  friend bool operator<(LongItem a, LongItem b) {
    return a.bits != b.bits ? a.bits < b.bits : a.place < b.place;
  }
};

inline uint32_t key_of(float x) {
  if (x != x) return 0xffffffffu;
  const uint32_t u = std::bit_cast<uint32_t>(x == 0 ? 0.0f : x);
  return u >> 31 ? ~u : u | 0x80000000u;
}
inline uint64_t key_of(double x) {
  if (x != x) return ~uint64_t{0};
  const uint64_t u = std::bit_cast<uint64_t>(x == 0 ? 0.0 : x);
  return u >> 63 ? ~u : u | uint64_t{1} << 63;
}
inline uint32_t key_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
inline uint64_t key_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}

/// Calls f.operator()<Item, A>() with A a type that holds the dtype's values and their order.
template <class F>
void with_items(DType d, int64_t n, F&& f) {
  const bool far = n > int64_t{0xffffffff};
  if (d == DType::f64) return f.template operator()<LongItem, double>();
  if (d == DType::i64) return f.template operator()<LongItem, int64_t>();
  if (is_float(d))
    return far ? f.template operator()<LongItem, double>()
               : f.template operator()<ShortItem, float>();
  return far ? f.template operator()<LongItem, int64_t>()
             : f.template operator()<ShortItem, int32_t>();
}

template <class A>
inline constexpr DType kKeyDType = DType::i64;
template <>
inline constexpr DType kKeyDType<float> = DType::f32;
template <>
inline constexpr DType kKeyDType<double> = DType::f64;
template <>
inline constexpr DType kKeyDType<int32_t> = DType::i32;

/// The items of n elements, `stride` apart; returns how many are not nan.
template <class Item, class A>
int64_t make_items(DType d, const void* x, int64_t stride, int64_t n, bool descending,
                   Item* items) {
  constexpr int64_t kBlock = 512;
  [[gnu::uninitialized]] A block[kBlock];
  const typename Item::Key turn = descending ? ~typename Item::Key{0} : typename Item::Key{0};
  int64_t valid = 0;
  Poll poll;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    poll(m);
    gather(d, static_cast<const char*>(x) + i * stride * static_cast<int64_t>(size_of(d)), stride,
           m, kKeyDType<A>, block);
    for (int64_t j = 0; j < m; ++j) {
      items[i + j] = Item::make(key_of(block[j]) ^ turn, static_cast<uint64_t>(i + j));
      valid += block[j] == block[j];
    }
  }
  return valid;
}

/// Sorts n items that stand in order of position; `room` holds as many.
template <class Item>
void sort_items(Item* items, Item* room, int64_t n);

}  // namespace rille::cpu
