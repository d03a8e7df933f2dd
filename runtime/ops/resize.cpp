#include "ops/resize.h"

#include <cmath>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/resample.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/pointwise.h"
#include "ops/pool.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {
namespace {

// ---- tables of weights
// ---------------------------------------------------------------------------

using Filter = Resample::Filter;

// Keys' cubic at a distance; a = -0.75 between pixels, -0.5 where it also smoothes.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

struct Table {
  int64_t in, out;
  Filter filter;
  double step;  // input elements from one output element to the next
  bool exact;   // the step is the sizes' quotient
  bool align_corners;
  cpu::Taps taps = {};

  void add(int64_t at, double weight) {
    taps.at.push_back(std::clamp<int64_t>(at, 0, in - 1));
    taps.weight.push_back(weight);
  }

  // Exact in integers where the sizes say it all, as their quotient is no binary fraction.
  int64_t nearest(int64_t p) const {
    if (filter == Filter::nearest)
      return exact ? share(p, in, out) : static_cast<int64_t>(static_cast<double>(p) * step);
    return exact ? share(Checked(p) * 2 + 1, in, Checked(out) * 2)
                 : static_cast<int64_t>((static_cast<double>(p) + 0.5) * step);
  }

  void between(int64_t p) {
    double place =
        align_corners ? static_cast<double>(p) * step : (static_cast<double>(p) + 0.5) * step - 0.5;
    if (filter == Filter::linear) place = std::max(place, 0.0);
    const double below = std::floor(place), t = place - below;
    const auto i = static_cast<int64_t>(below);
    if (filter == Filter::linear) {
      add(i, 1 - t);
      add(i + 1, t);
    } else {
      for (int k = -1; k <= 2; ++k) add(i + k, cubic(t - k, -0.75));
    }
  }

  // All elements under the filter, stretched where the result is smaller.
  void smooth(int64_t p) {
    const double reach = (filter == Filter::linear ? 1 : 2) * std::max(step, 1.0),
                 shrink = 1 / std::max(step, 1.0);
    const double centre = step * (static_cast<double>(p) + 0.5);
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - reach + 0.5), 0);
    const int64_t last = std::min(static_cast<int64_t>(centre + reach + 0.5), in);
    const size_t start = taps.weight.size();
    double total = 0;
    for (int64_t i = first; i < last; ++i) {
      const double x = (static_cast<double>(i) - centre + 0.5) * shrink;
      const double w = filter == Filter::linear ? std::max(0.0, 1 - std::abs(x)) : cubic(x, -0.5);
      add(i, w);
      total += w;
    }
    for (size_t t = start; t < taps.weight.size(); ++t) taps.weight[t] /= total == 0 ? 1 : total;
  }
};

template <class A>
cpu::Taps table(const A& a, int64_t in, int64_t out) {
  Table t{in, out, a.filter, 0, a.scale == 0, a.align_corners};
  const double n = static_cast<double>(in), m = static_cast<double>(out);
  if (a.align_corners)
    t.step = out > 1 ? (n - 1) / (m - 1) : 0;
  else
    t.step = a.scale == 0 ? n / m : 1 / a.scale;
  Poll poll;
  for (int64_t p = 0; p < out; ++p, poll(1)) {
    const auto taps = static_cast<int64_t>(t.taps.at.size());
    if (a.filter == Filter::nearest || a.filter == Filter::nearest_exact)
      t.add(t.nearest(p), 1);
    else if (a.antialias)
      t.smooth(p);
    else
      t.between(p);
    t.taps.first.push_back(static_cast<int64_t>(t.taps.at.size()));
    poll(t.taps.first.back() - taps);
  }
  return std::move(t.taps);
}

Meta meta_along(const Tensor& t, const Axis& dim, int64_t size) {
  if (!t.is_float()) throw dtype_error("needs a float tensor, got {}", name(t.dtype())).of("x");
  Shape s = t.shape();
  s[axis(dim.value, t.rank())] = size;
  return meta_of(s, t.dtype(), t);
}

// Elements in the dims before and after one.
std::pair<int64_t, int64_t> around(const Shape& s, int dim) {
  return {numel_of_dims(s, 0, dim), numel_of_dims(s, dim + 1)};
}

// A tensor to compute into; `give` puts it where it belongs.
Tensor wide_result(const Tensor& y) {
  return y.dtype() == DType::f64 || y.dtype() == DType::f32 ? y
                                                            : Tensor::empty(y.shape(), DType::f32);
}
void give(const Tensor& from, const Tensor& y) {
  if (!from.is(y)) copy_(y, from);
}

