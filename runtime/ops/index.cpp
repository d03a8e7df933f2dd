#include "ops/index.h"

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/indexing.h"
#include "cpu/movement.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index_plan.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/scatter.h"
#include "ops/select.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

void check_integers(const Tensor& ids) {
  if (!is_integer(ids.dtype()))
    throw dtype_error("ids must be integers, got {}", name(ids.dtype())).of("index");
}

Tensor zeros_for(const Tensor& x, const Tensor& dy) {
  return full(x.shape(), 0, dy.dtype(), dy.device());
}

}  // namespace

// ---- index_select ------------------------------------------------------------------------------

Meta IndexSelect::infer(const Args& a) {
  const int dim = axis(a.dim.value, a.x.rank());
  check_integers(a.index);
  if (a.index.rank() > 1)
    throw shape_error("ids must have one dim, got shape {}", to_string(a.index.shape()))
        .of("index");
  Shape shape = a.x.shape();
  if (a.x.rank() > 0)
    shape[dim] = a.index.numel();
  else if (a.index.numel() != 1)
    throw shape_error("a tensor without dims takes one id").of("index");
  return meta_of(shape, a.x.dtype(), a.x);
}
void IndexSelect::cpu(const Args& a, Tensor& y) {
  if (a.x.rank() == 0) {
    checked_ids(a.index, 1, 0, false);
    return cpu::copy_strided(y, a.x);
  }
  const int dim = axis(a.dim.value, a.x.rank()), behind = dim + 1;
  const Tensor ids = checked_ids(a.index, a.x.shape()[dim], dim, false);
  const auto front = [&](const Dims& d) { return Dims(d.begin(), d.begin() + dim); };
  const auto back = [&](const Dims& d) { return Dims(d.begin() + behind, d.end()); };
  const Tensor flat = contiguous(ids);
  cpu::Rows r;
  r.count = ids.numel();
  r.place = flat.data_as<int64_t>();
  r.step = a.x.strides()[dim];
  r.outer = front(a.x.shape());
  r.inner = back(a.x.shape());
  r.outer_steps = front(a.x.strides());
  r.inner_steps = back(a.x.strides());
  r.outer_values = front(y.strides());
  r.inner_values = back(y.strides());
  r.value_step = y.strides()[dim];
  cpu::take_rows(r, a.x, y);
}
IndexSelect::Args IndexSelect::grad(const Back<IndexSelect>& b) {
  if (b.a.x.rank() == 0) return {.x = b.dy, .dim = {}, .index = {}};
  return {.x = index_add(zeros_for(b.a.x, b.dy), b.a.dim.value, b.a.index, b.dy),
          .dim = {},
          .index = {}};
}
void IndexSelect::samples(SampleList& s) {
  add_sample<IndexSelect>(s, {.x = grid({4, 3}, -1, 1), .dim = {0}, .index = ids({5}, 4)});
  add_sample<IndexSelect>(s,
                          {.x = strided(grid({2, 3, 2}, -1, 1)), .dim = {1}, .index = ids({4}, 3)});
  add_sample<IndexSelect>(s, {.x = grid({2, 3}, -1, 1), .dim = {-1}, .index = ids({}, 3)});
  add_sample<IndexSelect>(s, {.x = grid({2, 3}, -1, 1), .dim = {0}, .index = ids({0}, 2)});
}

// ---- gather ------------------------------------------------------------------------------------

Meta Gather::infer(const Args& a) {
  const int dim = axis(a.dim.value, a.x.rank());
  check_integers(a.index);
  // As in PyTorch: no ids fit anything, and a list of ids fits a single number.
  const bool list_of_one = a.x.rank() == 0 && a.index.rank() == 1;
  if (a.index.numel() > 0 && !list_of_one) check_index_fits(a.index, a.x, dim, "x");
  return meta_of(a.index.shape(), a.x.dtype(), a.x);
}
void Gather::cpu(const Args& a, Tensor& y) {
  const int dim = axis(a.dim.value, a.x.rank());
  if (a.x.rank() == 0) {
    checked_ids(a.index, 1, 0, false);
    return cpu::copy_strided(y, expand(a.x, y.shape()));
  }
  if (y.numel() > 0)
    cpu::gather_lines(a.x, dim, checked_ids(a.index, a.x.shape()[dim], dim, false), y);
}
Gather::Args Gather::grad(const Back<Gather>& b) {
  if (b.a.x.rank() == 0) return {.x = call<Sum>({.x = b.dy}), .dim = {}, .index = {}};
  if (b.a.index.numel() == 0) return {.x = zeros_for(b.a.x, b.dy), .dim = {}, .index = {}};
  return {.x = scatter_add(zeros_for(b.a.x, b.dy), b.a.dim.value, b.a.index, b.dy),
          .dim = {},
          .index = {}};
}
void Gather::samples(SampleList& s) {
  add_sample<Gather>(s, {.x = grid({3, 4}, -1, 1), .dim = {0}, .index = ids({2, 4}, 3)});
  add_sample<Gather>(s, {.x = strided(grid({3, 4}, -1, 1)), .dim = {-1}, .index = ids({2, 5}, 4)});
  add_sample<Gather>(s, {.x = grid({2, 3, 2}, -1, 1), .dim = {1}, .index = ids({2, 2, 1}, 3)});
  add_sample<Gather>(s, {.x = grid({}, -1, 1), .dim = {0}, .index = ids({}, 1)});
  add_sample<Gather>(s, {.x = grid({}, -1, 1), .dim = {0}, .index = ids({2}, 1)});
  add_sample<Gather>(s, {.x = grid({3}, -1, 1), .dim = {0}, .index = ids({2, 0}, 3)});
}

