#include "ops/slice.h"

#include <numeric>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "ops/families.h"
#include "ops/register.h"
#include "ops/shape.h"
#include "ops/view.h"

namespace rille {
namespace {

// A dim of a tensor that must have dims.
int real_axis(int64_t dim, const Tensor& x) {
  if (x.rank() == 0) throw shape_error("needs a tensor with dims, got shape []").of("x");
  return axis(dim, x.rank());
}

// A position in the script's terms.
int64_t shown(int64_t position) {
  return position >= 0 && position < INT64_MAX ? position + 1 : position;
}

View part(const Tensor& x, int dim, int64_t start, int64_t length, int64_t step = 1) {
  View v{x.shape(), x.strides(), Checked(start) * x.strides()[dim] + x.offset()};
  v.shape[dim] = length;
  v.strides[dim] = Checked(step) * v.strides[dim];
  return v;
}

}  // namespace

View Narrow::view(const Args& a) {
  const int dim = real_axis(a.dim.value, a.x);
  const int64_t n = a.x.shape()[dim], start = from_front(a.start.value, n);
  if (a.length < 0) throw arg_error("length must not be negative, got {}", a.length);
  if (start < 0 || start > n || a.length > n - start)
    throw index_error("{} from position {} on do not fit dim {} of size {}", a.length,
                      shown(a.start.value), dim + 1, n)
        .of("x");
  return part(a.x, dim, start, a.length);
}
void Narrow::samples(SampleList& s) {
  add_sample<Narrow>(s, {.x = grid({5, 3}, -1, 1), .dim = {0}, .start = {1}, .length = 3});
  add_sample<Narrow>(
      s, {.x = strided(grid({2, 3, 4}, -1, 1)), .dim = {-1}, .start = {-2}, .length = 2});
  add_sample<Narrow>(s, {.x = grid({3}, -1, 1), .dim = {0}, .start = {3}, .length = 0});
}

View Select::view(const Args& a) {
  const int dim = real_axis(a.dim.value, a.x);
  const int64_t n = a.x.shape()[dim], index = from_front(a.index.value, n);
  if (index < 0 || index >= n)
    throw index_error("position {} is out of range for dim {} of size {}", shown(a.index.value),
                      dim + 1, n)
        .of("x");
  View v = part(a.x, dim, index, 1);
  v.shape.erase(dim);
  v.strides.erase(dim);
  return v;
}
void Select::samples(SampleList& s) {
  add_sample<Select>(s, {.x = grid({5, 3}, -1, 1), .dim = {0}, .index = {1}});
  add_sample<Select>(s, {.x = strided(grid({2, 3, 4}, -1, 1)), .dim = {-1}, .index = {-1}});
  add_sample<Select>(s, {.x = grid({3}, -1, 1), .dim = {0}, .index = {2}});
  add_sample<Select>(s, {.x = grid({3, 0}, -1, 1), .dim = {0}, .index = {0}});
}

View Slice::view(const Args& a) {
  const int dim = real_axis(a.dim.value, a.x);
  if (a.step < 1) throw arg_error("step must be at least 1, got {}", a.step);
  const int64_t n = a.x.shape()[dim];
  const int64_t first = std::clamp<int64_t>(from_front(a.first.value, n), 0, n);
  const int64_t end = std::clamp(from_front(a.last.value, n), first - 1, n - 1) + 1;
  const int64_t step = std::min(a.step, std::max<int64_t>(n, 1));  // none of them goes further
  return part(a.x, dim, first, pieces(end - first, step), step);
}
void Slice::samples(SampleList& s) {
  add_sample<Slice>(s, {.x = grid({5, 3}, -1, 1), .dim = {0}, .first = {1}, .last = {3}});
  add_sample<Slice>(
      s, {.x = strided(grid({2, 5}, -1, 1)), .dim = {1}, .first = {-5}, .last = {9}, .step = 2});
  add_sample<Slice>(s, {.x = grid({4}, -1, 1), .dim = {0}, .first = {3}, .last = {1}});
}

View Diagonal::view(const Args& a) {
  const int i = axis(a.dim1.value, a.x.rank()), j = axis(a.dim2.value, a.x.rank());
  if (a.x.rank() < 2)
    throw shape_error("needs at least two dims, got shape {}", to_string(a.x.shape())).of("x");
  if (i == j) throw arg_error("dim1 and dim2 must differ, both are {}", i + 1);
  const int64_t rows = a.x.shape()[i], cols = a.x.shape()[j];
  const int64_t off = std::clamp(a.offset, -rows, cols);
  const int64_t down = std::max<int64_t>(-off, 0), right = std::max<int64_t>(off, 0);
  const int64_t n = std::max<int64_t>(0, std::min(rows - down, cols - right));
  const int64_t si = a.x.strides()[i], sj = a.x.strides()[j];
  View v{a.x.shape(), a.x.strides(), a.x.offset()};
  if (n > 0) v.offset = Checked(down) * si + Checked(right) * sj + v.offset;
  for (Dims* d : {&v.shape, &v.strides}) {
    d->erase(std::max(i, j));
    d->erase(std::min(i, j));
  }
  v.shape.push_back(n);
  v.strides.push_back(Checked(si) + sj);
  return v;
}
void Diagonal::samples(SampleList& s) {
  add_sample<Diagonal>(s, {.x = grid({3, 4}, -1, 1)});
  add_sample<Diagonal>(
      s, {.x = strided(grid({2, 3, 4}, -1, 1)), .offset = -1, .dim1 = {0}, .dim2 = {2}});
  add_sample<Diagonal>(s, {.x = grid({3, 3}, -1, 1), .offset = 5});
}

View Unfold::view(const Args& a) {
  const int dim = axis(a.dim.value, a.x.rank());
  if (a.size < 0) throw arg_error("size must not be negative, got {}", a.size);
  if (a.step < 1) throw arg_error("step must be at least 1, got {}", a.step);
  View v{a.x.shape(), a.x.strides(), a.x.offset()};
  const int64_t n = a.x.rank() == 0 ? 1 : v.shape[dim],
                stride = a.x.rank() == 0 ? 1 : v.strides[dim];
  if (a.size > n)
    throw shape_error("windows of {} do not fit dim {} of size {}", a.size, dim + 1, n).of("x");
  if (a.x.rank() > 0) {
    v.shape[dim] = (n - a.size) / a.step + 1;
    v.strides[dim] = Checked(stride) * std::min(a.step, std::max<int64_t>(n, 1));
  }
  v.shape.push_back(a.size);
  v.strides.push_back(stride);
  return v;
}
void Unfold::samples(SampleList& s) {
  add_sample<Unfold>(s, {.x = grid({7}, -1, 1), .dim = {0}, .size = 3, .step = 2});
  add_sample<Unfold>(s, {.x = strided(grid({2, 5}, -1, 1)), .dim = {1}, .size = 2, .step = 1});
  add_sample<Unfold>(s, {.x = grid({5, 2}, -1, 1), .dim = {0}, .size = 2, .step = 3});
  add_sample<Unfold>(s, {.x = grid({}, -1, 1), .dim = {0}, .size = 1, .step = 1});
}

// ---- several views -----------------------------------------------------------------------------

namespace {

// What a result takes besides its elements, about: itself, its place in lists and the script's
// handle. There may be as many as a script asks for.
constexpr int64_t kViewBytes = 512;
constexpr int64_t kViewWork = 100;  // elements that making one counts for

}  // namespace

std::vector<View> Unbind::view(const Args& a) {
  const int dim = real_axis(a.dim.value, a.x);
  const int64_t n = a.x.shape()[dim];
  expect_room(n, kViewBytes);
  std::vector<View> out;
  Poll poll;
  for (int64_t i = 0; i < n; ++i, poll(kViewWork))
    out.push_back(Select::view({.x = a.x, .dim = {dim}, .index = {i}}));
  return out;
}

namespace {

// The dims of x as they lie in memory, the one of the largest steps first.
Dims memory_order(const Tensor& x) {
  Dims order = Dims::filled(x.rank(), 0);
  std::iota(order.begin(), order.end(), int64_t{0});
  sort_few(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return x.strides()[static_cast<int>(i)] > x.strides()[static_cast<int>(j)];
  });
  return order;
}

}  // namespace

