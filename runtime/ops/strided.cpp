#include "ops/strided.h"

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/movement.h"
#include "cpu/pointwise.h"
#include "ops/cast.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"
#include "ops/view.h"

namespace rille {
namespace {

void check_look(const Dims& size, const Dims& stride, int64_t offset, int64_t elements) {
  if (size.size() != stride.size())
    throw shape_error("{} sizes, but {} strides", size.size(), stride.size());
  for (const int64_t s : stride) {
    if (s < 0) throw arg_error("strides must not be negative, got {}", to_string(stride));
    if (s > kMaxBytes) throw shape_error("strides {} are too large", to_string(stride));
  }
  checked_numel(size);
  const Reach r = reach(size, stride, offset);
  if (offset < 0 || r.last >= elements)
    throw index_error("sizes {}, strides {} and offset {} reach element {} of {}", to_string(size),
                      to_string(stride), offset, offset < 0 ? offset : r.last, elements);
}

// Adds src to dst where several elements of src may fall on one of dst: in order, one by one.
template <class A>
void accumulate(const Tensor& dst, const View& v, const Tensor& src) {
  A* to = dst.data_as<A>() + v.offset;
  const A* from = src.data_as<A>();
  cpu::Walk<1> walk(v.shape, {&v.strides});
  Poll poll;
  for (int64_t i = 0; i < src.numel(); ++i, walk.next(), poll(1)) to[walk.offset[0]] += from[i];
}

Tensor region_of(const Tensor& y, const View& v) {
  return y.alias(v.shape, v.strides, y.offset() + v.offset);
}

void copy_converted(const Tensor& dst, const Tensor& src) {
  const NoGrad quiet;
  if (src.dtype() == dst.dtype() && src.shape() == dst.shape()) return cpu::copy_strided(dst, src);
  cpu::copy_strided(dst, expand(cast(src, dst.dtype()), dst.shape()));
}

}  // namespace

bool may_overlap(const Shape& shape, const Strides& strides) {
  int order[kMaxRank], n = 0;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return false;
    if (shape[d] != 1) order[n++] = d;
  }
  std::sort(order, order + n, [&](int a, int b) { return strides[a] < strides[b]; });
  Checked covered(0);  // the furthest that the smaller strides reach
  for (int k = 0; k < n; ++k) {
    if (strides[order[k]] <= covered) return true;
    covered += Checked(strides[order[k]]) * (shape[order[k]] - 1);
  }
  return false;
}

Tensor outline(const Shape& shape, DType dtype) {
  return Tensor::empty(shape, dtype, Device{DeviceType::meta, 0});
}

Tensor place(const Tensor& dy, const Shape& shape, const View& v) {
  return call<StridedPlace>(
      {.x = dy, .shape = Sizes(shape), .strides = Sizes(v.strides), .offset = v.offset});
}

Tensor look_at(const Tensor& x, const View& v) {
  const Tensor flat = contiguous(x);
  return call<AsStrided>({.x = flat,
                          .size = Sizes(v.shape),
                          .strides = Sizes(v.strides),
                          .offset = flat.offset() + v.offset});
}

// ---- as_strided --------------------------------------------------------------------------------

View AsStrided::view(const Args& a) {
  const int64_t offset = a.offset.value_or(a.x.offset());
  const int64_t bits =
      a.x.is_packed() ? bits_of(a.x.dtype()) : 8 * static_cast<int64_t>(size_of(a.x.dtype()));
  const int64_t elements = a.x.is_meta() || !a.x.storage()
                               ? kMaxBytes
                               : static_cast<int64_t>(a.x.storage()->bytes) * 8 / bits;
  check_look(a.size.list, a.strides.list, offset, elements);
  return {a.size.list, a.strides.list, offset};
}

namespace {

// dx for y = a look at the memory of x by `y`, both counted in the same storage: dy goes to where
// it came from in the memory that x covers, and x reads its gradient there.
Tensor memory_gradient(const Tensor& dy, const View& y, const View& x) {
  if (is_contiguous(x.shape, x.strides)) {
    const View within{y.shape, y.strides, y.offset - x.offset};
    return place(dy, x.shape, within);
  }
  const Reach rx = reach(x.shape, x.strides, x.offset), ry = reach(y.shape, y.strides, y.offset);
  const int64_t first = std::min(rx.first, ry.first), last = std::max(rx.last, ry.last);
  const View source{y.shape, y.strides, y.offset - first},
      look{x.shape, x.strides, x.offset - first};
  const Shape block{Reach{first, last}.count()};
  const Tensor dx = look_at(place(dy, block, source), look);
  if (!may_overlap(x.shape, x.strides)) return dx;
  // Elements of x that are one in memory share what arrives there.
  const Tensor one = autograd::engine_ops().ones_like(dx);
  return dx / look_at(place(one, block, look), look);
}

}  // namespace

