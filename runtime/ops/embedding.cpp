#include "ops/embedding.h"

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/rows.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/scan.h"
#include "ops/scatter.h"
#include "ops/scatter_reduce.h"
#include "ops/select.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

// The padding id counted from 0; -1 where there is none.
template <class A>
int64_t padding_of(const A& a) {
  if (!a.padding) return -1;
  const int64_t n = a.weight.size(0), p = *a.padding;
  if (p < -n || p >= n)
    throw arg_error("'padding' must be an id of {} rows, got {}", n, p).of("weight");
  return p < 0 ? p + n : p;
}

void check_id_dtype(const Tensor& ids) {
  if (ids.dtype() != DType::i64 && ids.dtype() != DType::i32)
    throw dtype_error("'ids' must be i64 or i32, got {}", name(ids.dtype()))
        .of("ids")
        .hint("ids:to 'i64'");
}

Tensor flat_ids(const Tensor& ids) { return reshape(cast(ids, DType::i64), {ids.numel()}); }

[[noreturn]] void bad_id(const Tensor& ids, int64_t position, int64_t rows) {
  throw index_error("id {} at position {} names no row: there are {}",
                    ids.data_as<int64_t>()[position], position + 1, rows)
      .of("ids", "weight")
      .hint("ids count from 0");
}

void must_name_rows(const Tensor& ids, int64_t rows) {
  Poll poll;
  for (int64_t i = 0; i < ids.numel(); ++i, poll(1)) {
    const int64_t id = ids.data_as<int64_t>()[i];
    if (id < 0 || id >= rows) bad_id(ids, i, rows);
  }
}