// It lies in memory as x does: the gradient of what x is a view of is then a view of it, too.
Unbind::Args Unbind::grad(const Back<Unbind>& b) {
  const int rank = b.a.x.rank(), dim = axis(b.a.dim.value, rank);
  const Dims order = memory_order(b.a.x);
  Dims back = order, of_part;
  int place = 0;
  for (int i = 0; i < rank; ++i) {
    const int from = static_cast<int>(order[i]);
    back[from] = i;
    if (from == dim)
      place = i;
    else
      of_part.push_back(from - (from > dim ? 1 : 0));
  }
  std::vector<Tensor> parts;
  for (const Tensor& dy : b.dy) parts.push_back(permute(dy, of_part));
  return {.x = permute(stack(parts, place), back)};
}
void Unbind::samples(SampleList& s) {
  add_sample<Unbind>(s, {.x = grid({3, 4}, -1, 1)});
  add_sample<Unbind>(s, {.x = strided(grid({3, 2}, -1, 1)), .dim = {-1}});
  add_sample<Unbind>(s, {.x = strided(grid({2, 3, 4}, -1, 1)), .dim = {1}});
  add_sample<Unbind>(s, {.x = grid({1}, -1, 1)});
}

namespace {

// Views of consecutive parts of a dim, which must fill it.
std::vector<View> parts(const Tensor& x, int dim, const std::vector<int64_t>& sizes) {
  std::vector<View> out;
  int64_t start = 0;
  Poll poll;
  for (const int64_t n : sizes) {
    out.push_back(part(x, dim, start, n));
    start += n;
    poll(kViewWork);
  }
  return out;
}

}  // namespace