AsStrided::Args AsStrided::grad(const Back<AsStrided>& b) {
  const Tensor& x = b.a.x;
  if (x.numel() == 0) return {.x = autograd::engine_ops().zeros_like(x), .size = {}, .strides = {}};
  const View y{b.a.size.list, b.a.strides.list, b.a.offset.value_or(x.offset())};
  return {.x = memory_gradient(b.dy, y, {x.shape(), x.strides(), x.offset()}),
          .size = {},
          .strides = {}};
}
void AsStrided::samples(SampleList& s) {
  add_sample<AsStrided>(s,
                        {.x = grid({3, 4}, -1, 1), .size = {2, 2}, .strides = {1, 5}, .offset = 1});
  add_sample<AsStrided>(s, {.x = grid({8}, -1, 1), .size = {3, 4}, .strides = {2, 1}});
  add_sample<AsStrided>(s, {.x = strided(grid({3, 4}, -1, 1)), .size = {2, 3}, .strides = {4, 2}});
  add_sample<AsStrided>(s, {.x = grid({4}, -1, 1), .size = {0, 2}, .strides = {1, 1}});
  add_sample<AsStrided>(s, {.x = grid({4}, -1, 1), .size = {}, .strides = {}, .offset = 2});
}

// ---- strided_place -----------------------------------------------------------------------------

Meta StridedPlace::infer(const Args& a) {
  const int64_t room = checked_numel(a.shape.list);
  // Where there is nothing to place, the offset that a view of nothing had doesn't matter.
  check_look(a.x.shape(), a.strides.list, a.offset, a.x.numel() == 0 ? kMaxBytes : room);
  return meta_of(a.shape.list, a.x.dtype(), a.x);
}
void StridedPlace::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const View v{a.x.shape(), a.strides.list, a.offset};
  if (y.numel() > a.x.numel() || may_overlap(v.shape, v.strides)) cpu::clear(y);
  if (a.x.numel() == 0) return;
  if (!may_overlap(v.shape, v.strides)) return cpu::copy_strided(region_of(y, v), a.x);
  const DType sum = cpu::compute_type(y.dtype());
  const Tensor wide = sum == y.dtype() ? y : Tensor::empty(y.shape(), sum);
  if (sum != y.dtype()) cpu::clear(wide);
  const Tensor x = contiguous(cast(a.x, sum));
  if (sum == DType::f64)
    accumulate<double>(wide, v, x);
  else if (sum == DType::f32)
    accumulate<float>(wide, v, x);
  else
    accumulate<int64_t>(wide, v, x);
  if (sum != y.dtype()) copy_converted(y, wide);
}
StridedPlace::Args StridedPlace::grad(const Back<StridedPlace>& b) {
  return {.x = look_at(b.dy, {b.a.x.shape(), b.a.strides.list, b.a.offset}),
          .shape = {},
          .strides = {}};
}
void StridedPlace::samples(SampleList& s) {
  add_sample<StridedPlace>(
      s, {.x = grid({2, 3}, -1, 1), .shape = {3, 4}, .strides = {4, 1}, .offset = 4});
  add_sample<StridedPlace>(s, {.x = grid({3, 3}, -1, 1), .shape = {5}, .strides = {1, 1}});
  add_sample<StridedPlace>(s, {.x = strided(grid({2, 3}, -1, 1)), .shape = {6}, .strides = {1, 2}});
  add_sample<StridedPlace>(s, {.x = grid({0}, -1, 1), .shape = {2, 2}, .strides = {1}});
}

// ---- as_strided_scatter ------------------------------------------------------------------------

