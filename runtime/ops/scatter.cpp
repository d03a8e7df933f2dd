#include "ops/scatter.h"

#include "core/fail.h"
#include "cpu/indexing.h"
#include "cpu/movement.h"
#include "cpu/pointwise.h"
#include "ops/arith.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/index_plan.h"
#include "ops/pointwise_kernels.h"
#include "ops/scatter_parts.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {

using cpu::Combine;

void check_index_fits(const Tensor& index, const Tensor& t, int free_dim, std::string_view name) {
  bool fits = index.rank() == t.rank();
  for (int d = 0; fits && d < t.rank(); ++d)
    fits = d == free_dim || index.shape()[d] <= t.shape()[d];
  if (!fits)
    throw shape_error("index of shape {} does not fit {} of shape {}", to_string(index.shape()),
                      name, to_string(t.shape()))
        .of("index", name);
}

namespace {

Meta checked(const Tensor& x, const Tensor& index, const Tensor& source) {
  if (!is_integer(index.dtype()))
    throw dtype_error("ids must be integers, got {}", name(index.dtype())).of("index");
  if (!source.is_number() && source.dtype() != x.dtype())
    throw dtype_error("needs values of {}, got {}", name(x.dtype()), name(source.dtype()))
        .of("x", "source");
  return like(x);
}

void start_from(const Tensor& y, const Tensor& x) {
  if (y.numel() > 0 && y.data() != x.data()) cpu::copy_strided(y, x);
}

Tensor one_dim(const Tensor& t) { return t.rank() > 0 ? t : t.alias({1}, {1}, t.offset()); }

}  // namespace

void in_wide_type(const Tensor& y, const Tensor& x, FunctionRef<void(const Tensor&)> f) {
  const DType wide = cpu::compute_type(y.dtype());
  if (wide == y.dtype()) {
    start_from(y, x);
    f(y);
  } else {
    const Tensor sums = cast(x, wide);
    f(sums);
    cpu::copy_strided(y, cast(sums, y.dtype()));
  }
}

void scatter_into(const Tensor& y, Axis given, const Tensor& index, const Tensor& source,
                  Combine how) {
  const Tensor to = one_dim(y), ids = one_dim(index);
  const int dim = axis(given.value, to.rank());
  const Tensor checked = checked_ids(ids, to.shape()[dim], dim, false);
  if (index.numel() == 0) return;
  const Tensor values = cast(source, to.dtype());
  cpu::scatter_lines(to, dim, checked, values, how);
}

Tensor gathered(const Tensor& dy, Axis dim, const Tensor& index, const Tensor& source) {
  const Tensor ds = gather(dy, dim.value, index);
  if (ds.shape() == source.shape()) return ds;
  std::vector<int64_t> pads;
  for (int d = ds.rank() - 1; d >= 0; --d) {
    pads.push_back(0);
    pads.push_back(source.shape()[d] - ds.shape()[d]);
  }
  return pad(ds, pads);
}

Tensor with_zeros(const Tensor& dy, Axis dim, const Tensor& index) {
  return scatter(dy, dim.value, index, Tensor::number(0.0));
}

// ---- scatter -----------------------------------------------------------------------------------

Meta Scatter::infer(const Args& a) {
  const int dim = axis(a.dim.value, a.x.rank());
  const Meta m = checked(a.x, a.index, a.source);
  check_index_fits(a.index, a.x, dim, "x");
  if (!a.source.is_number()) check_index_fits(a.index, a.source, -1, "source");
  return m;
}
void Scatter::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  start_from(y, a.x);
  scatter_into(y, a.dim, a.index, a.source, Combine::assign);
}
Scatter::Args Scatter::grad(const Back<Scatter>& b) {
  Args g;
  if (b.need(&Args::x)) g.x = with_zeros(b.dy, b.a.dim, b.a.index);
  if (b.need(&Args::source)) g.source = gathered(b.dy, b.a.dim, b.a.index, b.a.source);
  return g;
}
void Scatter::samples(SampleList& s) {
  const Tensor turned = Tensor::of(std::vector<double>{2, 0, 1, 1, 2, 0}, {2, 3}, DType::i64);
  add_sample<Scatter>(
      s, {.x = grid({3, 4}, -1, 1), .dim = {0}, .index = turned, .source = grid({2, 4}, 2, 3)});
  add_sample<Scatter>(s, {.x = strided(grid({2, 3}, -1, 1)),
                          .dim = {-1},
                          .index = turned,
                          .source = grid({2, 3}, 2, 3)});
  add_sample<Scatter>(s, {.x = grid({2, 3}, -1, 1),
                          .dim = {1},
                          .index = ids({2, 2}, 3),
                          .source = Tensor::number(5.0)});
  add_sample<Scatter>(
      s, {.x = grid({}, -1, 1), .dim = {0}, .index = ids({}, 1), .source = grid({}, 2, 3)});
  add_sample<Scatter>(s, {.x = grid({2, 3}, -1, 1),
                          .dim = {1},
                          .index = ids({2, 0}, 3),
                          .source = grid({2, 0}, 2, 3)});
}