namespace {

// Ids below 0 count from the end.
Tensor from_front(const Tensor& given, int64_t n) {
  const Tensor ids = cast(given, DType::i64);
  const Tensor behind = call<Lt>({.x = ids, .y = Tensor::number(int64_t{0})});
  return where(behind, ids + Tensor::number(n), ids);
}

}  // namespace

Tensor TakeAlong::compose(const Args& a) {
  check_integers(a.index);
  if (!a.dim) return gather(reshape(a.x, {-1}), 0, from_front(reshape(a.index, {-1}), a.x.numel()));
  if (a.x.rank() != a.index.rank())
    throw shape_error("x has {} dims, index {}", a.x.rank(), a.index.rank()).of("x", "index");
  const int dim = axis(a.dim->value, a.x.rank());
  Shape x = a.x.shape(), index = a.index.shape();
  for (int d = 0; d < x.size(); ++d) {
    if (d == dim) continue;
    const Shape both = broadcast({x[d]}, {index[d]});
    x[d] = index[d] = both[0];
  }
  return gather(expand(a.x, x), dim, expand(from_front(a.index, a.x.size(dim)), index));
}
void TakeAlong::samples(SampleList& s) {
  add_sample<TakeAlong>(s, {.x = grid({3, 4}, -1, 1), .index = ids({3, 2}, 4), .dim = Axis{1}});
  add_sample<TakeAlong>(s, {.x = grid({3, 1}, -1, 1), .index = ids({1, 2}, 3), .dim = Axis{0}});
  add_sample<TakeAlong>(s, {.x = grid({3, 2}, -1, 1), .index = ids({4}, 6)});
  add_sample<TakeAlong>(
      s,
      {.x = grid({3}, -1, 1), .index = ids({2}, 3) - Tensor::number(int64_t{3}), .dim = Axis{0}});
}

Tensor Take::compose(const Args& a) { return index(reshape(a.x, {-1}), {a.index}); }
void Take::samples(SampleList& s) {
  const std::vector<double> from_end{-1, 0, 4};
  add_sample<Take>(s, {.x = grid({3, 4}, -1, 1), .index = ids({2, 3}, 12)});
  add_sample<Take>(
      s, {.x = strided(grid({2, 3}, -1, 1)), .index = Tensor::of(from_end, {3}, DType::i64)});
}

// ---- index -------------------------------------------------------------------------------------

Tensor Index::compose(const Args& a) {
  const IdList ids = without_masks(a.x, a.indices, a.dims);
  return call<IndexIds>({.x = a.x, .indices = ids.indices, .dims = ids.dims});
}
void Index::samples(SampleList& s) {
  add_sample<Index>(s, {.x = grid({3, 4}, -1, 1), .indices = {mask({3, 4})}, .dims = {}});
  add_sample<Index>(s, {.x = grid({3, 4}, -1, 1), .indices = {mask({4})}, .dims = {1}});
  add_sample<Index>(s, {.x = grid({2, 3, 2}, -1, 1), .indices = {ids({2, 2}, 3)}, .dims = {1}});
}

Meta IndexIds::infer(const Args& a) {
  for (const Tensor& t : a.indices) check_integers(t);
  return meta_of(index_shapes(a.x, a.indices, a.dims).result(), a.x.dtype(), a.x);
}
void IndexIds::cpu(const Args& a, Tensor& y) {
  IndexPlan p = index_plan(a.x, a.indices, a.dims);
  set_values(p, y);
  if (y.numel() > 0) cpu::take_rows(p.rows, a.x, y);
}
IndexIds::Args IndexIds::grad(const Back<IndexIds>& b) {
  return {.x = call<IndexPut>({.x = zeros_for(b.a.x, b.dy),
                               .indices = b.a.indices,
                               .source = b.dy,
                               .accumulate = true,
                               .dims = b.a.dims}),
          .indices = {},
          .dims = {}};
}
void IndexIds::samples(SampleList& s) {
  const std::vector<double> from_end{-1, 0};
  const Tensor ends = Tensor::of(from_end, {2}, DType::i64);
  add_sample<IndexIds>(s,
                       {.x = grid({3, 4}, -1, 1), .indices = {ends, ids({3, 1}, 4)}, .dims = {}});
  add_sample<IndexIds>(
      s, {.x = grid({2, 3, 2}, -1, 1), .indices = {ends, ids({2}, 2)}, .dims = {0, 2}});
  add_sample<IndexIds>(
      s,
      {.x = strided(grid({2, 3, 2}, -1, 1)), .indices = {ids({}, 2), ids({3}, 3)}, .dims = {2, 1}});
  add_sample<IndexIds>(s, {.x = grid({3, 2}, -1, 1), .indices = {ids({0}, 3)}, .dims = {}});
}

