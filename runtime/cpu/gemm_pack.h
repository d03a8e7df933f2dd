// Packing for blocked products: rows (or columns) are cut into panels that the register tile reads
// front to back, dst[p][h]. A panel's source has two strides; one of them is 1. Columns beyond the
// matrix are zeros, which only meet sums that nobody stores.
#pragma once
#include "cpu/cells.h"
#include "cpu/vec.h"

namespace rille::cpu {

/// element (h, p) of the panel: src[h * across + p * along]
template <class S>
struct PanelSource {
  const S* src;
  int64_t across, along;
};

/// along == 1: 4 x 4 blocks are transposed in registers, the rest goes one by one.
template <class T, class S>
[[gnu::always_inline]] inline void pack_turned(T* dst, const S* src, int64_t across, int height,
                                               int64_t steps) {
  using V = Vec<T, 4 * sizeof(T)>;
  int h = 0;
  for (; h + 4 <= height; h += 4) {
    const S* s = src + h * across;
    int64_t p = 0;
    for (; p + 4 <= steps; p += 4) {
      V rows[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) load_as<S>(rows[i], s + i * across + p);
      transpose4(rows);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) store_to(dst + (p + i) * height + h, rows[i]);
    }
    for (; p < steps; ++p)
      for (int i = 0; i < 4; ++i) dst[p * height + h + i] = static_cast<T>(s[i * across + p]);
  }
  for (; h < height; ++h)
    for (int64_t p = 0; p < steps; ++p) dst[p * height + h] = static_cast<T>(src[h * across + p]);
}

/// across == 1: each step is a piece of a row.
template <class T, class S>
[[gnu::always_inline]] inline void pack_straight(T* dst, const S* src, int64_t along, int height,
                                                 int64_t steps) {
  using V = Vec<T, 4 * sizeof(T)>;
  for (int64_t p = 0; p < steps; ++p, dst += height, src += along) {
    int h = 0;
    for (; h + 4 <= height; h += 4) {
      V v;
      load_as<S>(v, src + h);
      store_to(dst + h, v);
    }
    if (h + 2 <= height) {
      Vec<T, 2 * sizeof(T)> v;
      load_as<S>(v, src + h);
      store_to(dst + h, v);
      h += 2;
    }
    for (; h < height; ++h) dst[h] = static_cast<T>(src[h]);
  }
}

/// A panel of `height`, of which the first `valid` rows exist.
template <class T, class S>
[[gnu::always_inline]] inline void pack_panel(T* dst, PanelSource<S> from, int height, int valid,
                                              int64_t steps) {
  if (valid == height) {
    if (from.across == 1)
      pack_straight(dst, from.src, from.along, height, steps);
    else
      pack_turned(dst, from.src, from.across, height, steps);
    return;
  }
  for (int64_t p = 0; p < steps; ++p)
    for (int h = 0; h < height; ++h)
      dst[p * height + h] =
          h < valid ? static_cast<T>(from.src[h * from.across + p * from.along]) : T(0);
}

/// Pairs of bf16, dst[p][h] = {(h, 2 p), (h, 2 p + 1)}, of `numbers` along the depth. along == 1:
/// pairs lie as they are; four rows of four become columns.
[[gnu::always_inline]] inline void pack_four_turned(Pair* dst, const bf16* src, int64_t across,
                                                    int height, int64_t numbers) {
  using V = Vec<uint32_t, 16>;
  int64_t p = 0;
  for (; p + 8 <= numbers; p += 8, dst += 4 * height) {
    V rows[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) __builtin_memcpy(&rows[i], src + i * across + p, sizeof(V));
    transpose4(rows);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) store_to(dst + i * height, rows[i]);
  }
  for (; p < numbers; p += 2, dst += height)
    for (int i = 0; i < 4; ++i) {
      const bf16* pair = src + i * across + p;
      const uint32_t second = p + 1 < numbers ? pair[1].bits : 0;
      dst[i].bits = pair[0].bits | second << 16;
    }
}

/// across == 1: two steps are shuffled together.
template <int kLanes>
[[gnu::always_inline]] inline void pack_some_straight(Pair* dst, const bf16* src, int64_t along,
                                                      int height, int64_t numbers) {
  using Half = Vec<uint16_t, 2 * kLanes>;
  using Whole = Vec<uint32_t, 4 * kLanes>;
  for (int64_t p = 0; p < numbers; p += 2, dst += height, src += 2 * along) {
    Half first, second{};
    __builtin_memcpy(&first, src, sizeof first);
    if (p + 1 < numbers) __builtin_memcpy(&second, src + along, sizeof second);
    const Whole low = __builtin_convertvector(first, Whole);
    const Whole high = __builtin_convertvector(second, Whole) << 16;
    const Whole both = low | high;
    store_to(dst, both);
  }
}

[[gnu::always_inline]] inline void pack_panel(Pair* dst, PanelSource<bf16> from, int height,
                                              int valid, int64_t numbers) {
  int h = 0;
  if (from.along == 1) {
    for (; h + 4 <= valid; h += 4)
      pack_four_turned(dst + h, from.src + h * from.across, from.across, height, numbers);
  } else if (from.across == 1) {
    for (; h + 16 <= valid; h += 16)
      pack_some_straight<16>(dst + h, from.src + h, from.along, height, numbers);
    for (; h + 4 <= valid; h += 4)
      pack_some_straight<4>(dst + h, from.src + h, from.along, height, numbers);
  }
  for (; h < height; ++h)
    for (int64_t p = 0; p < numbers; p += 2) {
      const bf16* pair = from.src + h * from.across + p * from.along;
      const uint32_t first = h < valid ? pair[0].bits : 0;
      const uint32_t second = h < valid && p + 1 < numbers ? pair[from.along].bits : 0;
      dst[p / 2 * height + h].bits = first | second << 16;
    }
}

}  // namespace rille::cpu