Meta ScatterAdd::infer(const Args& a) {
  return Scatter::infer({.x = a.x, .dim = a.dim, .index = a.index, .source = a.source});
}
void ScatterAdd::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  in_wide_type(y, a.x, [&](const Tensor& sums) {
    scatter_into(sums, a.dim, a.index, a.source, Combine::add);
  });
}
ScatterAdd::Args ScatterAdd::grad(const Back<ScatterAdd>& b) {
  Args g;
  g.x = b.dy;
  if (b.need(&Args::source)) g.source = gathered(b.dy, b.a.dim, b.a.index, b.a.source);
  return g;
}
void ScatterAdd::samples(SampleList& s) {
  add_sample<ScatterAdd>(s, {.x = grid({3, 4}, -1, 1),
                             .dim = {0},
                             .index = ids({2, 4}, 3),
                             .source = grid({3, 4}, 2, 3)});
  add_sample<ScatterAdd>(s, {.x = strided(grid({3, 4}, -1, 1)),
                             .dim = {1},
                             .index = ids({3, 5}, 4),
                             .source = grid({3, 5}, 2, 3)});
  add_sample<ScatterAdd>(s, {.x = grid({2, 3, 2}, -1, 1),
                             .dim = {1},
                             .index = ids({2, 4, 2}, 3),
                             .source = grid({2, 4, 2}, 2, 3)});
  add_sample<ScatterAdd>(
      s, {.x = grid({3}, -1, 1), .dim = {0}, .index = ids({0}, 3), .source = grid({0}, 2, 3)});
}

// ---- rows --------------------------------------------------------------------------------------

namespace {

// Shapes of index_add and index_copy: source like x, but for one part for each id.
Meta checked_rows(const Tensor& x, Axis given, const Tensor& index, const Tensor& source) {
  const int dim = axis(given.value, x.rank());
  const Meta m = checked(x, index, source);
  if (index.rank() > 1)
    throw shape_error("ids must have one dim, got shape {}", to_string(index.shape())).of("index");
  Shape want = x.shape();
  if (x.rank() > 0) want[dim] = index.numel();
  if (source.shape() != want)
    throw shape_error("source must have shape {}, got {}", to_string(want),
                      to_string(source.shape()))
        .of("x", "source");
  return m;
}

// y at ids along one dim, combined with source (0-d: with that everywhere).
void put_parts(const Tensor& to, Axis given, const Tensor& index, const Tensor& source, Combine how,
               bool negative_too) {
  const Tensor y = one_dim(to);
  const int dim = axis(given.value, y.rank());
  const Tensor ids = contiguous(one_dim(checked_ids(index, y.shape()[dim], dim, negative_too)));
  Shape shape = y.shape();
  shape[dim] = ids.numel();
  const Tensor values = expand(cast(source, y.dtype()), shape);
  const auto front = [&](const Dims& d) { return Dims(d.begin(), d.begin() + dim); };
  const auto back = [&](const Dims& d) { return Dims(d.begin() + dim + 1, d.end()); };
  cpu::Rows r;
  r.count = ids.numel();
  r.places = y.shape()[dim];
  r.place = ids.data_as<int64_t>();
  r.step = y.strides()[dim];
  r.outer = front(shape);
  r.inner = back(shape);
  r.outer_steps = front(y.strides());
  r.inner_steps = back(y.strides());
  r.outer_values = front(values.strides());
  r.inner_values = back(values.strides());
  r.value_step = values.strides()[dim];
  if (values.numel() > 0) cpu::put_rows(r, y, values, how);
}

}  // namespace

Meta IndexAdd::infer(const Args& a) { return checked_rows(a.x, a.dim, a.index, a.source); }
void IndexAdd::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  in_wide_type(y, a.x, [&](const Tensor& sums) {
    const Tensor source = cast(a.source, sums.dtype());
    put_parts(sums, a.dim, a.index, a.alpha == 1 ? source : cast(source * a.alpha, sums.dtype()),
              Combine::add, false);
  });
}
IndexAdd::Args IndexAdd::grad(const Back<IndexAdd>& b) {
  Args g;
  g.x = b.dy;
  if (!b.need(&Args::source)) return g;
  g.source = index_select(b.dy, b.a.dim.value, b.a.index);
  if (b.a.alpha != 1) g.source = g.source * b.a.alpha;
  return g;
}
void IndexAdd::samples(SampleList& s) {
  add_sample<IndexAdd>(
      s,
      {.x = grid({3, 4}, -1, 1), .dim = {0}, .index = ids({4}, 3), .source = grid({4, 4}, 2, 3)});
  add_sample<IndexAdd>(s, {.x = strided(grid({2, 3}, -1, 1)),
                           .dim = {-1},
                           .index = ids({5}, 3),
                           .source = grid({2, 5}, 2, 3),
                           .alpha = -0.5});
  add_sample<IndexAdd>(
      s,
      {.x = grid({2, 3}, -1, 1), .dim = {0}, .index = ids({0}, 2), .source = grid({0, 3}, 2, 3)});
}

