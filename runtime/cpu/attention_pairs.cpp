// Operands made of pairs of bf16. All of it is copying, bound by the cache, but the roundings.
#include <cstring>

#include "core/half.h"
#include "core/macros.h"
#include "cpu/attention_operands.h"

namespace rille::cpu {
namespace {

const bf16* row_of(const Heads& from, Place at, int64_t t) {
  return static_cast<const bf16*>(from.data) + start_of(from.batch, from.head, at) + t * from.time;
}

// to[j] = {first[j], second[j]}; the bits of a pair in one word, so that the loop is of words.
RILLE_CLONES void shuffle_rows(const bf16* first, const bf16* second, uint32_t* to, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    to[j] = first[j].bits | static_cast<uint32_t>(second[j].bits) << 16;
}

// The same where there is no second row: zeros.
RILLE_CLONES void widen_row(const bf16* first, uint32_t* to, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) to[j] = first[j].bits;
}

RILLE_CLONES void round_row(const float* x, uint16_t* to, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) to[j] = bf16_bits(x[j]);
}

RILLE_CLONES void round_rows(const float* first, const float* second, uint32_t* to, int64_t n) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j)
    to[j] = bf16_bits(first[j]) | static_cast<uint32_t>(bf16_bits(second[j])) << 16;
}

uint32_t* words(Pair* p) { return &p->bits; }

// A pair is a word that travels as a float.
void transpose_words(const void* from, int64_t row, int64_t rows, int64_t width, Pair* to) {
  transpose(static_cast<const float*>(from), row, rows, width, reinterpret_cast<float*>(to));
}

void copy_row(const bf16* from, int64_t width, Pair* to) {
  if (width % 2 == 1) to[width / 2].bits = 0;
  std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(width) * sizeof(bf16));
}

}  // namespace

void pack_left(const Heads& from, Place at, int64_t time, int64_t width, Pair* to) {
  for (int64_t t = 0; t < time; ++t) copy_row(row_of(from, at, t), width, to + t * pairs_of(width));
}

void pack_right(const Heads& from, Place at, int64_t time, int64_t width, Pair* to) {
  const int64_t row = padded<float>(width);
  for (int64_t t = 0; t < time; t += 2, to += row) {
    if (t + 1 < time)
      shuffle_rows(row_of(from, at, t), row_of(from, at, t + 1), words(to), width);
    else
      widen_row(row_of(from, at, t), words(to), width);
    std::fill(words(to) + width, words(to) + row, 0u);
  }
}

// 64 rows become 64 columns. Rows that lie as whole words are read where they are.
void pack_columns(const Heads& from, Place at, int64_t time, int64_t width, Pair* to) {
  const int64_t row = pairs_of(width);
  const bool direct = width % 2 == 0 && from.time % 2 == 0 &&
                      reinterpret_cast<uintptr_t>(row_of(from, at, 0)) % sizeof(Pair) == 0;
  const Scratch<Pair> rows(direct ? 0 : kBlock * row);
  for (int64_t t = 0; t < time; t += kBlock, to += row * kBlock) {
    const int64_t n = std::min(kBlock, time - t);
    for (int64_t i = 0; !direct && i < n; ++i)
      copy_row(row_of(from, at, t + i), width, rows.data() + i * row);
    if (n < kBlock) std::fill_n(words(to), row * kBlock, 0u);
    const void* source = direct ? static_cast<const void*>(row_of(from, at, t)) : rows.data();
    transpose_words(source, direct ? from.time / 2 : row, n, row, to);
  }
}

void transpose_pairs(const Pair* from, int64_t rows, Pair* to) {
  transpose_words(from, kBlock, rows, kBlock, to);
}

void round_left(const float* block, int64_t rows, Pair* to) {
  round_row(block, reinterpret_cast<uint16_t*>(to), rows * kBlock);
}

void round_turned(const float* block, int64_t rows, Pair* to) {
  static constexpr float zeros[kBlock] = {};
  for (int64_t i = 0; i < rows; i += 2)
    round_rows(block + i * kBlock, i + 1 < rows ? block + (i + 1) * kBlock : zeros,
               words(to) + i / 2 * kBlock, kBlock);
}

}  // namespace rille::cpu
