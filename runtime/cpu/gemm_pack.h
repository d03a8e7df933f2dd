// Packing for blocked products: rows (or columns) are cut into panels that the register tile reads
// front to back, dst[p][h]. A panel's source has two strides; one of them is 1. Columns beyond the
// matrix are zeros, which only meet sums that nobody stores.
#pragma once
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

}  // namespace rille::cpu
