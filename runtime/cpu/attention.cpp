// Forward: for each block of 64 queries, the blocks of keys in order. Scores s = q k', then the
// online softmax of Milakov and Gimelshein: the running maximum m and sum l of a row, and its
// output so far, are rescaled when m grows. Compute bound: two block products, their depth cut at
// the causal diagonal. With pairs of bf16 the probabilities, still to be divided by the row's sum,
// are rounded to bf16 for the second product.
#include "cpu/attention.h"

#include <cmath>
#include <limits>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/attention_operands.h"
#include "cpu/fast_exp.h"
#include "cpu/reduce_row.h"

namespace rille::cpu {
namespace {

template <class A>
struct Softmax {
  A *scores, *out, *max, *sum;
  const A *mask, *factors;  // or null
  int64_t out_row;
  A scale;
};

// Rows are read in whole vectors: behind their end stands -inf, whose exponential is 0.
constexpr int64_t kLanes = 16;
int64_t whole_lanes(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// s[j] * scale + mask[j], in place; returns the largest.
template <class A>
[[gnu::always_inline]] inline A scale_row(A* s, A scale, const A* mask, int64_t n) {
  if (scale != A(1)) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) s[j] *= scale;
  }
  if (mask) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) s[j] += mask[j];
  }
  for (int64_t j = n; j < whole_lanes(n); ++j) s[j] = -std::numeric_limits<A>::infinity();
  return row_max(s, whole_lanes(n));
}

// exp(s[j] - base), in place; returns the sum.
template <class A>
[[gnu::always_inline]] inline A exp_row(A* s, A base, int64_t n) {
  A sum[kLanes] = {};
  for (int64_t i = 0; i < n; i += kLanes) {
#pragma omp simd
    for (int64_t j = 0; j < kLanes; ++j) {
      s[i + j] = fast_exp(s[i + j] - base);
      sum[j] += s[i + j];
    }
  }
  return fold_lanes(sum, [](A a, A b) { return a + b; });
}

// Scores to probabilities times exp(m), in place, and what was summed before to the new m. Step by
// step for all rows: they do not wait for one another, and the rows' own numbers make vectors.
template <class A>
RILLE_CLONES void softmax_block(const BlockPair& span, const Softmax<A>& x) {
  A base[kBlock], factor[kBlock], sum[kBlock];
  for (int64_t i = 0; i < span.rows; ++i) {
    const int64_t row = i * kBlock;
    base[i] = scale_row(x.scores + row, x.scale, x.mask ? x.mask + row : nullptr, span.limit(i));
  }
#pragma omp simd
  for (int64_t i = 0; i < span.rows; ++i) {
    const A before = x.max[i], now = std::max(before, base[i]);
    x.max[i] = now;
    base[i] = now == -std::numeric_limits<A>::infinity() ? A(0) : now;  // nothing seen so far
    factor[i] = before == now ? A(1) : fast_exp(before - base[i]);
  }
  for (int64_t i = 0; i < span.rows; ++i) {
    const int64_t n = span.limit(i), end = span.zeros_end(n);
    A* s = x.scores + i * kBlock;
    sum[i] = exp_row(s, base[i], n);
    if (x.factors) {
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) s[j] *= x.factors[i * kBlock + j];
    }
    for (int64_t j = whole_lanes(n); j < end; ++j) s[j] = 0;
  }
#pragma omp simd
  for (int64_t i = 0; i < span.rows; ++i) x.sum[i] = x.sum[i] * factor[i] + sum[i];
  for (int64_t i = 0; i < span.rows; ++i) {
    if (factor[i] == A(1)) continue;
    A* o = x.out + i * x.out_row;
#pragma omp simd
    for (int64_t j = 0; j < x.out_row; ++j) o[j] *= factor[i];
  }
}

template <class A>
RILLE_CLONES void finish_rows(A* out, int64_t row, const A* m, const A* l, A* lse, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    lse[i] = l[i] == A(0) ? -std::numeric_limits<A>::infinity() : m[i] + std::log(l[i]);
    const A inverse = l[i] == A(0) ? A(0) : A(1) / l[i];
#pragma omp simd
    for (int64_t j = 0; j < row; ++j) out[i * row + j] *= inverse;
  }
}

struct Inputs {
  const Attention& args;
  Heads q, k, v;
  HeadsOut o;
  void* lse;
};