std::vector<View> Split::view(const Args& a) {
  const int dim = real_axis(a.dim.value, a.x);
  const int64_t n = a.x.shape()[dim];
  const std::vector<int64_t>& given = a.size.list;
  for (const int64_t size : given)
    if (size < 0) throw arg_error("sizes must not be negative, got {}", size);
  std::vector<int64_t> sizes = given;
  if (given.size() == 1) {
    const int64_t size = given[0];
    if (size == 0 && n > 0) throw arg_error("a size of 0 can't fill dim {} of size {}", dim + 1, n);
    expect_room(n == 0 ? 1 : pieces(n, size), kViewBytes);
    sizes.assign(n == 0 ? 1 : static_cast<size_t>(n / size), n == 0 ? 0 : size);
    if (n > 0 && n % size != 0) sizes.push_back(n % size);
  } else if (const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), Checked(0));
             sum != n) {
    throw shape_error("sizes add up to {}, but dim {} has size {}", sum, dim + 1, n).of("x");
  }
  return parts(a.x, dim, sizes);
}
Split::Args Split::grad(const Back<Split>& b) {
  return {.x = cat(b.dy, axis(b.a.dim.value, b.a.x.rank())), .size = {}};
}
void Split::samples(SampleList& s) {
  add_sample<Split>(s, {.x = grid({5, 2}, -1, 1), .size = {2}});
  add_sample<Split>(s, {.x = strided(grid({3, 5}, -1, 1)), .size = {1, 0, 4}, .dim = {-1}});
  add_sample<Split>(s, {.x = grid({0, 2}, -1, 1), .size = {3}});
}

std::vector<Tensor> Chunk::compose(const Args& a) {
  const int dim = real_axis(a.dim.value, a.x);
  if (a.n < 1) throw arg_error("n must be at least 1, got {}", a.n);
  const int64_t n = a.x.shape()[dim];
  if (n > 0) return call<Split>({.x = a.x, .size = {pieces(n, a.n)}, .dim = {dim}});
  expect_room(a.n, kViewBytes);
  return std::vector<Tensor>(static_cast<size_t>(a.n), narrow(a.x, dim, 0, 0));
}
void Chunk::samples(SampleList& s) {
  add_sample<Chunk>(s, {.x = grid({5, 2}, -1, 1), .n = 2});
  add_sample<Chunk>(s, {.x = grid({2, 6}, -1, 1), .n = 4, .dim = {1}});
}

