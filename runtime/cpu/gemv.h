// Matrix times vector, both ways the matrix may lie. Long vectors are cut into pieces of kPiece
// steps whose sums are added in order, so that a few long dots still use every thread with the same
// bits. Bound: memory, one pass over the matrix.
#pragma once
#include <algorithm>

#include "core/threads.h"
#include "cpu/gemm_kernels.h"
#include "cpu/gemm_tile.h"
#include "cpu/workspace.h"

namespace rille::cpu::vector {

constexpr int64_t kPiece = 16384;           // steps summed in one go
constexpr int64_t kChunkBytes = 128 << 10;  // of the matrix, worth a chunk of their own

/// sums[r] = sum over p of matrix[r * ld + p] * x[p]: every row with two vectors of partial sums,
/// then one row after the other folded in a fixed order.
template <class S>
struct Dots {
  using T = SumOf<S>;
  const S* matrix;
  int64_t ld;
  const S* x;
  T* sums;
  int64_t rows, steps;

  template <class I>
  [[gnu::always_inline]] void run() const {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) some<I, 4>(r);
    for (; r < rows; ++r) some<I, 1>(r);
  }

 private:
  template <class I, int R>
  [[gnu::always_inline]] void some(int64_t r) const {
    using V = Vec<T, I::bytes>;
    constexpr int lanes = I::bytes / static_cast<int>(sizeof(T));
    V acc[R][2];
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) acc[i][0] = V{}, acc[i][1] = V{};
    const S* row = matrix + r * ld;
    int64_t p = 0;
    for (; p + 2 * lanes <= steps; p += 2 * lanes) {
      V x0, x1;
      load_as<S>(x0, x + p), load_as<S>(x1, x + p + lanes);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        V m0, m1;
        load_as<S>(m0, row + i * ld + p), load_as<S>(m1, row + i * ld + p + lanes);
        acc[i][0] += m0 * x0;
        acc[i][1] += m1 * x1;
      }
    }
    if (p + lanes <= steps) {
      V x0;
      load_as<S>(x0, x + p);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        V m0;
        load_as<S>(m0, row + i * ld + p);
        acc[i][0] += m0 * x0;
      }
      p += lanes;
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      T sum = fold<V>(acc[i][0], acc[i][1]);
      for (int64_t q = p; q < steps; ++q)
        sum += static_cast<T>(row[i * ld + q]) * static_cast<T>(x[q]);
      sums[r + i] = sum;
    }
  }

  template <class V>
  [[gnu::always_inline]] static T fold(const V& a, const V& b) {
    constexpr int lanes = sizeof(V) / sizeof(T);
    alignas(V) T part[lanes];
    store_to(part, a + b);
    for (int half = lanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) part[i] += part[i + half];
    return part[0];
  }
};

/// sums[c] = sum over p of x[p * x_step] * matrix[p * ld + c]: a strip of columns in registers.
template <class S>
struct Strips {
  using T = SumOf<S>;
  const S* matrix;
  int64_t ld;
  const S* x;
  int64_t x_step;
  T* sums;
  int64_t cols, steps;

  template <class I>
  [[gnu::always_inline]] void run() const {
    constexpr int lanes = I::bytes / static_cast<int>(sizeof(T));
    int64_t c = 0;
    for (; c + 8 * lanes <= cols; c += 8 * lanes) strip<I::bytes, 8>(c);
    if (c + 4 * lanes <= cols) strip<I::bytes, 4>(c), c += 4 * lanes;
    if (c + 2 * lanes <= cols) strip<I::bytes, 2>(c), c += 2 * lanes;
    narrow<I::bytes>(c);
  }

 private:
  template <int Bytes>
  [[gnu::always_inline]] void narrow(int64_t c) const {
    constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    if (c + lanes <= cols) strip<Bytes, 1>(c), c += lanes;
    if (c == cols) return;
    if constexpr (lanes > 1) narrow<Bytes / 2>(c);
  }

