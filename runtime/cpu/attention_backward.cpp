// Backward: probabilities p = exp(s - lse) are recomputed a block at a time. With r the dropout
// factors, dp = do v' and delta = sum(do * o) of a row:
//   dv += (p r)' do,   ds = p (dp r - delta),   dq += ds k scale,   dk += ds' q scale.
// A head's blocks run keys outside, queries inside. One sweep gives all three gradients when there
// are heads enough for the threads; else one sweep shared out by keys gives dk and dv, and one by
// queries gives dq. Sums are taken in the same order either way. Compute bound: five products.
// With pairs of bf16, p r and ds are rounded to bf16 for the last three.
#include <cmath>
#include <limits>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/attention.h"
#include "cpu/attention_operands.h"
#include "cpu/fast_exp.h"

namespace rille::cpu {
namespace {

template <class A>
struct Scores {
  A *p, *ds;  // in: scores, to be scaled, and dp; out: p r and ds
  A scale;
  const A *lse, *delta;
  const A *mask, *factors;  // or null
};

// What a row's numbers have in common.
template <class A>
struct RowScalars {
  A scale, lse, delta;
};

// One row; `mask` and `factor` give a score's mask and a probability's dropout factor.
template <class A, class MaskAt, class FactorAt>
[[gnu::always_inline]] inline void score_row(A* p, A* ds, RowScalars<A> row, int64_t n, MaskAt mask,
                                             FactorAt factor) {
  const A scale = row.scale, lse = row.lse, delta = row.delta;
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    const A prob = fast_exp(p[j] * scale + mask(j) - lse);
    ds[j] = prob * (ds[j] * factor(j) - delta);
    p[j] = prob * factor(j);
  }
}

template <class A>
RILLE_CLONES void score_block(const BlockPair& span, const Scores<A>& x) {
  const auto none = [](int64_t) { return A(0); };
  const auto one = [](int64_t) { return A(1); };
  for (int64_t i = 0; i < span.rows; ++i) {
    const int64_t n = span.limit(i), end = span.zeros_end(n);
    A *p = x.p + i * kBlock, *ds = x.ds + i * kBlock;
    const int64_t row = i * kBlock;
    const auto mask = [&](int64_t j) { return x.mask[row + j]; };
    const auto factor = [&](int64_t j) { return x.factors[row + j]; };
    // A row that may look at nothing has lse -inf; 0 in its place makes its probabilities 0.
    const A lse = x.lse[i] == -std::numeric_limits<A>::infinity() ? A(0) : x.lse[i];
    const RowScalars<A> scalars{x.scale, lse, x.delta[i]};
    if (x.mask && x.factors)
      score_row(p, ds, scalars, n, mask, factor);
    else if (x.mask)
      score_row(p, ds, scalars, n, mask, one);
    else if (x.factors)
      score_row(p, ds, scalars, n, none, factor);
    else
      score_row(p, ds, scalars, n, none, one);
    for (int64_t j = n; j < end; ++j) p[j] = ds[j] = 0;
  }
}

struct Inputs {
  const Attention& args;
  Heads q, k, v, o, d_o;
  const void* lse;
  HeadsOut dq, dk, dv;
};

// Blocks [begin, end).
struct Range {
  int64_t begin, end;
};

template <class Cell>
class Backward {
 public:
  using A = SumOfCells<Cell>;

  explicit Backward(const Inputs& in)
      : in_(in),
        x_(in.args),
        q_row_(padded<A>(x_.width)),
        v_row_(padded<A>(x_.value_width)),
        key_columns_(x_.keys, x_.width),
        value_columns_(x_.keys, x_.value_width),
        keys_(x_.keys, x_.width, false, in.dq.data),
        queries_(x_.queries, x_.width, true, in.dk.data),
        d_o_(x_.queries, x_.value_width, true, in.dv.data),
        delta_(x_.queries),
        dq_(in.dq.data ? x_.queries * q_row_ : 0),
        dk_(in.dk.data ? x_.keys * q_row_ : 0),
        dv_(in.dv.data ? x_.keys * v_row_ : 0),
        p_(kBlock * kBlock),
        ds_(kBlock * kBlock),
        mask_(x_.mask.data ? kBlock * kBlock : 0),
        factors_(x_.dropout > 0 ? kBlock * kBlock : 0) {}

