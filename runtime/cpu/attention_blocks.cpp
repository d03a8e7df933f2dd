#include "cpu/attention_blocks.h"

#include <limits>

#include "core/half.h"
#include "core/macros.h"
#include "cpu/philox_words.h"

namespace rille::cpu {
namespace {

// Rows, so many elements apart.
template <class T>
struct RowsAt {
  T* first;
  int64_t apart;
};

// A conversion in the loop itself would keep it from being one of vectors.
template <class To, class A>
inline To stored(A x) {
  return To(x);
}

// All rows in one call: they are short, and choosing the clone takes as long as one of them.
template <class A, class From, class To>
RILLE_CLONES void scale_rows(RowsAt<const From> from, A scale, RowsAt<To> to, int64_t rows,
                             int64_t width) {
  for (int64_t t = 0; t < rows; ++t) {
    const From* __restrict x = from.first + t * from.apart;
    To* __restrict y = to.first + t * to.apart;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) y[i] = stored<To>(static_cast<A>(x[i]) * scale);
  }
}

template <class A, class S>
RILLE_CLONES void multiply_rows(RowsAt<const S> x, RowsAt<const S> y, int64_t rows, int64_t width,
                                A* to) {
  for (int64_t t = 0; t < rows; ++t) {
    const S *a = x.first + t * x.apart, *b = y.first + t * y.apart;
    A sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i) sum += static_cast<A>(a[i]) * static_cast<A>(b[i]);
    to[t] = sum;
  }
}

// Calls f.operator()<S>() with what tensors of d hold, whose accumulator is A.
template <class A, class F>
void with_stored(DType d, F&& f) {
  if constexpr (std::is_same_v<A, double>)
    f.template operator()<double>();
  else if (d == DType::bf16)
    f.template operator()<bf16>();
  else if (d == DType::f16)
    f.template operator()<f16>();
  else
    f.template operator()<float>();
}

template <class S>
RowsAt<const S> rows_at(const Heads& from, Place at) {
  return {static_cast<const S*>(from.data) + start_of(from.batch, from.head, at), from.time};
}

typedef float Eight __attribute__((vector_size(32)));
typedef float EightAnywhere __attribute__((vector_size(32), aligned(4), may_alias));

// to[j * kBlock + i] = from[i * row + j] for an 8 x 8 block: neighbours first, then pairs, halves.
[[gnu::always_inline]] inline void transpose_8(const float* from, int64_t row, float* to) {
  Eight x[8], y[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) x[i] = *reinterpret_cast<const EightAnywhere*>(from + i * row);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4)