Meta IndexCopy::infer(const Args& a) { return checked_rows(a.x, a.dim, a.index, a.source); }
void IndexCopy::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  start_from(y, a.x);
  put_parts(y, a.dim, a.index, a.source, Combine::assign, false);
}
IndexCopy::Args IndexCopy::grad(const Back<IndexCopy>& b) {
  Args g;
  if (b.need(&Args::x)) g.x = index_fill(b.dy, b.a.dim.value, b.a.index, 0);
  if (b.need(&Args::source)) g.source = index_select(b.dy, b.a.dim.value, b.a.index);
  return g;
}
void IndexCopy::samples(SampleList& s) {
  const Tensor once = Tensor::of(std::vector<double>{2, 0}, {2}, DType::i64);
  add_sample<IndexCopy>(
      s, {.x = grid({3, 4}, -1, 1), .dim = {0}, .index = once, .source = grid({2, 4}, 2, 3)});
  add_sample<IndexCopy>(
      s,
      {.x = strided(grid({2, 3}, -1, 1)), .dim = {1}, .index = once, .source = grid({2, 2}, 2, 3)});
}

Meta IndexFill::infer(const Args& a) {
  axis(a.dim.value, a.x.rank());
  if (!is_integer(a.index.dtype()))
    throw dtype_error("ids must be integers, got {}", rille::name(a.index.dtype())).of("index");
  if (a.index.rank() > 1)
    throw shape_error("ids must have one dim, got shape {}", to_string(a.index.shape()))
        .of("index");
  if (a.value.rank() != 0)
    throw shape_error("value must be one element without dims, got shape {}",
                      to_string(a.value.shape()))
        .of("value");
  return like(a.x);
}
void IndexFill::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  start_from(y, a.x);
  put_parts(y, a.dim, a.index, a.value, Combine::assign, true);
}
IndexFill::Args IndexFill::grad(const Back<IndexFill>& b) {
  Args g;
  if (b.need(&Args::x)) g.x = index_fill(b.dy, b.a.dim.value, b.a.index, 0);
  if (!b.need(&Args::value)) return g;
  // All that was overwritten; repeated ids count once.
  const Tensor rest = index_fill(b.dy, b.a.dim.value, b.a.index, 0);
  g.value = b.dy - rest;
  return g;
}
void IndexFill::samples(SampleList& s) {
  const Tensor ends = Tensor::of(std::vector<double>{-1, 0, -1}, {3}, DType::i64);
  add_sample<IndexFill>(
      s, {.x = grid({3, 4}, -1, 1), .dim = {0}, .index = ends, .value = Tensor::number(5.0)});
  add_sample<IndexFill>(
      s, {.x = strided(grid({2, 3}, -1, 1)), .dim = {1}, .index = ends, .value = grid({}, 2, 3)});
}

// ---- anywhere ----------------------------------------------------------------------------------

