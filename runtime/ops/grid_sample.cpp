// Sampling of images at coordinates, in ops: gradients of any order follow.
#include <array>
#include <cmath>

#include "core/budget.h"
#include "core/fail.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/index.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/rounding.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

using Padding = GridSample::Padding;

// ---- coordinates
// ---------------------------------------------------------------------------------

Tensor clamped(const Tensor& v, double low, double high) {
  return call<Clamp>({.x = v, .min = Tensor::number(low), .max = Tensor::number(high)});
}

// v folded back and forth between low and high.
Tensor reflected(const Tensor& v, double low, double high) {
  const double span = high - low;
  if (span == 0) return v * 0.0;
  const Tensor away = call<Abs>({.x = v - low});
  const Tensor times = call<Floor>({.x = away / span});
  const Tensor odd = times - call<Floor>({.x = times / 2.0}) * 2.0;
  const Tensor rest = away - times * span;
  return rest + odd * (span - rest * 2.0) + low;
}

// A place along a dim of n elements, brought inside where the padding says so.
Tensor bounded(const Tensor& v, int64_t n, Padding padding, bool align) {
  if (padding == Padding::zeros) return v;
  const double last = static_cast<double>(n - 1);
  const Tensor inside = padding == Padding::border ? v
                        : align                    ? reflected(v, 0, last)
                                                   : reflected(v, -0.5, last + 0.5);
  return clamped(inside, 0, last);
}

// From [-1, 1] to places counted in elements.
Tensor placed(const Tensor& g, int64_t n, bool align) {
  const double size = static_cast<double>(n);
  return align ? (g + 1.0) * ((size - 1) / 2) : ((g + 1.0) * size - 1.0) / 2.0;
}

// ---- taps
// ----------------------------------------------------------------------------------------

// Along one dim: whole places and what each weighs.
struct Tap {
  Tensor at, weight;
};
using Line = std::vector<Tap>;

Tensor without_grad(const Tensor& t) { return t.alias(); }

Line taps_along(const Tensor& g, int64_t n, const GridSample::Args& a) {
  const Tensor free = placed(g, n, a.align_corners);
  if (a.mode == GridSample::Mode::bicubic) {
    const Tensor below = without_grad(call<Floor>({.x = free}));
    const Tensor t = free - below;
    // Keys' cubic with a = -0.75 at distances 1 + t, t, 1 - t and 2 - t.
    auto near = [](const Tensor& x) { return (x * 1.25 - 2.25) * x * x + 1.0; };
    auto far = [](const Tensor& x) { return ((x - 5.0) * x + 8.0) * x * -0.75 + 3.0; };
    Line line;
    for (int k = -1; k <= 2; ++k) {
      const Tensor distance = k <= 0 ? t - static_cast<double>(k) : static_cast<double>(k) - t;
      const Tensor at = bounded(below + static_cast<double>(k), n, a.padding_mode, a.align_corners);
      line.push_back({at, k == 0 || k == 1 ? near(distance) : far(distance)});
    }
    return line;
  }
  const Tensor v = bounded(free, n, a.padding_mode, a.align_corners);
  if (a.mode == GridSample::Mode::nearest) return {{without_grad(call<Round>({.x = v})), Tensor()}};
  const Tensor below = without_grad(call<Floor>({.x = v}));
  const Tensor t = v - below;
  return {{below, 1.0 - t}, {below + 1.0, t}};
}

Tensor times(const Tensor& a, const Tensor& b) { return !a ? b : !b ? a : a * b; }

// Values of x at one tap of every dim, times its weight; what lies outside is 0.
class Sampler {
 public:
  explicit Sampler(const Tensor& x, const Shape& out) : x_(x), out_(out) {
    flat_ = reshape(
        x, {x.size(0), x.size(1), checked_numel(Shape(x.shape().begin() + 2, x.shape().end()))});
  }