  template <int Bytes, int N>
  [[gnu::always_inline]] void strip(int64_t c) const {
    using V = Vec<T, Bytes>;
    constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    V acc[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) acc[v] = V{};
    const S* row = matrix + c;
    for (int64_t p = 0; p < steps; ++p, row += ld) {
      const T xp = static_cast<T>(x[p * x_step]);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) {
        V m;
        load_as<S>(m, row + v * lanes);
        acc[v] += xp * m;
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) store_to(sums + c + v * lanes, acc[v]);
  }
};

/// y = op(matrix) x, brought to one form: `outputs` sums of `steps` products each.
template <class S>
struct Problem {
  const S* matrix;
  int64_t ld, outputs, steps;
  bool dots;  // the matrix's rows run along the steps; else along the outputs
  const S* x;
  int64_t x_step;
};

template <class S>
Problem<S> problem(const Product<S>& p) {
  const Gemm& g = p.g;
  if (g.m == 1) return {p.b, g.ldb, g.n, g.k, p.turned_b(), p.a, p.a_step()};
  return {p.a, g.lda, g.m, g.k, !p.turned_a(), p.b, p.b_step()};
}

/// Sums of pieces [begin, end) x outputs [from, to), the piece with all its outputs contiguous.
template <class S>
void compute(const Problem<S>& q, SumOf<S>* sums, int64_t piece, int64_t from, int64_t to) {
  const int64_t p0 = piece * kPiece, steps = std::min(kPiece, q.steps - p0);
  SumOf<S>* out = sums + piece * q.outputs + from;
  const S* x = q.x + p0 * q.x_step;
  if (q.dots)
    run_best(Dots<S>{q.matrix + from * q.ld + p0, q.ld, x, out, to - from, steps});
  else
    run_best(Strips<S>{q.matrix + p0 * q.ld + from, q.ld, x, q.x_step, out, to - from, steps});
}

/// A strided x, gathered: dots want it contiguous.
template <class S>
const S* gathered(const Problem<S>& q) {
  S* copy = workspace<S>(Purpose::gemm_a, q.steps);
  for (int64_t p = 0; p < q.steps; ++p) copy[p] = q.x[p * q.x_step];
  return copy;
}

}  // namespace rille::cpu::vector

namespace rille::cpu {

template <class S>
void gemv(const Product<S>& p) {
  using namespace vector;
  using T = SumOf<S>;
  const Gemm& g = p.g;
  Problem<S> q = problem(p);
  if (q.dots && q.x_step != 1) q.x = gathered(q), q.x_step = 1;
  const int64_t pieces = (q.steps + kPiece - 1) / kPiece;
  T* sums = workspace<T>(Purpose::gemv, pieces * q.outputs);
  // Chunk borders fall where a group of rows or the widest strip ends anyway.
  const int64_t bytes = std::min(kPiece, q.steps) * static_cast<int64_t>(sizeof(S));
  const int64_t unit = q.dots ? 4 : 128;
  const int64_t width = std::max<int64_t>(1, kChunkBytes / (bytes * unit)) * unit;
  const int64_t chunks = (q.outputs + width - 1) / width;
  parallel_for(pieces * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t from = t % chunks * width;
      compute(q, sums, t / chunks, from, std::min(q.outputs, from + width));
    }
  });
  const T alpha = scale_as<T>(g.alpha), beta = scale_as<T>(g.beta);
  const int64_t c_step = g.m == 1 ? 1 : g.ldc, bias_step = g.m == 1 ? 1 : 0;
  for (int64_t r = 0; r < q.outputs; ++r) {
    T sum = sums[r];
    for (int64_t piece = 1; piece < pieces; ++piece) sum += sums[piece * q.outputs + r];
    S& c = p.c[r * c_step];
    sum *= alpha;
    if (beta != T(0)) sum += beta * static_cast<T>(c);
    if (p.bias) sum += static_cast<T>(p.bias[r * bias_step]);
    c = S(sum);
  }
}

}  // namespace rille::cpu