// Rows that ids name, scaled to a norm of at most max_norm where they are longer.
void shorten(const Tensor& weight, const Tensor& ids, double max_norm, double p) {
  Tensor seen = Tensor::empty({weight.size(0)}, DType::boolean);
  fill(seen, 0);
  Poll poll;
  for (int64_t i = 0; i < ids.numel(); ++i, poll(1))
    seen.data_as<bool>()[ids.data_as<int64_t>()[i]] = true;
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
  check_id_dtype(a.ids);
  padding_of(a);
  Shape s = a.ids.shape();
  s.push_back(a.weight.size(1));
  return meta_of(s, a.weight.dtype(), a.weight);
}
void Embedding::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor ids = contiguous(flat_ids(a.ids));
  if (a.max_norm) must_name_rows(ids, a.weight.size(0));
  if (a.max_norm) shorten(a.weight, ids, *a.max_norm, a.norm);
  const Tensor table = contiguous(a.weight);
  const int64_t row_bytes = Checked(table.size(1)) * size_of(table.dtype());
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
  check_id_dtype(a.ids);
  must_be_float(a.dy, "dy");
  must_have_dims(a.dy, 1, kMaxRank, "dy");
  must_be_within(a.count, 0, kFar, "count");
  must_have_shape(a.ids, Shape(a.dy.shape().begin(), a.dy.shape().end() - 1), "ids");
  return meta_of({a.count, a.dy.size(-1)}, a.dy.dtype(), a.dy);
}
void EmbeddingGrad::cpu(const Args& a, Tensor& dweight) {
  const NoGrad quiet;
  if (a.scale_by_frequency) return copy_(dweight, compose(a));
  const Tensor ids = contiguous(flat_ids(a.ids)), dy = contiguous(a.dy);
  const int64_t bad = cpu::add_rows(dy.dtype(), {1, a.count, ids.numel(), ids.data_as<int64_t>()},
                                    dy.size(-1), dy.data(), dweight.data(), false, a.padding);
  if (bad >= 0) bad_id(ids, bad, a.count);
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

// ---- bags --------------------------------------------------------------------------------------

namespace {

void check_offsets(const EmbeddingBag::Args& a) {
  const Tensor& offsets = *a.offsets;
  if (a.ids.rank() != 1)
    throw shape_error("'ids' of bags with offsets must be [n], got {}", to_string(a.ids.shape()))
        .of("ids", "offsets");
  if (offsets.dtype() != DType::i64 && offsets.dtype() != DType::i32)
    throw dtype_error("'offsets' must be i64 or i32, got {}", name(offsets.dtype())).of("offsets");
  if (offsets.rank() != 1 || (a.include_last_offset && offsets.size(0) == 0))
    throw shape_error("'offsets' must be [bags], got {}", to_string(offsets.shape())).of("offsets");
  if (offsets.is_meta()) return;
  int64_t before = 0;
  Poll poll;
  const Tensor places = contiguous(cast(offsets, DType::i64));
  for (int64_t i = 0; i < offsets.numel(); ++i, poll(1)) {
    const int64_t at = places.data_as<int64_t>()[i];
    if (at < before || at > a.ids.numel() || (i == 0 && at != 0))
      throw arg_error("'offsets' must rise from 0 to at most {}, got {} at {}", a.ids.numel(), at,
                      i + 1)
          .of("ids", "offsets");
    before = at;
  }
}

void check_bags(const EmbeddingBag::Args& a) {
  if (a.offsets) {
    check_offsets(a);
  } else if (a.ids.rank() != 2) {
    throw shape_error("'ids' must be [bags, n], or [n] with offsets, got {}",
                      to_string(a.ids.shape()))
        .of("ids");
  }
  if (!a.per_sample_weights) return;
  if (a.mode != EmbeddingBag::Mode::sum)
    throw arg_error("'per_sample_weights' need mode 'sum', got '{}'",
                    names_of(a.mode)[static_cast<size_t>(a.mode)]);
  if (a.per_sample_weights->shape() != a.ids.shape())
    throw shape_error("'per_sample_weights' must have the shape of 'ids', {}, got {}",
                      to_string(a.ids.shape()), to_string(a.per_sample_weights->shape()))
        .of("ids", "per_sample_weights");
}

// The bag of each position. Offsets count as steps: behind k of them (the first aside) lies bag k.
Tensor bags_of(const EmbeddingBag::Args& a, int64_t bags) {
  const int64_t n = a.ids.numel();
  const Device device = a.ids.device();
  if (!a.offsets) {
    const Tensor each = call<Arange>(
        {.first = Tensor::number(int64_t{0}), .last = Tensor::number(bags - 1), .device = device});
    return reshape(expand(unsqueeze(each, 1), a.ids.shape()), {n});
  }
  const int64_t steps = a.offsets->size(0) - 1;
  const Tensor zeros = full({n + 1}, 0, DType::i64, device);
  if (steps <= 0) return narrow(zeros, 0, 0, n);
  const Tensor at = cast(narrow(*a.offsets, 0, 1, steps), DType::i64);
  const Tensor marks = index_add(zeros, 0, at, full({steps}, 1, DType::i64, device));
  return narrow(call<Cumsum>({.x = marks, .dim = {0}}), 0, 0, n);
}

Tensor largest_of(const Tensor& rows, const Tensor& bags, const Tensor& none) {
  return call<ScatterReduce>({.x = none,
                              .dim = {0},
                              .index = expand(unsqueeze(bags, 1), rows.shape()),
                              .source = rows,
                              .reduce = ScatterReduce::Reduce::amax,
                              .include_self = false});
}

}  // namespace

// What is padding, or lies behind the last bag, falls into one more bag, which is cut off.
Tensor EmbeddingBag::compose(const Args& a) {
  check_bags(a);
  const Tensor ids = flat_ids(a.ids);
  Tensor rows = call<Embedding>({.ids = ids,
                                 .weight = a.weight,
                                 .padding = a.padding,
                                 .max_norm = a.max_norm,
                                 .norm = a.norm,
                                 .scale_by_frequency = a.scale_by_frequency});
  const int64_t count =
      a.offsets ? a.offsets->size(0) - (a.include_last_offset ? 1 : 0) : a.ids.size(0);
  Tensor bags = bags_of(a, count);
  if (a.padding)
    bags = where(call<Eq>({.x = ids, .y = Tensor::number(padding_of(a))}), Tensor::number(count),
                 bags);
  if (a.per_sample_weights)
    rows = rows * unsqueeze(reshape(*a.per_sample_weights, {ids.numel()}), 1);
  const Tensor none = full({count + 1, a.weight.size(1)}, 0, rows.dtype(), rows.device());
  if (a.mode == Mode::max) return narrow(largest_of(rows, bags, none), 0, 0, count);
  const Tensor sums = narrow(index_add(none, 0, bags, rows), 0, 0, count);
  if (a.mode == Mode::sum) return sums;
  const Tensor ones = full({ids.numel()}, 1, rows.dtype(), rows.device());
  const Tensor counts = narrow(
      index_add(full({count + 1}, 0, rows.dtype(), rows.device()), 0, bags, ones), 0, 0, count);
  return sums / unsqueeze(call<Clamp>({.x = counts, .min = Tensor::number(1.0)}), 1);
}
void EmbeddingBag::samples(SampleList& s) {
  const Tensor w = grid({4, 3}, -1, 1);
  const auto starts = [](std::initializer_list<double> values) {
    return Tensor::of(std::vector<double>(values), {static_cast<int64_t>(values.size())},
                      DType::i64);
  };
  add_sample<EmbeddingBag>(s, {.ids = ids({2, 3}, 4), .weight = w});
  add_sample<EmbeddingBag>(s, {.ids = ids({5}, 4),
                               .weight = strided(w),
                               .offsets = starts({0, 2, 2}),
                               .mode = Mode::sum,
                               .per_sample_weights = grid({5}, 0.5, 1.5)});
  add_sample<EmbeddingBag>(s, {.ids = ids({6}, 4),
                               .weight = w,
                               .offsets = starts({0, 4, 5}),
                               .mode = Mode::max,
                               .padding = -2,
                               .include_last_offset = true});
  add_sample<EmbeddingBag>(
      s, {.ids = ids({5}, 4), .weight = w, .offsets = starts({0, 2, 5}), .padding = 1});
  add_sample<EmbeddingBag>(s, {.ids = ids({0, 3}, 4), .weight = w});
  add_sample<EmbeddingBag>(s, {.ids = ids({0}, 4), .weight = w, .offsets = starts({0, 0})});
}

Tensor embedding(const Tensor& ids, const Tensor& weight) {
  return call<Embedding>({.ids = ids, .weight = weight});
}

OpFamily family_embedding() {
  return list_ops(OpList<Embedding, EmbeddingGrad, EmbeddingBag>{}, "embedding");
}

}  // namespace rille