  Tensor at(const std::vector<const Tap*>& taps) const {
    const int dims = static_cast<int>(taps.size());
    Tensor weight, inside, ids;
    for (int d = 0; d < dims; ++d) {
      const int64_t n = x_.size(d + 2);
      const Tap& tap = *taps[static_cast<size_t>(d)];
      weight = times(weight, tap.weight);
      const NoGrad constant;
      const Tensor last = Tensor::number(static_cast<double>(n - 1));
      const Tensor here =
          cast(call<LogicalAnd>({.x = call<Ge>({.x = tap.at, .y = Tensor::number(0.0)}),
                                 .y = call<Le>({.x = tap.at, .y = last})}),
               x_.dtype());
      inside = times(inside, here);
      // Where a coordinate is nan or far outside, any id will do: its weight is 0, or nan.
      const Tensor finite =
          call<Where>({.condition = call<Ge>({.x = tap.at, .y = Tensor::number(0.0)}),
                       .x = tap.at,
                       .y = Tensor::number(0.0)});
      const Tensor id = cast(clamped(finite, 0, static_cast<double>(n - 1)), DType::i64);
      ids = d == 0 ? id : ids * Tensor::number(n) + id;
    }
    const int64_t points = checked_numel(out_);
    const Tensor where =
        expand(reshape(ids, {x_.size(0), 1, points}), {x_.size(0), x_.size(1), points});
    const Tensor values = gather(flat_, -1, cast(where, DType::i64));
    return values * reshape(times(weight, inside), {x_.size(0), 1, points});
  }

 private:
  Tensor x_, flat_;
  Shape out_;
};

void check(const GridSample::Args& a) {
  const int dims = a.x.rank() - 2;
  if (dims != 2 && dims != 3)
    throw shape_error("needs [n, c, h, w] or [n, c, d, h, w], got shape {}", to_string(a.x.shape()))
        .of("x");
  if (a.grid.rank() != dims + 2 || a.grid.size(-1) != dims)
    throw shape_error("needs a grid of {} dims, the last of size {}, got shape {}", dims + 2, dims,
                      to_string(a.grid.shape()))
        .of("x", "grid");
  if (a.grid.size(0) != a.x.size(0))
    throw shape_error("batches differ: {} and {}", a.x.size(0), a.grid.size(0)).of("x", "grid");
  if (a.x.dtype() != a.grid.dtype())
    throw dtype_error("dtypes differ: {} and {}", name(a.x.dtype()), name(a.grid.dtype()))
        .of("x", "grid");
  if (!a.x.is_float()) throw dtype_error("needs a float tensor, got {}", name(a.x.dtype())).of("x");
  for (int d = 0; d < dims; ++d)
    if (a.x.size(d + 2) == 0) throw shape_error("dim {} is empty", d + 3).of("x");
  if (a.mode == GridSample::Mode::bicubic && dims == 3)
    throw arg_error("mode 'bicubic' is for images, not for volumes");
}

}  // namespace

Tensor GridSample::compose(const Args& given) {
  check(given);
  // Places need more digits than 16-bit floats have.
  Args a = given;
  const DType d = a.x.dtype();
  const bool narrow = d == DType::f16 || d == DType::bf16;
  if (narrow) a.x = cast(a.x, DType::f32), a.grid = cast(a.grid, DType::f32);
  const int dims = a.x.rank() - 2;
  const Shape out(a.grid.shape().begin() + 1, a.grid.shape().end() - 1);
  std::vector<Line> lines;
  for (int k = 0; k < dims; ++k)
    lines.push_back(taps_along(select(a.grid, -1, dims - 1 - k), a.x.size(k + 2), a));
  const Sampler sampler(a.x, out);
  const size_t each = lines[0].size();
  size_t all = 1;
  for (int k = 0; k < dims; ++k) all *= each;
  Tensor y;
  for (size_t i = 0; i < all; ++i) {
    std::vector<const Tap*> taps;
    size_t rest = i;
    for (const Line& line : lines) taps.push_back(&line[rest % each]), rest /= each;
    const Tensor part = sampler.at(taps);
    y = y ? y + part : part;
  }
  Shape shape = {a.x.size(0), a.x.size(1)};
  for (const int64_t n : out) shape.push_back(n);
  y = reshape(y, shape);
  return narrow ? cast(y, d) : y;
}
void GridSample::samples(SampleList& s) {
  const Tensor x = grid({1, 2, 3, 4}, -1, 1), at = grid({1, 2, 3, 2}, -1.25, 1.13);
  const Tensor inside = grid({1, 2, 2, 2}, -0.53, 0.61);
  add_sample<GridSample>(s, {.x = x, .grid = at});
  add_sample<GridSample>(
      s, {.x = x, .grid = at, .padding_mode = Padding::border, .align_corners = true});
  add_sample<GridSample>(
      s, {.x = strided(x), .grid = strided(at), .padding_mode = Padding::reflection});
  add_sample<GridSample>(s, {.x = x, .grid = at, .mode = Mode::nearest});
  add_sample<GridSample>(s, {.x = x, .grid = inside, .mode = Mode::bicubic});
  add_sample<GridSample>(s, {.x = x,
                             .grid = at,
                             .mode = Mode::bicubic,
                             .padding_mode = Padding::reflection,
                             .align_corners = true});
  add_sample<GridSample>(
      s, {.x = grid({1, 1, 2, 3, 2}, -1, 1), .grid = grid({1, 1, 2, 2, 3}, -0.83, 0.71)});
}