Meta AsStridedScatter::infer(const Args& a) {
  check_look(a.size.list, a.strides.list, a.offset, a.x.numel());
  if (may_overlap(a.size.list, a.strides.list))
    throw arg_error("sizes {} and strides {} reach an element twice", to_string(a.size.list),
                    to_string(a.strides.list));
  if (broadcast(a.source.shape(), a.size.list) != a.size.list)
    throw shape_error("source of shape {} does not broadcast to {}", to_string(a.source.shape()),
                      to_string(a.size.list))
        .of("source");
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void AsStridedScatter::cpu(const Args& a, Tensor& y) {
  cpu::copy_strided(y, a.x);
  copy_converted(region_of(y, {a.size.list, a.strides.list, a.offset}), a.source);
}
AsStridedScatter::Args AsStridedScatter::grad(const Back<AsStridedScatter>& b) {
  Args g{};
  if (b.need(&Args::x)) {
    Args zeroed = b.a;
    zeroed.x = b.dy;
    zeroed.source = autograd::engine_ops().zeros_like(b.a.source);
    g.x = call<AsStridedScatter>(zeroed);
  }
  if (b.need(&Args::source))
    g.source = look_at(b.dy, {b.a.size.list, b.a.strides.list, b.a.offset});
  return g;
}
void AsStridedScatter::samples(SampleList& s) {
  add_sample<AsStridedScatter>(s, {.x = grid({3, 4}, -1, 1),
                                   .source = grid({2, 2}, 2, 3),
                                   .size = {2, 2},
                                   .strides = {4, 2},
                                   .offset = 1});
  add_sample<AsStridedScatter>(
      s,
      {.x = strided(grid({3, 4}, -1, 1)), .source = grid({1}, 2, 3), .size = {3}, .strides = {5}});
  add_sample<AsStridedScatter>(
      s, {.x = grid({4}, -1, 1), .source = grid({0}, 2, 3), .size = {0}, .strides = {1}});
}

// ---- history of writes through views -----------------------------------------------------------

namespace {

using autograd::Edge;
using autograd::Gradients;
using autograd::NodeRef;

View geometry(const Tensor& t) { return {t.shape(), t.strides(), t.offset()}; }

// base = old base, with what `view` looks at replaced by another node's result.
class WriteThrough final : public autograd::Node {
 public:
  WriteThrough(const Tensor& base, const Tensor& view, NodeRef written)
      : base_(geometry(base)), view_(geometry(view)) {
    const bool all = view.numel() == base.numel() && !may_overlap(view_.shape, view_.strides);
    next.push_back(all ? Edge{} : autograd::edge_of(base));
    next.push_back(Edge{std::move(written), 0});
  }
  std::string_view name() const override { return "write_through"; }

  void backward(Gradients& dys, Gradients& dxs) override {
    // The gradient laid out as the memory that base covers.
    const Reach r = reach(base_.shape, base_.strides, base_.offset);
    const View look{base_.shape, base_.strides, base_.offset - r.first};
    const View seen{view_.shape, view_.strides, view_.offset - r.first};
    const Tensor block = is_contiguous(base_.shape, base_.strides)
                             ? reshape(contiguous(dys[0]), {-1})
                             : place(dys[0], {r.count()}, look);
    dys.clear();
    // A copy, so that whoever takes it does not keep the whole block alive.
    if (next[1]) dxs[1] = clone(look_at(block, seen));
    if (!next[0]) return;
    const Tensor zero =
        autograd::engine_ops().zeros_like(Tensor::empty({}, block.dtype(), block.device()));
    const Tensor rest = call<AsStridedScatter>({.x = block,
                                                .source = zero,
                                                .size = Sizes(seen.shape),
                                                .strides = Sizes(seen.strides),
                                                .offset = seen.offset});
    dxs[0] = look_at(rest, look);
  }

 private:
  View base_, view_;
};

// view = a look at base as it is now.
class LookAgain final : public autograd::Node {
 public:
  LookAgain(const Tensor& base, const Tensor& view) : base_(geometry(base)), view_(geometry(view)) {
    next.push_back(autograd::edge_of(base));
  }
  std::string_view name() const override { return "look_again"; }
  void backward(Gradients& dys, Gradients& dxs) override {
    dxs[0] = memory_gradient(dys[0], view_, base_);
  }

 private:
  View base_, view_;
};

}  // namespace

NodeRef write_through(const Tensor& base, const Tensor& view, NodeRef node) {
  return NodeRef(new WriteThrough(base, view, std::move(node)));
}
NodeRef look_again(const Tensor& base, const Tensor& view) {
  return NodeRef(new LookAgain(base, view));
}

OpFamily family_strided() {
  return list_ops(OpList<AsStrided, StridedPlace, AsStridedScatter>{}, "strided");
}

}  // namespace rille