// What a table of weights relies on.
template <class A>
void check_filter(const A& a, const Tensor& t, int64_t in, int64_t out) {
  if (t.rank() == 0) throw shape_error("needs a dim, got one number");
  if (in < 1) throw shape_error("dim {} is empty", axis(a.dim.value, t.rank()) + 1);
  must_be_within(in, 1, kFar, "in");
  must_be_within(out, 0, kFar, "size");
  if (!(a.scale >= 0 && std::isfinite(a.scale)))
    throw arg_error("'scale' must be a positive number, got {}", a.scale);
  if (a.scale > 0 && static_cast<double>(out) / a.scale > 0x1p60)
    throw arg_error("'scale' is too small: {}", a.scale);
}

template <class To, class From>
To same_filter(const From& a) {
  To to;
  to.dim = a.dim, to.filter = a.filter, to.scale = a.scale;
  to.align_corners = a.align_corners, to.antialias = a.antialias;
  return to;
}

}  // namespace

Meta Resample::infer(const Args& a) {
  check_filter(a, a.x, a.x.rank() > 0 ? a.x.size(a.dim.value) : 0, a.size);
  return meta_along(a.x, a.dim, a.size);
}
void Resample::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const int dim = axis(a.dim.value, y.rank());
  const auto [outer, inner] = around(y.shape(), dim);
  const Tensor x = contiguous(widened(a.x)), z = wide_result(y);
  cpu::resample(x.dtype(), table(a, x.size(dim), a.size), outer, x.size(dim), inner, x.data(),
                z.data());
  give(z, y);
}
Resample::Args Resample::grad(const Back<Resample>& b) {
  auto to = same_filter<ResampleGrad::Args>(b.a);
  to.dy = b.dy, to.in = b.a.x.size(b.a.dim.value);
  return {.x = call<ResampleGrad>(to)};
}
void Resample::samples(SampleList& s) {
  add_sample<Resample>(s, {.x = grid({2, 3, 2}, -1, 1), .dim = {1}, .size = 5});
  add_sample<Resample>(s, {.x = strided(grid({2, 5}, -1, 1)),
                           .dim = {-1},
                           .size = 3,
                           .filter = Filter::cubic,
                           .antialias = true});
}

Meta ResampleGrad::infer(const Args& a) {
  check_filter(a, a.dy, a.in, a.dy.rank() > 0 ? a.dy.size(a.dim.value) : 0);
  return meta_along(a.dy, a.dim, a.in);
}
void ResampleGrad::cpu(const Args& a, Tensor& dx) {
  const NoGrad quiet;
  if (dx.numel() == 0) return;
  const int dim = axis(a.dim.value, dx.rank());
  const auto [outer, inner] = around(dx.shape(), dim);
  const Tensor dy = contiguous(widened(a.dy)), z = wide_result(dx);
  cpu::resample_backward(dy.dtype(), table(a, a.in, dy.size(dim)), outer, a.in, inner, dy.data(),
                         z.data());
  give(z, dx);
}
ResampleGrad::Args ResampleGrad::grad(const Back<ResampleGrad>& b) {
  auto to = same_filter<Resample::Args>(b.a);
  to.x = b.dy, to.size = b.a.dy.size(b.a.dim.value);
  return {.dy = call<Resample>(to)};
}
void ResampleGrad::samples(SampleList& s) {
  add_sample<ResampleGrad>(s,
                           {.dy = grid({2, 5}, -1, 1), .dim = {1}, .in = 3, .align_corners = true});
}

// ---- interpolate
// ---------------------------------------------------------------------------------

