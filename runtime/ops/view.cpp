#include "ops/view.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "ops/cast.h"
#include "ops/families.h"
#include "ops/register.h"

namespace rille {

std::optional<Strides> view_strides(const Shape& from, const Strides& strides, const Shape& to) {
  if (from == to) return strides;
  if (is_contiguous(from, strides)) return contiguous_strides(to);
  if (checked_numel(to) == 0) return contiguous_strides(to);
  // Dims whose elements follow one another evenly make a run; a new dim must lie within one.
  Dims size, step;
  for (int d = from.size() - 1; d >= 0; --d) {
    if (from[d] == 1) continue;
    const int last = size.size() - 1;
    if (last >= 0 && strides[d] == Checked(step[last]) * size[last]) {
      size[last] = Checked(size[last]) * from[d];
    } else {
      size.push_back(from[d]);
      step.push_back(strides[d]);
    }
  }
  Strides out = Dims::filled(to.size(), 1);
  int run = 0;
  Checked used(1);
  for (int d = to.size() - 1; d >= 0; --d) {
    if (to[d] != 1 && run < size.size() && used == size[run]) {
      ++run;
      used = Checked(1);
    }
    out[d] = run < size.size() ? used * step[run] : Checked(1);
    if (to[d] == 1) continue;
    if (size[run] % (used * to[d]) != 0) return std::nullopt;
    used *= to[d];
  }
  return out;
}

Shape resolve_sizes(const Dims& given, int64_t numel) {
  Shape out = given;
  int unknown = -1;
  for (int d = 0; d < out.size(); ++d) {
    if (out[d] == -1) {
      if (unknown >= 0) throw shape_error("only one size can be -1, got {}", to_string(given));
      unknown = d;
      out[d] = 1;
    } else if (out[d] < 0) {
      throw shape_error("sizes must not be negative, got {}", to_string(given));
    }
  }
  int64_t known = checked_numel(out);
  if (unknown >= 0) {
    if (known == 0) throw shape_error("-1 in {} could be any size", to_string(given));
    out[unknown] = numel / known;
    known = checked_numel(out);
  }
  if (known != numel)
    throw shape_error("shape {} does not hold {} element{}", to_string(given), numel,
                      numel == 1 ? "" : "s");
  return out;
}

// ---- shape -------------------------------------------------------------------------------------

View ViewShape::view(const Args& a) {
  const Shape shape = resolve_sizes(a.shape.list, a.x.numel());
  const auto strides = view_strides(a.x.shape(), a.x.strides(), shape);
  if (!strides)
    throw shape_error("strides {} of shape {} don't allow a view as {}", to_string(a.x.strides()),
                      to_string(a.x.shape()), to_string(shape))
        .of("x")
        .hint("use reshape, which copies where it must");
  return {shape, *strides, a.x.offset()};
}
ViewShape::Args ViewShape::grad(const Back<ViewShape>& b) {
  return {.x = reshape(b.dy, b.a.x.shape()), .shape = {}};
}
void ViewShape::samples(SampleList& s) {
  add_sample<ViewShape>(s, {.x = grid({3, 4}, -1, 1), .shape = {2, -1, 2}});
  add_sample<ViewShape>(s, {.x = strided(grid({2, 4, 3}, -1, 1)), .shape = {2, 1, 2, 2, 3}});
  add_sample<ViewShape>(s, {.x = grid({}, -1, 1), .shape = {1, 1}});
  add_sample<ViewShape>(s, {.x = grid({0, 3}, -1, 1), .shape = {3, 0}});
}

Tensor Reshape::compose(const Args& a) { return reshape(a.x, a.shape.list); }
void Reshape::samples(SampleList& s) {
  add_sample<Reshape>(s, {.x = grid({3, 4}, -1, 1), .shape = {2, -1}});
  add_sample<Reshape>(s, {.x = strided(grid({3, 4}, -1, 1)), .shape = {-1}});
  add_sample<Reshape>(s, {.x = grid({1}, -1, 1), .shape = {}});
  add_sample<Reshape>(s, {.x = grid({0, 3}, -1, 1), .shape = {0}});
}

View ViewAs::view(const Args& a) {
  return ViewShape::view({.x = a.x, .shape = Sizes(a.other.shape())});
}
ViewAs::Args ViewAs::grad(const Back<ViewAs>& b) {
  return {.x = reshape(b.dy, b.a.x.shape()), .other = {}};
}
void ViewAs::samples(SampleList& s) {
  add_sample<ViewAs>(s, {.x = grid({3, 4}, -1, 1), .other = grid({2, 6}, -1, 1)});
}

Tensor Flatten::compose(const Args& a) {
  const int first = axis(a.start.value, a.x.rank()), last = axis(a.end.value, a.x.rank());
  if (a.x.rank() == 0) return reshape(a.x, {1});
  if (first > last)
    throw arg_error("start must not come after end, got dims {} and {}", first + 1, last + 1);
  Shape shape;
  for (int d = 0; d < a.x.rank(); ++d) {
    if (d < first || d > last) shape.push_back(a.x.shape()[d]);
    if (d == last) shape.push_back(numel_of_dims(a.x.shape(), first, last + 1));
  }
  return reshape(a.x, shape);
}
void Flatten::samples(SampleList& s) {
  add_sample<Flatten>(s, {.x = grid({2, 3, 4}, -1, 1)});
  add_sample<Flatten>(s, {.x = strided(grid({2, 3, 4}, -1, 1)), .start = {1}});
  add_sample<Flatten>(s, {.x = grid({2, 3, 4}, -1, 1), .start = {0}, .end = {1}});
  add_sample<Flatten>(s, {.x = grid({}, -1, 1)});
}

Tensor Unflatten::compose(const Args& a) {
  const int dim = axis(a.dim.value, a.x.rank());
  if (a.x.rank() == 0) throw shape_error("needs a tensor with dims, got shape []").of("x");
  if (a.sizes.list.empty()) throw arg_error("sizes must not be empty");
  const Shape inner = resolve_sizes(a.sizes.list, a.x.shape()[dim]);
  Shape shape(a.x.shape().begin(), a.x.shape().begin() + dim);
  for (const int64_t n : inner) shape.push_back(n);
  for (int d = dim + 1; d < a.x.rank(); ++d) shape.push_back(a.x.shape()[d]);
  return call<ViewShape>({.x = a.x, .shape = Sizes(shape)});
}
void Unflatten::samples(SampleList& s) {
  add_sample<Unflatten>(s, {.x = grid({2, 6}, -1, 1), .dim = {1}, .sizes = {3, -1}});
  add_sample<Unflatten>(s, {.x = strided(grid({6, 2}, -1, 1)), .dim = {0}, .sizes = {2, 3}});
}

// ---- dims of size 1 ----------------------------------------------------------------------------

View Squeeze::view(const Args& a) {
  View v{{}, {}, a.x.offset()};
  const int only = a.dim ? axis(a.dim->value, a.x.rank()) : -1;
  for (int d = 0; d < a.x.rank(); ++d) {
    if (a.x.shape()[d] == 1 && (only < 0 || d == only)) continue;
    v.shape.push_back(a.x.shape()[d]);
    v.strides.push_back(a.x.strides()[d]);
  }
  return v;
}
Squeeze::Args Squeeze::grad(const Back<Squeeze>& b) { return {.x = reshape(b.dy, b.a.x.shape())}; }
void Squeeze::samples(SampleList& s) {
  add_sample<Squeeze>(s, {.x = grid({1, 3, 1}, -1, 1)});
  add_sample<Squeeze>(s, {.x = grid({1, 3, 1}, -1, 1), .dim = Axis{-1}});
  add_sample<Squeeze>(s, {.x = grid({1, 0}, -1, 1)});
}

View Unsqueeze::view(const Args& a) {
  View v{a.x.shape(), a.x.strides(), a.x.offset()};
  const int dim = axis(a.dim.value, a.x.rank() + 1);
  const int64_t stride = dim < a.x.rank() ? Checked(v.shape[dim]) * v.strides[dim] : Checked(1);
  v.shape.insert(dim, 1);
  v.strides.insert(dim, stride);
  return v;
}
Unsqueeze::Args Unsqueeze::grad(const Back<Unsqueeze>& b) {
  return {.x = reshape(b.dy, b.a.x.shape()), .dim = {}};
}
void Unsqueeze::samples(SampleList& s) {
  add_sample<Unsqueeze>(s, {.x = grid({3, 2}, -1, 1), .dim = {0}});
  add_sample<Unsqueeze>(s, {.x = strided(grid({3, 2}, -1, 1)), .dim = {-1}});
  add_sample<Unsqueeze>(s, {.x = grid({}, -1, 1), .dim = {0}});
  add_sample<Unsqueeze>(s, {.x = grid({0}, -1, 1), .dim = {1}});
}

// ---- order of dims -----------------------------------------------------------------------------

namespace {

// The order as dims from 0, each once.
Dims checked_order(const Axes& dims, int rank) {
  if (dims.list.size() != rank)
    throw shape_error("{} dims given for a tensor of {}", dims.list.size(), rank);
  Dims order, seen = Dims::filled(rank, 0);
  for (const int64_t given : dims.list) {
    const int d = axis(given, rank);
    if (seen[d]++) throw arg_error("dim {} is named twice", d + 1);
    order.push_back(d);
  }
  return order;
}

Dims inverse(const Dims& order) {
  Dims out = order;
  for (int d = 0; d < order.size(); ++d) out[static_cast<int>(order[d])] = d;
  return out;
}

}  // namespace

View Permute::view(const Args& a) {
  View v{{}, {}, a.x.offset()};
  for (const int64_t d : checked_order(a.dims, a.x.rank())) {
    v.shape.push_back(a.x.shape()[static_cast<int>(d)]);
    v.strides.push_back(a.x.strides()[static_cast<int>(d)]);
  }
  return v;
}
Permute::Args Permute::grad(const Back<Permute>& b) {
  return {.x = permute(b.dy, inverse(checked_order(b.a.dims, b.a.x.rank()))), .dims = {}};
}
void Permute::samples(SampleList& s) {
  add_sample<Permute>(s, {.x = grid({2, 3, 4}, -1, 1), .dims = {2, 0, 1}});
  add_sample<Permute>(s, {.x = strided(grid({2, 3, 4}, -1, 1)), .dims = {-1, 1, 0}});
  add_sample<Permute>(s, {.x = grid({0, 3}, -1, 1), .dims = {1, 0}});
  add_sample<Permute>(s, {.x = grid({}, -1, 1), .dims = Axes(Dims{})});
}

View Transpose::view(const Args& a) {
  View v{a.x.shape(), a.x.strides(), a.x.offset()};
  const int i = axis(a.dim0.value, a.x.rank()), j = axis(a.dim1.value, a.x.rank());
  if (a.x.rank() == 0) return v;
  std::swap(v.shape[i], v.shape[j]);
  std::swap(v.strides[i], v.strides[j]);
  return v;
}
Transpose::Args Transpose::grad(const Back<Transpose>& b) {
  return {.x = transpose(b.dy, b.a.dim0.value, b.a.dim1.value)};
}
void Transpose::samples(SampleList& s) {
  add_sample<Transpose>(s, {.x = grid({2, 3, 4}, -1, 1), .dim0 = {0}, .dim1 = {2}});
  add_sample<Transpose>(s, {.x = strided(grid({3, 4}, -1, 1))});
  add_sample<Transpose>(s, {.x = grid({3, 0}, -1, 1), .dim0 = {0}, .dim1 = {-1}});
  add_sample<Transpose>(s, {.x = grid({}, -1, 1), .dim0 = {0}, .dim1 = {-1}});
}

Tensor SwapAxes::compose(const Args& a) { return transpose(a.x, a.dim0.value, a.dim1.value); }
void SwapAxes::samples(SampleList& s) {
  add_sample<SwapAxes>(s, {.x = grid({2, 3, 4}, -1, 1), .dim0 = {0}, .dim1 = {1}});
}

Tensor MatrixTranspose::compose(const Args& a) {
  if (a.x.rank() > 2)
    throw shape_error("needs at most two dims, got shape {}", to_string(a.x.shape()))
        .of("x")
        .hint("transpose exchanges any two dims");
  return a.x.rank() < 2 ? a.x : transpose(a.x);
}
void MatrixTranspose::samples(SampleList& s) {
  add_sample<MatrixTranspose>(s, {.x = grid({3, 4}, -1, 1)});
  add_sample<MatrixTranspose>(s, {.x = strided(grid({3, 4}, -1, 1))});
  add_sample<MatrixTranspose>(s, {.x = grid({3}, -1, 1)});
}

Tensor MoveDim::compose(const Args& a) {
  const int rank = a.x.rank(), n = a.source.list.size();
  if (n != a.destination.list.size())
    throw arg_error("{} dims to move, {} places for them", n, a.destination.list.size());
  Dims order = Dims::filled(rank, -1), moved = Dims::filled(rank, 0);
  for (int i = 0; i < n; ++i) {
    const int from = axis(a.source.list[i], rank), to = axis(a.destination.list[i], rank);
    if (moved[from]++) throw arg_error("source names dim {} twice", from + 1);
    if (order[to] >= 0) throw arg_error("destination names dim {} twice", to + 1);
    order[to] = from;
  }
  int next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (moved[next]) ++next;
    d = next++;
  }
  return permute(a.x, order);
}
void MoveDim::samples(SampleList& s) {
  add_sample<MoveDim>(s, {.x = grid({2, 3, 4}, -1, 1), .source = {0}, .destination = {-1}});
  add_sample<MoveDim>(s, {.x = grid({2, 3, 4}, -1, 1), .source = {0, 1}, .destination = {2, 0}});
}