  /// The gradients of blocks `queries` and `keys` of one kv head and of the heads that share it.
  void run(Place kv, Range queries, Range keys, bool want_queries, bool want_keys) {
    load_keys(kv);
    dq_wanted_ = want_queries && dq_.data();
    dk_wanted_ = want_keys && dk_.data();
    dv_wanted_ = want_keys && dv_.data();
    const int64_t begin = keys.begin * kBlock, end = std::min(x_.keys, keys.end * kBlock);
    if (dk_wanted_) std::fill_n(dk_.data() + begin * q_row_, (end - begin) * q_row_, A(0));
    if (dv_wanted_) std::fill_n(dv_.data() + begin * v_row_, (end - begin) * v_row_, A(0));
    const int64_t group = x_.heads / x_.kv_heads;
    for (int64_t h = kv.head * group; h < (kv.head + 1) * group; ++h)
      sweep({kv.batch, h}, queries, keys);
    if (dk_wanted_)
      unpack_rows(dk_.data() + begin * q_row_, product_scale<Cell>(x_.scale), begin, end, x_.width,
                  x_.dtype, in_.dk, kv);
    if (dv_wanted_)
      unpack_rows(dv_.data() + begin * v_row_, A(1), begin, end, x_.value_width, x_.dtype, in_.dv,
                  kv);
  }

 private:
  void load_keys(Place kv) {
    if (kv.batch == loaded_.batch && kv.head == loaded_.head) return;
    key_columns_.load(x_.dtype, in_.k, kv);
    value_columns_.load(x_.dtype, in_.v, kv);
    keys_.load(x_.dtype, in_.k, kv, x_.keys);
    loaded_ = kv;
  }

  void load_queries(Place at) {
    if (at.batch == loaded_head_.batch && at.head == loaded_head_.head) return;
    queries_.load(x_.dtype, in_.q, at, x_.queries, packing_scale<Cell>(x_.scale));
    d_o_.load(x_.dtype, in_.d_o, at, x_.queries);
    multiply_rows(x_.dtype, in_.o, in_.d_o, at, x_.queries, x_.value_width, delta_.data());
    loaded_head_ = at;
  }

  void sweep(Place at, Range queries, Range keys) {
    load_queries(at);
    const int64_t begin = queries.begin * kBlock, end = std::min(x_.queries, queries.end * kBlock);
    if (dq_wanted_) std::fill_n(dq_.data() + begin * q_row_, (end - begin) * q_row_, A(0));
    for (int64_t kb = keys.begin; kb < keys.end; ++kb)
      for (int64_t qb = queries.begin; qb < queries.end; ++qb) {
        const BlockPair span(x_, qb, kb);
        if (!span.empty()) pair(at, span, kb);
      }
    if (dq_wanted_)
      unpack_rows(dq_.data() + begin * q_row_, static_cast<A>(x_.scale), begin, end, x_.width,
                  x_.dtype, in_.dq, at);
  }

  void pair(Place at, const BlockPair& s, int64_t kb) {
    const Trim columns = s.cut() ? Trim::columns : Trim::none;
    multiply(BlockProduct<Cell>{s.rows, s.cols, x_.width, queries_.left(s.query),
                                queries_.left_row(), 1, key_columns_.block(kb), kBlock, p_.data(),
                                kBlock, false, columns, s.diagonal});
    multiply(BlockProduct<Cell>{s.rows, s.cols, x_.value_width, d_o_.left(s.query), d_o_.left_row(),
                                1, value_columns_.block(kb), kBlock, ds_.data(), kBlock, false,
                                columns, s.diagonal});
    if (x_.mask.data) load_mask(x_, at, s, mask_.data());
    if (x_.dropout > 0) load_factors(x_, at, s, factors_.data());
    const int64_t row = (at.batch * x_.heads + at.head) * x_.queries + s.query;
    score_block(s, Scores<A>{p_.data(), ds_.data(), product_scale<Cell>(x_.scale),
                             static_cast<const A*>(in_.lse) + row, delta_.data() + s.query,
                             mask_.data(), factors_.data()});
    add_keys(s);
    if (!dq_wanted_) return;
    const Left<Cell> ds = left_.straight(ds_.data(), s.rows);
    multiply(BlockProduct<Cell>{s.rows, q_row_, s.cols, ds.cells, ds.row, ds.col,
                                keys_.right(s.key), q_row_, dq_.data() + s.query * q_row_, q_row_,
                                true, s.cut() ? Trim::depth_end : Trim::none, s.diagonal});
  }