namespace {

using Mode = Interpolate::Mode;

struct Resizing {
  Dims size;
  std::vector<double> scale;  // 0: the sizes' quotient
};

Resizing resizing(const Interpolate::Args& a, int dims) {
  const bool sized = !a.size.list.empty();
  if (sized == !a.scale_factor.empty()) throw arg_error("needs either 'size' or 'scale_factor'");
  const size_t n = sized ? static_cast<size_t>(a.size.list.size()) : a.scale_factor.size();
  if (n != 1 && n != static_cast<size_t>(dims))
    throw arg_error("'{}' takes 1 or {} numbers, got {}", sized ? "size" : "scale_factor", dims, n);
  Resizing r;
  for (int d = 0; d < dims; ++d) {
    const double factor = sized ? 0 : a.scale_factor[n == 1 ? 0 : static_cast<size_t>(d)];
    const double in = static_cast<double>(a.x.size(d + 2));
    r.size.push_back(sized ? a.size[d] : whole_size(std::floor(in * factor)));
    r.scale.push_back(a.recompute_scale_factor ? 0 : factor);
    if (r.size[d] < 1 || in == 0)
      throw shape_error("dim {} would go from {} to {}", d + 3, a.x.size(d + 2), r.size[d]).of("x");
  }
  return r;
}

// The number of spatial dims that a mode is for; 0: any.
int dims_of(Mode m) {
  switch (m) {
    case Mode::linear: return 1;
    case Mode::bilinear:
    case Mode::bicubic: return 2;
    case Mode::trilinear: return 3;
    default: return 0;
  }
}

void check_mode(const Interpolate::Args& a, int dims) {
  const auto names = names_of(a.mode);
  const std::string_view mode = names[static_cast<size_t>(a.mode)];
  const int wanted = dims_of(a.mode);
  if (wanted != 0 && wanted != dims)
    throw shape_error("mode '{}' is for {} spatial dim{}, got shape {}", mode, wanted,
                      wanted == 1 ? "" : "s", to_string(a.x.shape()))
        .of("x")
        .hint("linear is for 1, bilinear and bicubic for 2, trilinear for 3");
  if (a.align_corners && wanted == 0)
    throw arg_error("'align_corners' means nothing for mode '{}'", mode);
  if (a.antialias && wanted != 2)
    throw arg_error("'antialias' is for bilinear and bicubic, not '{}'", mode);
}

Tensor area(const Tensor& x, const Dims& size) {
  if (size.size() == 1) return call<AdaptiveAvgPool1d>({.x = x, .size = PerDim(size)});
  if (size.size() == 2) return call<AdaptiveAvgPool2d>({.x = x, .size = PerDim(size)});
  return call<AdaptiveAvgPool3d>({.x = x, .size = PerDim(size)});
}

// Nearest elements of integers and booleans are picked by their ids.
Tensor picked(Tensor x, const Resample::Args& a, int dim) {
  if (x.is_meta()) return index_select(x, dim, Tensor::empty({a.size}, DType::i64, x.device()));
  const Tensor ids = Tensor::empty({a.size}, DType::i64);
  const cpu::Taps taps = table(a, x.size(dim), a.size);
  std::copy(taps.at.begin(), taps.at.end(), ids.data_as<int64_t>());
  return index_select(x, dim, to_device(ids, x.device()));
}

}  // namespace

Tensor Interpolate::compose(const Args& a) {
  const int dims = a.x.rank() - 2;
  if (dims < 1 || dims > 3)
    throw shape_error("needs [n, c, ...] with 1 to 3 spatial dims, got shape {}",
                      to_string(a.x.shape()))
        .of("x");
  check_mode(a, dims);
  const Resizing to = resizing(a, dims);
  if (a.mode == Mode::area) return area(a.x, to.size);
  const bool nearest = a.mode == Mode::nearest || a.mode == Mode::nearest_exact;
  if (!a.x.is_float() && !nearest)
    throw dtype_error("needs a float tensor, got {}", rille::name(a.x.dtype())).of("x");
  Resample::Args one;
  one.filter = a.mode == Mode::nearest         ? Filter::nearest
               : a.mode == Mode::nearest_exact ? Filter::nearest_exact
               : a.mode == Mode::bicubic       ? Filter::cubic
                                               : Filter::linear;
  one.align_corners = a.align_corners, one.antialias = a.antialias;
  // Between dims nothing is rounded.
  const bool narrow = !nearest && (a.x.dtype() == DType::f16 || a.x.dtype() == DType::bf16);
  Tensor y = narrow ? cast(a.x, DType::f32) : a.x;
  for (int d = 0; d < dims; ++d) {
    one.dim = {d + 2}, one.size = to.size[d], one.scale = to.scale[static_cast<size_t>(d)];
    if (one.size == y.size(d + 2) && (one.scale == 0 || one.scale == 1)) continue;
    if (!y.is_float()) {
      y = picked(y, one, d + 2);
      continue;
    }
    one.x = y;
    y = call<Resample>(one);
  }
  return narrow ? cast(y, a.x.dtype()) : y;
}
void Interpolate::samples(SampleList& s) {
  const Tensor line = grid({1, 2, 4}, -1, 1), image = grid({1, 2, 3, 4}, -1, 1),
               volume = grid({1, 1, 2, 3, 2}, -1, 1);
  add_sample<Interpolate>(s, {.x = line, .size = {7}});
  add_sample<Interpolate>(s, {.x = image, .scale_factor = {2}});
  add_sample<Interpolate>(s, {.x = volume, .size = {3, 2, 5}, .mode = Mode::nearest_exact});
  add_sample<Interpolate>(s, {.x = line, .scale_factor = {1.6}, .mode = Mode::linear});
  add_sample<Interpolate>(s, {.x = strided(image), .size = {5, 3}, .mode = Mode::bilinear});
  add_sample<Interpolate>(
      s, {.x = image, .size = {5, 7}, .mode = Mode::bicubic, .align_corners = true});
  add_sample<Interpolate>(s,
                          {.x = image, .size = {2, 2}, .mode = Mode::bilinear, .antialias = true});
  add_sample<Interpolate>(s, {.x = volume, .scale_factor = {2, 1, 1.5}, .mode = Mode::trilinear});
  add_sample<Interpolate>(s, {.x = image, .size = {2, 3}, .mode = Mode::area});
}

OpFamily family_resize() {
  return list_ops(OpList<Resample, ResampleGrad, Interpolate, GridSample, AffineGrid>{}, "resize");
}

}  // namespace rille