std::vector<View> TensorSplit::view(const Args& a) {
  const int dim = real_axis(a.dim.value, a.x);
  if (a.sections && !a.cuts.list.empty()) throw arg_error("takes sections or cuts, not both");
  const int64_t n = a.x.shape()[dim];
  std::vector<View> out;
  if (a.sections) {
    const int64_t k = *a.sections;
    if (k < 1) throw arg_error("sections must be at least 1, got {}", k);
    expect_room(k, kViewBytes);
    std::vector<int64_t> sizes;
    Poll poll;
    for (int64_t i = 0; i < k; ++i, poll(1)) sizes.push_back(n / k + (i < n % k ? 1 : 0));
    return parts(a.x, dim, sizes);
  }
  int64_t start = 0;
  const auto cut_at = [&](int64_t end) {
    out.push_back(part(a.x, dim, start, std::max<int64_t>(0, end - start)));
    start = end;
  };
  for (const int64_t c : a.cuts.list) cut_at(std::clamp<int64_t>(from_front(c, n), 0, n));
  cut_at(n);
  return out;
}
TensorSplit::Args TensorSplit::grad(const Back<TensorSplit>& b) {
  const int dim = axis(b.a.dim.value, b.a.x.rank());
  int64_t total = 0;
  for (const Tensor& dy : b.dy) total += dy.shape()[dim];
  if (total == b.a.x.shape()[dim]) return {.x = cat(b.dy, dim)};
  // Falling cuts show some elements twice.
  Args a = b.a;
  a.x = outline(b.a.x.shape(), b.a.x.dtype());
  const std::vector<View> views = view(a);
  Tensor dx;
  for (size_t i = 0; i < views.size(); ++i) {
    const Tensor one = place(b.dy[i], b.a.x.shape(), views[i]);
    dx = dx ? autograd::engine_ops().add(dx, one) : one;
  }
  return {.x = dx};
}
void TensorSplit::samples(SampleList& s) {
  add_sample<TensorSplit>(s, {.x = grid({5, 2}, -1, 1), .sections = 3});
  add_sample<TensorSplit>(s, {.x = strided(grid({2, 6}, -1, 1)), .dim = {1}, .cuts = {1, 4}});
  add_sample<TensorSplit>(s, {.x = grid({6}, -1, 1), .cuts = {4, 2}});
}

// ---- into a copy -------------------------------------------------------------------------------

namespace {

// x with `source` where a look at a row-major tensor of its shape would see.
Tensor replaced(const Tensor& x, const Tensor& source, const View& v) {
  if (source.shape() != v.shape)
    throw shape_error("source must have shape {}, got {}", to_string(v.shape),
                      to_string(source.shape()))
        .of("source");
  return call<AsStridedScatter>({.x = x,
                                 .source = source,
                                 .size = Sizes(v.shape),
                                 .strides = Sizes(v.strides),
                                 .offset = v.offset});
}

}  // namespace

Tensor SliceScatter::compose(const Args& a) {
  return replaced(a.x, a.source,
                  Slice::view({.x = outline(a.x.shape(), a.x.dtype()),
                               .dim = a.dim,
                               .first = a.first,
                               .last = a.last,
                               .step = a.step}));
}
void SliceScatter::samples(SampleList& s) {
  add_sample<SliceScatter>(
      s, {.x = grid({4, 3}, -1, 1), .source = grid({2, 3}, 2, 3), .first = {1}, .last = {2}});
  add_sample<SliceScatter>(
      s, {.x = strided(grid({3, 4}, -1, 1)), .source = grid({3, 2}, 2, 3), .dim = {1}, .step = 2});
}

Tensor SelectScatter::compose(const Args& a) {
  return replaced(
      a.x, a.source,
      Select::view({.x = outline(a.x.shape(), a.x.dtype()), .dim = a.dim, .index = a.index}));
}
void SelectScatter::samples(SampleList& s) {
  add_sample<SelectScatter>(
      s, {.x = grid({4, 3}, -1, 1), .source = grid({3}, 2, 3), .dim = {0}, .index = {-1}});
}

Tensor DiagonalScatter::compose(const Args& a) {
  return replaced(a.x, a.source,
                  Diagonal::view({.x = outline(a.x.shape(), a.x.dtype()),
                                  .offset = a.offset,
                                  .dim1 = a.dim1,
                                  .dim2 = a.dim2}));
}
void DiagonalScatter::samples(SampleList& s) {
  add_sample<DiagonalScatter>(s,
                              {.x = grid({3, 4}, -1, 1), .source = grid({3}, 2, 3), .offset = 1});
}

// ---- for other ops -----------------------------------------------------------------------------

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return call<Narrow>({.x = x, .dim = {dim}, .start = {start}, .length = length});
}
Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  return call<Select>({.x = x, .dim = {dim}, .index = {index}});
}
std::vector<Tensor> split(const Tensor& x, std::span<const int64_t> sizes, int64_t dim) {
  return call<Split>({.x = x, .size = Counts(sizes), .dim = {dim}});
}
std::vector<Tensor> chunk(const Tensor& x, int64_t n, int64_t dim) {
  return call<Chunk>({.x = x, .n = n, .dim = {dim}});
}
std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  return call<Unbind>({.x = x, .dim = {dim}});
}

OpFamily family_slice() {
  return list_ops(OpList<Narrow, Select, Slice, Diagonal, Unfold, Unbind, Split, Chunk, TensorSplit,
                         SliceScatter, SelectScatter, DiagonalScatter>{},
                  "slice");
}

}  // namespace rille