// Packs k and v when the head changes, and computes one block of queries after the other.
template <class Cell>
class Forward {
 public:
  using A = SumOfCells<Cell>;

  explicit Forward(const Inputs& in)
      : in_(in),
        x_(in.args),
        o_row_(padded<A>(x_.value_width)),
        keys_(x_.keys, x_.width),
        values_(x_.keys, x_.value_width, false, true),
        queries_(std::min(kBlock, x_.queries), x_.width, true, false),
        scores_(kBlock * kBlock),
        out_(kBlock * o_row_),
        mask_(x_.mask.data ? kBlock * kBlock : 0),
        factors_(x_.dropout > 0 ? kBlock * kBlock : 0) {}

  void block(Place at, int64_t qb) {
    load_head(at);
    const BlockPair first(x_, qb, 0);
    Heads q = in_.q;
    q.data = element(q.data, x_.dtype, first.query * q.time);
    queries_.load(x_.dtype, q, at, first.rows, packing_scale<Cell>(x_.scale));
    std::fill_n(out_.data(), kBlock * o_row_, A(0));
    std::fill_n(max_, kBlock, -std::numeric_limits<A>::infinity());
    std::fill_n(sum_, kBlock, A(0));
    for (int64_t kb = 0; kb < blocks_of(x_.keys); ++kb) {
      const BlockPair span(x_, qb, kb);
      if (span.empty()) break;
      pair(at, span, kb);
    }
    const int64_t head = at.batch * x_.heads + at.head;
    A* lse = static_cast<A*>(in_.lse) + head * x_.queries + first.query;
    finish_rows(out_.data(), o_row_, max_, sum_, lse, first.rows);
    unpack_rows(out_.data(), A(1), first.query, first.query + first.rows, x_.value_width, x_.dtype,
                in_.o, at);
  }

 private:
  void load_head(Place at) {
    const Place kv{at.batch, at.head / (x_.heads / x_.kv_heads)};
    if (kv.batch == loaded_.batch && kv.head == loaded_.head) return;
    keys_.load(x_.dtype, in_.k, kv);
    values_.load(x_.dtype, in_.v, kv, x_.keys);
    loaded_ = kv;
  }

  void pair(Place at, const BlockPair& span, int64_t kb) {
    multiply(BlockProduct<Cell>{span.rows, span.cols, x_.width, queries_.left(0),
                                queries_.left_row(), 1, keys_.block(kb), kBlock, scores_.data(),
                                kBlock, false, span.cut() ? Trim::columns : Trim::none,
                                span.diagonal});
    if (x_.mask.data) load_mask(x_, at, span, mask_.data());
    if (x_.dropout > 0) load_factors(x_, at, span, factors_.data());
    softmax_block(span, Softmax<A>{scores_.data(), out_.data(), max_, sum_, mask_.data(),
                                   factors_.data(), o_row_, product_scale<Cell>(x_.scale)});
    const Left<Cell> p = probabilities_.straight(scores_.data(), span.rows);
    multiply(BlockProduct<Cell>{span.rows, o_row_, span.cols, p.cells, p.row, p.col,
                                values_.right(span.key), o_row_, out_.data(), o_row_, true,
                                span.cut() ? Trim::depth_end : Trim::none, span.diagonal});
  }

  const TileScope tiles_;
  const Inputs& in_;
  const Attention& x_;
  int64_t o_row_;
  Columns<Cell> keys_;
  Rows<Cell> values_, queries_;
  Scratch<A> scores_, out_, mask_, factors_;
  LeftBlock<Cell> probabilities_;
  A max_[kBlock], sum_[kBlock];
  Place loaded_{-1, -1};
};

}  // namespace

void attention(const Attention& args, Heads q, Heads k, Heads v, HeadsOut o, void* lse) {
  const Inputs in{args, q, k, v, o, lse};
  const int64_t blocks = blocks_of(args.queries), items = args.batch * args.heads * blocks;
  const int64_t work = kBlock * args.keys * (args.width + args.value_width);
  const int64_t grain = std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, work));
  with_cells(args.dtype, [&]<class Cell>() {
    parallel_for(items, grain, [&](int64_t begin, int64_t end) {
      Forward<Cell> forward(in);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t head = i / blocks;
        forward.block({head / args.heads, head % args.heads}, balanced(i % blocks, blocks));
      }
    });
  });
}

}  // namespace rille::cpu
