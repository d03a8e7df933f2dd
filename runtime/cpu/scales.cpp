#include "cpu/scales.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/convert.h"

namespace rille::cpu {
namespace {

constexpr int64_t kPiece = 1024;         // elements that are worked on in the first-level cache
constexpr int64_t kGrain = 16 * kPiece;  // the least that is worth a thread

// Magnitudes of floats are ordered as their bits are, nan above all.
RILLE_CLONES float amax_of(const float* x, int64_t n) {
  uint32_t most = 0;
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < n; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  return std::bit_cast<float>(most);
}

// Ternaries rather than std::clamp: they keep nan, and become selects.
RILLE_CLONES void divide_piece(const float* x, int64_t n, float scale, const ScaledRange& range,
                               float* z) {
  const float most = range.largest;
  const float inf = HUGE_VALF, nan = NAN;
  if (range.nan_is_zero && std::isnan(scale)) {
    std::fill(z, z + n, 0.0f);
    return;
  }
  const bool is_zero = scale == 0, has_inf = range.has_inf;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float v = x[i];
    float q = is_zero ? 0.0f : v / scale;
    q = q > most ? most : q;
    q = q < -most ? -most : q;
    const bool finite = std::fabs(v) < inf;
    const float lost = has_inf && v == v ? v : nan;
    z[i] = finite ? q : lost;
  }
}

RILLE_CLONES void multiply_piece(float* x, int64_t n, float scale) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

RILLE_CLONES void finish_row(const float* sums, int64_t n, float row_scale, const float* columns,
                             const float* bias, float* out) {
  if (columns && bias) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = sums[i] * row_scale * columns[i] + bias[i];
  } else if (columns) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = sums[i] * row_scale * columns[i];
  } else if (bias) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = sums[i] * row_scale + bias[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = sums[i] * row_scale;
  }
}

// Calls f(row, first column, end) for pieces of rows of at most kPiece elements.
template <class F>
void each_piece(int64_t rows, int64_t n, F&& f) {
  if (rows == 0 || n == 0) return;
  const int64_t grain = std::max<int64_t>(1, kGrain / n);
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t c = 0; c < n; c += kPiece) f(r, c, std::min(n, c + kPiece));
  });
}

// Calls f(first column, end, scale) for the parts of a piece that have one scale each.
template <class F>
void each_scale(const ScaleGrid& s, int64_t row, int64_t from, int64_t to, F&& f) {
  for (int64_t c = from; c < to;) {
    const int64_t block = c / s.block, stop = std::min(to, (block + 1) * s.block);
    f(c, stop, s.values[row * s.row_stride + block * s.block_stride]);
    c = stop;
  }
}

char* at(void* p, DType d, int64_t i) {
  return static_cast<char*>(p) + i * static_cast<int64_t>(size_of(d));
}

}  // namespace

void block_amax(const float* x, int64_t rows, int64_t n, int64_t block, float* out) {
  if (rows == 0 || n == 0) return;
  const int64_t blocks = (n + block - 1) / block;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::min(block, n));
  parallel_for(rows * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % blocks * block;
      out[i] = amax_of(x + i / blocks * n + from, std::min(block, n - from));
    }
  });
}

void divide_by_scales(const float* x, int64_t rows, int64_t n, const ScaleGrid& scales,
                      const ScaledRange& range, float* z) {
  each_piece(rows, n, [&](int64_t r, int64_t from, int64_t to) {
    each_scale(scales, r, from, to, [&](int64_t c, int64_t stop, float scale) {
      divide_piece(x + r * n + c, stop - c, scale, range, z + r * n + c);
    });
  });
}

void quantize(const float* x, int64_t rows, int64_t n, const ScaleGrid& scales,
              const ScaledRange& range, DType dtype, void* codes) {
  each_piece(rows, n, [&](int64_t r, int64_t from, int64_t to) {
    alignas(64) float z[kPiece];
    each_scale(scales, r, from, to, [&](int64_t c, int64_t stop, float scale) {
      divide_piece(x + r * n + c, stop - c, scale, range, z + (c - from));
    });
    convert(DType::f32, z, dtype, at(codes, dtype, r * n + from), to - from);
  });
}

void multiply_by_scales(float* x, int64_t rows, int64_t n, const ScaleGrid& scales) {
  each_piece(rows, n, [&](int64_t r, int64_t from, int64_t to) {
    each_scale(scales, r, from, to, [&](int64_t c, int64_t stop, float scale) {
      multiply_piece(x + r * n + c, stop - c, scale);
    });
  });
}

void finish_product(const float* sums, int64_t rows, int64_t n, const Finish& f, DType dtype,
                    void* y) {
  each_piece(rows, n, [&](int64_t r, int64_t from, int64_t to) {
    alignas(64) float piece[kPiece];
    float* out = dtype == DType::f32 ? static_cast<float*>(y) + r * n + from : piece;
    finish_row(sums + r * n + from, to - from, f.row_scale ? f.row_scale[r] : 1.0f,
               f.column_scale ? f.column_scale + from : nullptr, f.bias ? f.bias + from : nullptr,
               out);
    if (out == piece) convert(DType::f32, piece, dtype, at(y, dtype, r * n + from), to - from);
  });
}

}  // namespace rille::cpu