  void add_keys(const BlockPair& s) {
    const Trim depth = s.cut() ? Trim::depth_begin : Trim::none;
    if (dv_wanted_) {
      const Left<Cell> p = left_.turned(p_.data(), s.rows);
      multiply(BlockProduct<Cell>{s.cols, v_row_, s.rows, p.cells, p.row, p.col,
                                  d_o_.right(s.query), v_row_, dv_.data() + s.key * v_row_, v_row_,
                                  true, depth, s.diagonal});
    }
    if (dk_wanted_) {
      const Left<Cell> ds = left_.turned(ds_.data(), s.rows);
      multiply(BlockProduct<Cell>{s.cols, q_row_, s.rows, ds.cells, ds.row, ds.col,
                                  queries_.right(s.query), q_row_, dk_.data() + s.key * q_row_,
                                  q_row_, true, depth, s.diagonal});
    }
  }

  const TileScope tiles_;
  const Inputs& in_;
  const Attention& x_;
  int64_t q_row_, v_row_;
  Columns<Cell> key_columns_, value_columns_;
  Rows<Cell> keys_, queries_, d_o_;
  Scratch<A> delta_, dq_, dk_, dv_, p_, ds_, mask_, factors_;
  LeftBlock<Cell> left_;
  bool dq_wanted_ = false, dk_wanted_ = false, dv_wanted_ = false;
  Place loaded_{-1, -1}, loaded_head_{-1, -1};
};

template <class Cell>
void whole_heads(const Inputs& in) {
  const Attention& x = in.args;
  const int64_t work = x.heads / x.kv_heads * x.queries * x.keys * (x.width + x.value_width);
  const int64_t grain = std::max<int64_t>(1, (1 << 17) / std::max<int64_t>(1, work));
  parallel_for(x.batch * x.kv_heads, grain, [&](int64_t begin, int64_t end) {
    Backward<Cell> backward(in);
    for (int64_t i = begin; i < end; ++i)
      backward.run({i / x.kv_heads, i % x.kv_heads}, {0, blocks_of(x.queries)},
                   {0, blocks_of(x.keys)}, true, true);
  });
}

// One sweep with `blocks` pieces of each head.
template <class Cell>
void split_heads(const Inputs& in, bool by_keys) {
  const Attention& x = in.args;
  const Range all_queries{0, blocks_of(x.queries)}, all_keys{0, blocks_of(x.keys)};
  const int64_t blocks = by_keys ? all_keys.end : all_queries.end;
  parallel_for(x.batch * x.kv_heads * blocks, 1, [&](int64_t begin, int64_t end) {
    Backward<Cell> backward(in);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / blocks, piece = balanced(i % blocks, blocks);
      const Range one{piece, piece + 1};
      backward.run({head / x.kv_heads, head % x.kv_heads}, by_keys ? all_queries : one,
                   by_keys ? one : all_keys, !by_keys, by_keys);
    }
  });
}

}  // namespace

void attention_backward(const Attention& args, Heads q, Heads k, Heads v, Heads o, Heads d_o,
                        const void* lse, HeadsOut dq, HeadsOut dk, HeadsOut dv) {
  const Inputs in{args, q, k, v, o, d_o, lse, dq, dk, dv};
  with_cells(args.dtype, [&]<class Cell>() {
    const int64_t blocks = std::max(blocks_of(args.queries), blocks_of(args.keys));
    if (args.batch * args.kv_heads >= threads() || blocks == 1) return whole_heads<Cell>(in);
    if (dk.data || dv.data) split_heads<Cell>(in, true);
    if (dq.data) split_heads<Cell>(in, false);
  });
}

}  // namespace rille::cpu