Tensor MaskedSelect::compose(const Args& a) {
  if (a.mask.dtype() != DType::boolean)
    throw dtype_error("mask must be bool, got {}", rille::name(a.mask.dtype())).of("mask");
  const Shape shape = broadcast(a.x.shape(), a.mask.shape());
  const Tensor x = reshape(expand(a.x, shape), {-1}), mask = reshape(expand(a.mask, shape), {-1});
  return index_select(x, 0, mask_ids(mask)[0]);
}
void MaskedSelect::samples(SampleList& s) {
  add_sample<MaskedSelect>(s, {.x = grid({3, 4}, -1, 1), .mask = mask({3, 4})});
  add_sample<MaskedSelect>(s, {.x = strided(grid({3, 4}, -1, 1)), .mask = mask({4})});
  add_sample<MaskedSelect>(s, {.x = grid({}, -1, 1), .mask = mask({})});
}

// ---- what is not zero --------------------------------------------------------------------------

Meta Argwhere::infer(const Args& a) { return meta_of({0, a.x.rank()}, DType::i64, a.x); }
void Argwhere::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x);
  y = Tensor::empty({cpu::count_nonzero(x), x.rank()}, DType::i64, x.device());
  cpu::write_nonzero(x, y.data_as<int64_t>());
}
void Argwhere::samples(SampleList& s) {
  add_sample<Argwhere>(s, {.x = mask({3, 4})});
  add_sample<Argwhere>(s, {.x = ids({5}, 3)});
  add_sample<Argwhere>(s, {.x = grid({}, 1, 2)});
  add_sample<Argwhere>(s, {.x = grid({0, 2}, 1, 2)});
}

std::vector<Tensor> Nonzero::compose(const Args& a) {
  if (!a.as_tuple) return {call<Argwhere>({.x = a.x})};
  return unbind(call<Argwhere>({.x = a.x.rank() == 0 ? unsqueeze(a.x, 0) : a.x}), 1);
}
void Nonzero::samples(SampleList& s) {
  add_sample<Nonzero>(s, {.x = mask({3, 4})});
  add_sample<Nonzero>(s, {.x = mask({3, 4}), .as_tuple = true});
  add_sample<Nonzero>(s, {.x = mask({}), .as_tuple = true});
}

Tensor OneHot::compose(const Args& a) {
  check_integers(a.x);
  if (a.classes == 0 || a.classes < -1)
    throw arg_error("classes must be positive, or -1, got {}", a.classes);
  int64_t classes = a.classes;
  if (classes == -1) {
    if (a.x.is_meta())
      throw fail(Kind::device, "E_NO_KERNEL", "needs 'classes': meta tensors have no largest id");
    if (a.x.numel() == 0) throw arg_error("needs 'classes' where there are no ids");
    const Tensor x = contiguous(cast(a.x, DType::i64));
    Poll poll;
    for (int64_t i = 0; i < x.numel(); ++i, poll(1))
      classes = std::max<int64_t>(classes, Checked(x.data_as<int64_t>()[i]) + 1);
  }
  Shape shape = a.x.shape();
  shape.push_back(std::max<int64_t>(classes, 1));
  const Tensor zeros = full(shape, 0, DType::i64, a.x.device());
  return call<Scatter>(
      {.x = zeros, .dim = {-1}, .index = unsqueeze(a.x, -1), .source = Tensor::number(int64_t{1})});
}
void OneHot::samples(SampleList& s) {
  add_sample<OneHot>(s, {.x = ids({2, 3}, 4)});
  add_sample<OneHot>(s, {.x = ids({3}, 4), .classes = 5});
  add_sample<OneHot>(s, {.x = ids({0}, 4), .classes = 2});
}

// ---- for other ops -----------------------------------------------------------------------------

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& ids) {
  return call<IndexSelect>({.x = x, .dim = {dim}, .index = ids});
}
Tensor gather(const Tensor& x, int64_t dim, const Tensor& ids) {
  return call<Gather>({.x = x, .dim = {dim}, .index = ids});
}
Tensor index(const Tensor& x, const std::vector<Tensor>& indices, const Axes& dims) {
  return call<Index>({.x = x, .indices = indices, .dims = dims});
}
std::vector<Tensor> mask_ids(const Tensor& mask) {
  return call<Nonzero>({.x = mask, .as_tuple = true});
}

OpFamily family_index() {
  return list_ops(OpList<IndexSelect, Gather, TakeAlong, Take, Index, IndexIds, MaskedSelect,
                         Argwhere, Nonzero, OneHot>{},
                  "index");
}

}  // namespace rille