// ---- repeated without a copy -------------------------------------------------------------------

View Expand::view(const Args& a) {
  const Shape& x = a.x.shape();
  Shape to = a.sizes.list;
  const int extra = to.size() - x.size();
  if (extra < 0)
    throw shape_error("{} sizes given for a tensor of {} dims", to.size(), x.size()).of("x");
  for (int d = 0; d < to.size(); ++d) {
    if (to[d] == -1) {
      if (d < extra) throw shape_error("a new dim can't be -1, got {}", to_string(a.sizes.list));
      to[d] = x[d - extra];
    }
    if (d >= extra && x[d - extra] != 1 && x[d - extra] != to[d])
      throw shape_error("shape {} does not expand to {}", to_string(x), to_string(a.sizes.list))
          .of("x");
  }
  return {to, broadcast_strides(x, a.x.strides(), to), a.x.offset()};
}
Expand::Args Expand::grad(const Back<Expand>& b) { return {.x = b.dy, .sizes = {}}; }
void Expand::samples(SampleList& s) {
  add_sample<Expand>(s, {.x = grid({3, 1}, -1, 1), .sizes = {2, -1, 4}});
  add_sample<Expand>(s, {.x = grid({3}, -1, 1), .sizes = {3}});
  add_sample<Expand>(s, {.x = grid({}, -1, 1), .sizes = {2, 2}});
  add_sample<Expand>(s, {.x = grid({1, 2}, -1, 1), .sizes = {0, 2}});
}