// ---- affine_grid
// ---------------------------------------------------------------------------------

namespace {

// Coordinates of n elements from -1 to 1, shaped to lie along one of the dims.
Tensor coordinates(int64_t n, int dim, int dims, bool align, const Tensor& like) {
  Shape s = Dims::filled(dims, 1);
  s[dim] = n;
  if (like.is_meta()) return Tensor::empty(s, like.dtype(), like.device());
  const Tensor t = Tensor::empty({n}, like.dtype());
  Poll poll;
  for (int64_t i = 0; i < n; ++i, poll(1)) {
    const double k = static_cast<double>(i), m = static_cast<double>(n);
    t.store(i, align ? (n == 1 ? 0 : 2 * k / (m - 1) - 1) : (2 * k + 1) / m - 1);
  }
  return to_device(reshape(t, s), like.device());
}

}  // namespace

Tensor AffineGrid::compose(const Args& a) {
  const int dims = a.size.list.size() - 2;
  if (dims != 2 && dims != 3)
    throw arg_error("'size' must be [n, c, h, w] or [n, c, d, h, w], got {}",
                    to_string(a.size.list));
  const int64_t n = a.size.list[0];
  if (a.theta.shape() != Shape{n, dims, dims + 1})
    throw shape_error("needs theta {}, got shape {}", to_string(Shape{n, dims, dims + 1}),
                      to_string(a.theta.shape()))
        .of("theta");
  if (!a.theta.is_float())
    throw dtype_error("needs a float tensor, got {}", rille::name(a.theta.dtype())).of("theta");
  const Shape out(a.size.list.begin() + 2, a.size.list.end());
  for (const int64_t m : out)
    if (m < 1) throw arg_error("'size' must be positive, got {}", to_string(a.size.list));
  const int64_t points = checked_numel(out);
  Tensor base;
  {
    const NoGrad constant;
    std::vector<Tensor> parts;
    for (int d = dims - 1; d >= 0; --d)
      parts.push_back(expand(coordinates(out[d], d, dims, a.align_corners, a.theta), out));
    parts.push_back(expand(coordinates(1, 0, dims, true, a.theta) + 1.0, out));
    base = reshape(stack(parts, -1), {points, dims + 1});
  }
  Shape shape = {n};
  for (const int64_t m : out) shape.push_back(m);
  shape.push_back(dims);
  return reshape(matmul(base, transpose(a.theta)), shape);
}
void AffineGrid::samples(SampleList& s) {
  add_sample<AffineGrid>(s, {.theta = grid({2, 2, 3}, -1, 1), .size = {2, 1, 2, 3}});
  add_sample<AffineGrid>(
      s, {.theta = grid({1, 3, 4}, -1, 1), .size = {1, 1, 2, 1, 2}, .align_corners = true});
}

}  // namespace rille
