// Convolutions as matrix products: col[c * taps + k][l] is the element of channel c that tap k
// meets at output position l, or zero in the padding. Columns are made for a piece of the positions
// at a time, so that they stay in the cache. Bound: arithmetic, plus taps passes over the image.
#pragma once
#include <algorithm>
#include <type_traits>

#include "cpu/conv.h"

namespace rille::cpu {

/// sum += x; integers wrap.
template <class T>
inline void accumulate(T& sum, T x) {
  if constexpr (std::is_integral_v<T>)
    sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(x));
  else
    sum += x;
}

/// A convolution seen as one of three dimensions, the last ones its own, group by group.
struct Window {
  int64_t channels, outputs;  // of one group
  int64_t in[3], kernel[3], out[3], stride[3], dilation[3], pad[3];
  int64_t image, positions, taps;  // products of in, out, kernel

  explicit Window(const Conv& c)
      : channels(c.in_channels / c.groups), outputs(c.out_channels / c.groups) {
    image = positions = taps = 1;
    for (int d = 0; d < 3; ++d) {
      const int from = d - (3 - c.dims);
      const bool own = from >= 0;
      in[d] = own ? c.in[from] : 1, out[d] = own ? c.out[from] : 1;
      kernel[d] = own ? c.kernel[from] : 1, stride[d] = own ? c.stride[from] : 1;
      dilation[d] = own ? c.dilation[from] : 1, pad[d] = own ? c.pad_begin[from] : 0;
      image *= in[d], positions *= out[d], taps *= kernel[d];
    }
  }

  /// The columns of the image are the image.
  bool is_pointwise() const {
    bool same = taps == 1;
    for (int d = 0; d < 3; ++d) same = same && stride[d] == 1 && pad[d] == 0 && in[d] == out[d];
    return same;
  }
};

/// A run of output positions in one row of the output, with the part of the input that tap k meets.
struct Run {
  int64_t to, count;    // in the piece
  int64_t first, last;  // those of [0, count) that lie inside the image
  int64_t at;           // image offset that position `first` meets; the next is `stride` further
};

/// Calls f(Run) for tap `k` over positions [begin, end), in order.
template <class F>
void for_runs(const Window& w, int64_t k, int64_t begin, int64_t end, F&& f) {
  const int64_t tap[3] = {k / (w.kernel[1] * w.kernel[2]), k / w.kernel[2] % w.kernel[1],
                          k % w.kernel[2]};
  const int64_t step = w.stride[2], shift = tap[2] * w.dilation[2] - w.pad[2];
  for (int64_t l = begin; l < end;) {
    const int64_t row = l / w.out[2], t = l % w.out[2];
    const int64_t count = std::min(w.out[2] - t, end - l);
    const int64_t z = row / w.out[1] * w.stride[0] + tap[0] * w.dilation[0] - w.pad[0];
    const int64_t y = row % w.out[1] * w.stride[1] + tap[1] * w.dilation[1] - w.pad[1];
    Run run{l - begin, count, 0, 0, 0};
    if (z >= 0 && z < w.in[0] && y >= 0 && y < w.in[1]) {
      const int64_t x = t * step + shift;  // that position 0 of the run meets
      const int64_t first = x >= 0 ? 0 : (-x + step - 1) / step;
      const int64_t last = x >= w.in[2] ? 0 : (w.in[2] - 1 - x) / step + 1;
      run.first = std::min(first, count);
      run.last = std::clamp(last, run.first, count);
      run.at = (z * w.in[1] + y) * w.in[2] + x + run.first * step;
    }
    f(run);
    l += count;
  }
}

/// Columns of positions [begin, end) for channels [from, to) of image x, in rows `ld` apart.
template <class T>
void image_to_columns(const Window& w, const T* x, int64_t from, int64_t to, int64_t begin,
                      int64_t end, T* columns, int64_t ld) {
  const int64_t step = w.stride[2];
  for (int64_t c = from; c < to; ++c)
    for (int64_t k = 0; k < w.taps; ++k, columns += ld)
      for_runs(w, k, begin, end, [&](const Run& run) {
        T* row = columns + run.to;
        const T* src = x + c * w.image + run.at;
        std::fill(row, row + run.first, T(0));
        if (step == 1)
          std::copy(src, src + (run.last - run.first), row + run.first);
        else
          for (int64_t i = run.first; i < run.last; ++i) row[i] = src[(i - run.first) * step];
        std::fill(row + run.last, row + run.count, T(0));
      });
}

/// Its transpose: adds the columns of positions [begin, end) to channels [from, to) of image x.
template <class T>
void columns_to_image(const Window& w, const T* columns, int64_t from, int64_t to, int64_t begin,
                      int64_t end, T* x, int64_t ld) {
  const int64_t step = w.stride[2];
  for (int64_t c = from; c < to; ++c)
    for (int64_t k = 0; k < w.taps; ++k, columns += ld)
      for_runs(w, k, begin, end, [&](const Run& run) {
        const T* row = columns + run.to;
        T* dst = x + c * w.image + run.at;
        if (step == 1)
          for (int64_t i = run.first; i < run.last; ++i) accumulate(dst[i - run.first], row[i]);
        else
          for (int64_t i = run.first; i < run.last; ++i)
            accumulate(dst[(i - run.first) * step], row[i]);
      });
}

}  // namespace rille::cpu