Tensor BroadcastTo::compose(const Args& a) {
  for (const int64_t n : a.sizes.list)
    if (n < 0) throw shape_error("sizes must not be negative, got {}", to_string(a.sizes.list));
  return expand(a.x, a.sizes.list);
}
void BroadcastTo::samples(SampleList& s) {
  add_sample<BroadcastTo>(s, {.x = grid({3}, -1, 1), .sizes = {2, 3}});
}

Tensor ExpandAs::compose(const Args& a) { return expand(a.x, a.other.shape()); }
void ExpandAs::samples(SampleList& s) {
  add_sample<ExpandAs>(s, {.x = grid({3, 1}, -1, 1), .other = grid({2, 3, 2}, -1, 1)});
}

// ---- for other ops -----------------------------------------------------------------------------

Tensor reshape(const Tensor& x, const Shape& given) {
  if (x.shape() == given) return x;
  const Sizes shape(resolve_sizes(given, x.numel()));
  const bool fits = view_strides(x.shape(), x.strides(), shape.list).has_value();
  return call<ViewShape>({.x = fits ? x : contiguous(x), .shape = shape});
}
Tensor permute(const Tensor& x, const Dims& dims) {
  return call<Permute>({.x = x, .dims = Axes(dims)});
}
Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  return call<Transpose>({.x = x, .dim0 = {dim0}, .dim1 = {dim1}});
}
Tensor unsqueeze(const Tensor& x, int64_t dim) { return call<Unsqueeze>({.x = x, .dim = {dim}}); }
Tensor squeeze(const Tensor& x, int64_t dim) { return call<Squeeze>({.x = x, .dim = Axis{dim}}); }
Tensor expand(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : call<Expand>({.x = x, .sizes = Sizes(shape)});
}

OpFamily family_view() {
  return list_ops(
      OpList<ViewShape, Reshape, ViewAs, Flatten, Unflatten, Squeeze, Unsqueeze, Permute, Transpose,
             SwapAxes, MatrixTranspose, MoveDim, Expand, BroadcastTo, ExpandAs>{},
      "view");
}

}  // namespace rille