#pragma GCC unroll 2
    for (int j = i; j < i + 2; ++j) {
      x[j] = __builtin_shufflevector(y[j], y[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      x[j + 2] = __builtin_shufflevector(y[j], y[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    y[j] = __builtin_shufflevector(x[j], x[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    y[j + 4] = __builtin_shufflevector(x[j], x[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) *reinterpret_cast<EightAnywhere*>(to + j * kBlock) = y[j];
}

template <class A>
void transpose_edge(const A* from, int64_t row, int64_t rows, int64_t begin, int64_t end, A* to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = begin; j < end; ++j) to[j * kBlock + i] = from[i * row + j];
}

RILLE_CLONES void transpose_block(const float* from, int64_t row, int64_t rows, int64_t width,
                                  float* to) {
  const int64_t whole_rows = rows / 8 * 8, whole = width / 8 * 8;
  for (int64_t j = 0; j < whole; j += 8)
    for (int64_t i = 0; i < whole_rows; i += 8)
      transpose_8(from + i * row + j, row, to + j * kBlock + i);
  transpose_edge(from, row, whole_rows, whole, width, to);
  transpose_edge(from + whole_rows * row, row, rows - whole_rows, 0, width, to + whole_rows);
}

template <class A>
RILLE_CLONES void allow(const uint8_t* look, A* add, int64_t n) {
  constexpr A never = -std::numeric_limits<A>::infinity();
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) add[i] = look[i] ? A(0) : never;
}

template <class A>
RILLE_CLONES void factors(const uint32_t* words, uint32_t below, A keep, A* to, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = (words[i] >> 8) < below ? A(0) : keep;
}

}  // namespace

void transpose(const float* from, int64_t row, int64_t rows, int64_t width, float* to) {
  transpose_block(from, row, rows, width, to);
}
void transpose(const double* from, int64_t row, int64_t rows, int64_t width, double* to) {
  transpose_edge(from, row, rows, 0, width, to);
}

template <class A>
void pack_rows(DType d, const Heads& from, Place at, int64_t time, int64_t width, A scale, A* to) {
  const int64_t row = padded<A>(width);
  with_stored<A>(d, [&]<class S>() {
    scale_rows<A>(rows_at<S>(from, at), scale, RowsAt<A>{to, row}, time, width);
  });
  for (int64_t t = 0; width < row && t < time; ++t)
    std::fill(to + t * row + width, to + (t + 1) * row, A(0));
}

template <class A>
void pack_columns(DType d, const Heads& from, Place at, int64_t time, int64_t width, A* to) {
  const bool direct = d == kDType<A>;
  Scratch<A> rows(direct ? 0 : kBlock * width);
  for (int64_t t = 0; t < time; t += kBlock, to += width * kBlock) {
    const int64_t n = std::min(kBlock, time - t);
    const int64_t start = start_of(from.batch, from.head, at) + t * from.time;
    const A* x = reinterpret_cast<const A*>(element(from.data, d, start));
    if (!direct) {
      for (int64_t i = 0; i < n; ++i)
        convert(d, element(from.data, d, start + i * from.time), kDType<A>, rows.data() + i * width,
                width);
      x = rows.data();
    }
    if (n < kBlock) std::fill_n(to, width * kBlock, A(0));
    transpose(x, direct ? from.time : width, n, width, to);
  }
}

template <class A>
void unpack_rows(const A* from, A scale, int64_t begin, int64_t end, int64_t width, DType d,
                 const HeadsOut& to, Place at) {
  const int64_t start = start_of(to.batch, to.head, at) + begin * to.time;
  with_stored<A>(d, [&]<class S>() {
    scale_rows<A>(RowsAt<const A>{from, padded<A>(width)}, scale,
                  RowsAt<S>{static_cast<S*>(to.data) + start, to.time}, end - begin, width);
  });
}

template <class A>
void multiply_rows(DType d, const Heads& x, const Heads& y, Place at, int64_t time, int64_t width,
                   A* to) {
  with_stored<A>(d, [&]<class S>() {
    multiply_rows<A, S>(rows_at<S>(x, at), rows_at<S>(y, at), time, width, to);
  });
}

template <class A>
void load_mask(const Attention& x, Place at, const BlockPair& span, A* to) {
  const Mask& m = x.mask;
  const int64_t start = start_of(m.batch, m.head, at) + span.key * m.key;
  for (int64_t i = 0; i < span.rows; ++i) {
    const char* row = element(m.data, m.dtype, start + (span.query + i) * m.query);
    if (m.dtype != DType::boolean) {
      gather(m.dtype, row, m.key, span.cols, kDType<A>, to + i * kBlock);
      continue;
    }
    uint8_t look[kBlock];
    gather(DType::u8, row, m.key, span.cols, DType::u8, look);
    allow(look, to + i * kBlock, span.cols);
  }
}

template <class A>
void load_factors(const Attention& x, Place at, const BlockPair& span, A* to) {
  const uint32_t below = drop_threshold(x.dropout);
  const A keep = x.dropout < 1 ? static_cast<A>(1 / (1 - x.dropout)) : A(0);
  const int64_t head = at.batch * x.heads + at.head;
  uint32_t words[kBlock + 8];
  for (int64_t i = 0; i < span.rows; ++i) {
    Draw draw = x.draw;
    draw.first += (head * x.queries + span.query + i) * x.keys + span.key;
    // The first element need not start a block.
    philox_words(draw.seed, draw.op, static_cast<uint64_t>(draw.first) / 4, words,
                 (draw.first % 4 + span.cols + 3) / 4);
    factors(words + draw.first % 4, below, keep, to + i * kBlock, span.cols);
  }
}

#define RILLE_BLOCKS_(A)                                                                       \
  template void pack_rows(DType, const Heads&, Place, int64_t, int64_t, A, A*);                \
  template void pack_columns(DType, const Heads&, Place, int64_t, int64_t, A*);                \
  template void unpack_rows(const A*, A, int64_t, int64_t, int64_t, DType, const HeadsOut&,    \
                            Place);                                                            \
  template void multiply_rows(DType, const Heads&, const Heads&, Place, int64_t, int64_t, A*); \
  template void load_mask(const Attention&, Place, const BlockPair&, A*);                      \
  template void load_factors(const Attention&, Place, const BlockPair&, A*);
RILLE_BLOCKS_(float)
RILLE_BLOCKS_(double)
#undef RILLE_BLOCKS_

}  // namespace rille::cpu
