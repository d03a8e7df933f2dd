#include "ops/embedding.h"

#include "core/fail.h"
#include "cpu/rows.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/scatter.h"
#include "ops/select.h"
#include "ops/view.h"

namespace rille {
namespace {

// The padding id counted from 0; -1 where there is none.
int64_t padding_of(const Embedding::Args& a) {
  if (!a.padding) return -1;
  const int64_t n = a.weight.size(0), p = *a.padding;
  if (p < -n || p >= n)
    throw arg_error("'padding' must be an id of {} rows, got {}", n, p).of("weight");
  return p < 0 ? p + n : p;
}

Tensor flat_ids(const Tensor& ids) { return reshape(cast(ids, DType::i64), {ids.numel()}); }

[[noreturn]] void bad_id(const Tensor& ids, int64_t position, int64_t rows) {
  throw index_error("id {} at position {} names no row: there are {}",
                    ids.data_as<int64_t>()[position], position + 1, rows)
      .of("ids", "weight")
      .hint("ids count from 0");
}

// Rows that ids name, scaled to a norm of at most max_norm where they are longer.
void shorten(const Tensor& weight, const Tensor& ids, double max_norm, double p) {
  Tensor seen = Tensor::empty({weight.size(0)}, DType::boolean);
  fill(seen, 0);
  for (int64_t i = 0; i < ids.numel(); ++i) seen.data_as<bool>()[ids.data_as<int64_t>()[i]] = true;
  const Tensor norms = call<VectorNorm>({.x = weight, .ord = p, .dims = {1}, .keepdim = true});
  const Tensor longer = call<LogicalAnd>(
      {.x = call<Gt>({.x = norms, .y = Tensor::number(max_norm)}), .y = unsqueeze(seen, 1)});
  const Tensor factor = where(longer, max_norm / (norms + 1e-7), Tensor::number(1.0));
  call_<Mul>({.x = weight, .y = cast(factor, weight.dtype())});
}

// 1 / how often the id at each position occurs.
Tensor rarity(const Tensor& ids, int64_t count, DType d) {
  const Tensor ones = full({ids.numel()}, 1, d, ids.device());
  const Tensor often = call<IndexAdd>(
      {.x = full({count}, 0, d, ids.device()), .dim = {0}, .index = ids, .source = ones});
  return 1.0 / index_select(often, 0, ids);
}

}  // namespace

Meta Embedding::infer(const Args& a) {
  if (a.weight.rank() != 2)
    throw shape_error("'weight' must be [count, width], got {}", to_string(a.weight.shape()))
        .of("ids", "weight");
  if (a.ids.dtype() != DType::i64 && a.ids.dtype() != DType::i32)
    throw dtype_error("'ids' must be i64 or i32, got {}", rille::name(a.ids.dtype()))
        .of("ids")
        .hint("ids:to 'i64'");
  padding_of(a);
  Shape s = a.ids.shape();
  s.push_back(a.weight.size(1));
  return meta_of(s, a.weight.dtype(), a.weight);
}
void Embedding::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor ids = contiguous(flat_ids(a.ids));
  if (a.max_norm) shorten(a.weight, ids, *a.max_norm, a.norm);
  const Tensor table = contiguous(a.weight);
  const int64_t row_bytes = table.size(1) * static_cast<int64_t>(size_of(table.dtype()));
  const int64_t bad = cpu::take_rows({1, table.size(0), ids.numel(), ids.data_as<int64_t>()},
                                     row_bytes, table.data(), y.data());
  if (bad >= 0) bad_id(ids, bad, table.size(0));
}
Tensor Embedding::compose(const Args& a) {
  const Meta m = infer(a);
  return reshape(index_select(a.weight, 0, flat_ids(a.ids)), m.shape);
}
Embedding::Args Embedding::grad(const Back<Embedding>& b) {
  return {.weight = call<EmbeddingGrad>(
              {b.dy, b.a.ids, b.a.weight.size(0), padding_of(b.a), b.a.scale_by_frequency})};
}
void Embedding::samples(SampleList& s) {
  add_sample<Embedding>(s, {.ids = ids({2, 3}, 4), .weight = grid({4, 3}, -1, 1)});
  add_sample<Embedding>(
      s, {.ids = cast(ids({5}, 3), DType::i32), .weight = strided(grid({3, 2}, -1, 1))});
  add_sample<Embedding>(s, {.ids = ids({}, 3), .weight = grid({3, 2}, -1, 1)});
  add_sample<Embedding>(s, {.ids = ids({0, 2}, 3), .weight = grid({3, 2}, -1, 1)});
}

Meta EmbeddingGrad::infer(const Args& a) {
  return meta_of({a.count, a.dy.size(-1)}, a.dy.dtype(), a.dy);
}
void EmbeddingGrad::cpu(const Args& a, Tensor& dweight) {
  const NoGrad quiet;
  if (a.scale_by_frequency) return copy_(dweight, compose(a));
  const Tensor ids = contiguous(flat_ids(a.ids)), dy = contiguous(a.dy);
  cpu::add_rows(dy.dtype(), {1, a.count, ids.numel(), ids.data_as<int64_t>()}, dy.size(-1),
                dy.data(), dweight.data(), false, a.padding);
}
Tensor EmbeddingGrad::compose(const Args& a) {
  const Tensor ids = flat_ids(a.ids);
  const int64_t width = a.dy.size(-1);
  Tensor dy = reshape(a.dy, {ids.numel(), width});
  if (a.scale_by_frequency) dy = dy * unsqueeze(rarity(ids, a.count, dy.dtype()), 1);
  if (a.padding >= 0)
    dy = masked_fill(dy, unsqueeze(call<Eq>({.x = ids, .y = Tensor::number(a.padding)}), 1), 0);
  return call<IndexAdd>({.x = full({a.count, width}, 0, dy.dtype(), dy.device()),
                         .dim = {0},
                         .index = ids,
                         .source = dy});
}
void EmbeddingGrad::samples(SampleList& s) {
  add_sample<EmbeddingGrad>(s, {grid({2, 3, 2}, -1, 1), ids({2, 3}, 4), 4});
  add_sample<EmbeddingGrad>(s, {grid({6, 2}, -1, 1), ids({6}, 4), 4, 3});
  add_sample<EmbeddingGrad>(s, {grid({6, 2}, -1, 1), ids({6}, 4), 4, 1, true});
  add_sample<EmbeddingGrad>(s, {grid({0, 2}, -1, 1), ids({0}, 4), 4});
}

Tensor embedding(const Tensor& ids, const Tensor& weight) {
  return call<Embedding>({.ids = ids, .weight = weight});
}

OpFamily family_embedding() { return list_ops(OpList<Embedding, EmbeddingGrad>{}, "embedding"); }

}  // namespace rille