Meta IndexPut::infer(const Args& a) {
  for (const Tensor& t : a.indices)
    if (!is_integer(t.dtype()) && t.dtype() != DType::boolean)
      throw dtype_error("ids must be integers or masks of bool, got {}", rille::name(t.dtype()));
  if (!a.source.is_number() && a.source.dtype() != a.x.dtype())
    throw dtype_error("needs values of {}, got {}", rille::name(a.x.dtype()),
                      rille::name(a.source.dtype()))
        .of("x", "source");
  return like(a.x);
}
void IndexPut::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const IdList ids = without_masks(a.x, a.indices, a.dims);
  const auto write = [&](const Tensor& to, Combine how) {
    IndexPlan p = index_plan(to, ids.indices, ids.dims);
    const Shape shape = p.shapes.result();
    if (broadcast(a.source.shape(), shape) != shape)
      throw shape_error("source of shape {} does not broadcast to {}", to_string(a.source.shape()),
                        to_string(shape))
          .of("source");
    Tensor values = expand(cast(a.source, to.dtype()), shape);
    if (a.source.numel() != 1) values = contiguous(values);
    set_values(p, values);
    if (values.numel() > 0) cpu::put_rows(p.rows, to, values, how);
  };
  if (a.accumulate)
    return in_wide_type(y, a.x, [&](const Tensor& sums) { write(sums, Combine::add); });
  start_from(y, a.x);
  write(y, Combine::assign);
}
IndexPut::Args IndexPut::grad(const Back<IndexPut>& b) {
  const Args& a = b.a;
  Args g;
  if (b.need(&Args::source)) g.source = index(b.dy, a.indices, a.dims);
  if (!b.need(&Args::x)) return g;
  g.x = b.dy;
  if (!a.accumulate)
    g.x = call<IndexPut>(
        {.x = b.dy, .indices = a.indices, .source = Tensor::number(0.0), .dims = a.dims});
  return g;
}
void IndexPut::samples(SampleList& s) {
  const Tensor once = Tensor::of(std::vector<double>{-1, 0}, {2}, DType::i64);
  add_sample<IndexPut>(
      s, {.x = grid({3, 4}, -1, 1), .indices = {once}, .source = grid({2, 4}, 2, 3), .dims = {}});
  add_sample<IndexPut>(s, {.x = grid({3, 4}, -1, 1),
                           .indices = {once, ids({3, 1}, 4)},
                           .source = grid({2}, 2, 3),
                           .accumulate = true,
                           .dims = {}});
  add_sample<IndexPut>(s, {.x = strided(grid({2, 3, 2}, -1, 1)),
                           .indices = {once, once},
                           .source = grid({3}, 2, 3),
                           .dims = {0, 2}});
  add_sample<IndexPut>(s, {.x = grid({3, 4}, -1, 1),
                           .indices = {mask({3, 4})},
                           .source = Tensor::number(7.0),
                           .dims = {}});
  add_sample<IndexPut>(s, {.x = grid({3, 2}, -1, 1),
                           .indices = {ids({0}, 3)},
                           .source = grid({0, 2}, 2, 3),
                           .dims = {}});
}

Tensor Put::compose(const Args& a) {
  if (a.source.numel() != a.index.numel())
    throw shape_error("{} ids, but {} values", a.index.numel(), a.source.numel())
        .of("index", "source");
  return reshape(call<IndexPut>({.x = reshape(a.x, {-1}),
                                 .indices = {reshape(a.index, {-1})},
                                 .source = reshape(a.source, {-1}),
                                 .accumulate = a.accumulate,
                                 .dims = {}}),
                 a.x.shape());
}
void Put::samples(SampleList& s) {
  const Tensor once = Tensor::of(std::vector<double>{-1, 0}, {2}, DType::i64);
  add_sample<Put>(s, {.x = grid({2, 3}, -1, 1), .index = once, .source = grid({2}, 2, 3)});
  add_sample<Put>(s, {.x = strided(grid({2, 3}, -1, 1)),
                      .index = ids({2, 3}, 6),
                      .source = grid({2, 3}, 2, 3),
                      .accumulate = true});
}

Tensor MaskedScatter::compose(const Args& a) {
  if (a.mask.dtype() != DType::boolean)
    throw dtype_error("mask must be bool, got {}", rille::name(a.mask.dtype())).of("mask");
  const Shape shape = broadcast(a.x.shape(), a.mask.shape());
  const Tensor ids = mask_ids(reshape(expand(a.mask, shape), {-1}))[0];
  if (a.source.numel() < ids.numel())
    throw shape_error("mask asks for {} elements, source has {}", ids.numel(), a.source.numel())
        .of("mask", "source");
  return reshape(call<IndexPut>({.x = reshape(expand(a.x, shape), {-1}),
                                 .indices = {ids},
                                 .source = narrow(reshape(a.source, {-1}), 0, 0, ids.numel()),
                                 .dims = {}}),
                 shape);
}
void MaskedScatter::samples(SampleList& s) {
  add_sample<MaskedScatter>(
      s, {.x = grid({3, 4}, -1, 1), .mask = mask({3, 4}), .source = grid({12}, 2, 3)});
  add_sample<MaskedScatter>(
      s, {.x = strided(grid({3, 4}, -1, 1)), .mask = mask({4}), .source = grid({3, 4}, 2, 3)});
}

// ---- for other ops -----------------------------------------------------------------------------

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& source) {
  return call<Scatter>({.x = x, .dim = {dim}, .index = ids, .source = source});
}
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& source) {
  return call<ScatterAdd>({.x = x, .dim = {dim}, .index = ids, .source = source});
}
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& source,
                 double alpha) {
  return call<IndexAdd>({.x = x, .dim = {dim}, .index = ids, .source = source, .alpha = alpha});
}
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& ids, double value) {
  return call<IndexFill>({.x = x, .dim = {dim}, .index = ids, .value = Tensor::number(value)});
}

OpFamily family_scatter() {
  return list_ops(
      OpList<Scatter, ScatterAdd, IndexAdd, IndexCopy, IndexFill, IndexPut, Put, MaskedScatter>{},
      "scatter");
}

}  // namespace rille
