#include "ops/pool.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/pool.h"
#include "ops/binary.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/pointwise.h"
#include "ops/register.h"
#include "ops/scatter.h"
#include "ops/view.h"

namespace rille {
namespace {

// What the kernels rely on, for x of that shape: each window is a real one and begins inside of the
// input or the padding before it.
template <class A>
void check_windows(const A& a, const Shape& in) {
  const int dims = a.out.list.size();
  must_be_within(dims, 1, 3, "spatial dims");
  if (in.size() < dims) throw shape_error("{} spatial dims, got shape {}", dims, to_string(in));
  must_have_numbers(a.out.list, dims, 0, kFar, "out");
  for (int d = in.size() - dims; d < in.size(); ++d)
    if (in[d] == 0) throw shape_error("dim {} is empty", d + 1);
  if (a.adaptive) return;
  must_have_numbers(a.kernel.list, dims, 1, kFar, "kernel");
  must_have_numbers(a.stride.list, dims, 1, INT64_MAX, "stride");
  must_have_numbers(a.padding.list, dims, 0, kFar, "padding");
  if (!a.dilation.list.empty()) must_have_numbers(a.dilation.list, dims, 1, INT64_MAX, "dilation");
  for (int d = 0; d < dims; ++d) {
    const int64_t n = in[in.size() - dims + d], kernel = a.kernel.list[d];
    must_be_within(a.padding.list[d], 0, kernel / 2, "padding");
    if (!a.dilation.list.empty() && kernel > 1)
      must_be_within(a.dilation.list[d], 1, kFar / (kernel - 1), "dilation");
    must_be_within(a.out.list[d], 0, (n + a.padding.list[d] - 1) / a.stride.list[d] + 1, "out");
  }
}

// The kernels' description; dims before the spatial ones are planes.
template <class A>
cpu::Pool windows(const A& a, const Shape& in) {
  cpu::Pool p;
  p.dims = a.out.list.size();
  p.adaptive = a.adaptive;
  p.planes = numel_of_dims(in, 0, in.size() - p.dims);
  for (int d = 0; d < p.dims; ++d) {
    p.in[d] = in[in.size() - p.dims + d];
    p.out[d] = a.out.list[d];
    if (a.adaptive) continue;
    p.kernel[d] = a.kernel.list[d], p.stride[d] = a.stride.list[d];
    p.pad_begin[d] = p.pad_end[d] = a.padding.list[d];
    if (!a.dilation.list.empty()) p.dilation[d] = a.dilation.list[d];
    // A step that is never taken may be of any length: kernels count with a short one.
    if (p.out[d] <= 1) p.stride[d] = 1;
    if (p.kernel[d] <= 1) p.dilation[d] = 1;
  }
  if constexpr (requires { a.divisor; }) p.count_padding = a.count_padding, p.divisor = a.divisor;
  return p;
}

// The shape of t with other spatial sizes.
Shape resized(const Tensor& t, const Dims& spatial) {
  Shape s(t.shape().begin(), t.shape().end() - spatial.size());
  for (const int64_t n : spatial) s.push_back(n);
  return s;
}
Meta resized_meta(const Tensor& t, const Sizes& spatial) {
  return meta_of(resized(t, spatial.list), t.dtype(), t);
}

Dims spatial_of(const Tensor& t, int dims) { return Dims(t.shape().end() - dims, t.shape().end()); }

// All spatial dims as one.
Tensor planes(const Tensor& t, int dims) {
  Shape s(t.shape().begin(), t.shape().end() - dims);
  s.push_back(numel_of_dims(t.shape(), t.rank() - dims));
  return reshape(t, s);
}

template <class To, class From>
To same_windows(const From& a) {
  To to;
  to.out = a.out, to.kernel = a.kernel, to.stride = a.stride, to.padding = a.padding,
  to.dilation = a.dilation;
  to.adaptive = a.adaptive;
  return to;
}

Tensor placed(const Tensor& dy, const Tensor& ids, const MaxPool::Args& a) {
  return call<PoolPlace>({.y = dy, .ids = ids, .size = Sizes(spatial_of(a.x, a.out.list.size()))});
}

void pool_max(const MaxPool::Args& a, const Tensor& y, const Tensor& ids) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const Tensor x = contiguous(a.x);
  cpu::max_pool(x.dtype(), windows(a, x.shape()), x.data(), y.data(),
                ids ? ids.data_as<int64_t>() : nullptr);
}

const MaxPool::Args& max_sample() {
  static const MaxPool::Args& a = *new MaxPool::Args{.x = grid({2, 3, 4}, -1, 1),
                                                     .out = {2, 2},
                                                     .kernel = {2, 3},
                                                     .stride = {1, 2},
                                                     .padding = {0, 1},
                                                     .dilation = {1, 1}};
  return a;
}

}  // namespace

// ---- maxima
// --------------------------------------------------------------------------------------

Meta MaxPool::infer(const Args& a) {
  check_windows(a, a.x.shape());
  return resized_meta(a.x, a.out);
}
std::array<Meta, 1> MaxPool::saved_meta(const Args& a) {
  return {meta_of(infer(a).shape, DType::i64, a.x)};
}
void MaxPool::cpu(const Args& a, Tensor& y, Saved* s) {
  if (s) s->ids = Tensor::empty(y.shape(), DType::i64, y.device());
  pool_max(a, y, s ? s->ids : Tensor());
}
MaxPool::Args MaxPool::grad(const Back<MaxPool>& b) {
  return {.x = placed(b.dy, b.saved.ids, b.a)};
}
Tensor MaxPool::compose(const Args& a) { return call<MaxPoolIds>(a).values; }
void MaxPool::samples(SampleList& s) { add_sample<MaxPool>(s, max_sample()); }

std::array<Meta, 2> MaxPoolIds::infer(const Args& a) {
  const Meta m = MaxPool::infer(a);
  return {m, meta_of(m.shape, DType::i64, a.x)};
}
void MaxPoolIds::cpu(const Args& a, Out& y) { pool_max(a, y.values, y.ids); }
MaxPoolIds::Args MaxPoolIds::grad(const Back<MaxPoolIds>& b) {
  return {.x = placed(b.dy.values, b.y.ids, b.a)};
}
void MaxPoolIds::samples(SampleList& s) { add_sample<MaxPoolIds>(s, max_sample()); }

Meta PoolPlace::infer(const Args& a) {
  const int dims = a.size.list.size();
  must_be_within(dims, 1, 3, "spatial dims");
  must_have_numbers(a.size.list, dims, 0, kFar, "size");
  must_have_dims(a.y, dims, kMaxRank, "y");
  must_be_numbers(a.y, "y");
  must_have_dtype(a.ids, DType::i64, "ids");
  must_have_shape(a.ids, a.y.shape(), "ids");
  return resized_meta(a.y, a.size);
}
void PoolPlace::cpu(const Args& a, Tensor& x) {
  const NoGrad quiet;
  if (x.numel() == 0) {
    if (a.y.numel() > 0) throw shape_error("there is nowhere to place {} elements", a.y.numel());
    return;
  }
  const Tensor y = contiguous(a.y), ids = contiguous(a.ids);
  must_hold_ids(ids, -1, checked_numel(a.size.list), "ids");  // -1: a window of nothing but padding
  cpu::Pool p;
  p.dims = a.size.list.size();
  for (int d = 0; d < p.dims; ++d) p.in[d] = a.size.list[d], p.out[d] = y.size(d - p.dims);
  p.planes = numel_of_dims(y.shape(), 0, y.rank() - p.dims);
  cpu::max_pool_backward(y.dtype(), p, y.data(), ids.data_as<int64_t>(), x.data());
}
Tensor PoolPlace::compose(const Args& a) {
  const int dims = a.size.list.size();
  const Tensor y = planes(a.y, dims);
  Tensor zeros;
  {
    const NoGrad constant;
    zeros = planes(full(resized(a.y, a.size.list), 0, a.y.dtype(), a.y.device()), dims);
  }
  return reshape(scatter_add(zeros, -1, planes(a.ids, dims), y), resized(a.y, a.size.list));
}
PoolPlace::Args PoolPlace::grad(const Back<PoolPlace>& b) {
  const int dims = b.a.size.list.size();
  const Tensor dy = gather(planes(b.dy, dims), -1, planes(b.a.ids, dims));
  return {.y = reshape(dy, b.a.y.shape())};
}
void PoolPlace::samples(SampleList& s) {
  add_sample<PoolPlace>(s, {.y = grid({2, 2, 2}, -1, 1), .ids = ids({2, 2, 2}, 6), .size = {2, 3}});
}

// ---- means
// ---------------------------------------------------------------------------------------

Meta AvgPool::infer(const Args& a) {
  must_be_numbers(a.x, "x");
  check_windows(a, a.x.shape());
  return resized_meta(a.x, a.out);
}
void AvgPool::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const Tensor x = contiguous(a.x);
  cpu::avg_pool(x.dtype(), windows(a, x.shape()), x.data(), y.data());
}
AvgPool::Args AvgPool::grad(const Back<AvgPool>& b) {
  auto to = same_windows<AvgPoolGrad::Args>(b.a);
  to.dy = b.dy, to.size = Sizes(spatial_of(b.a.x, b.a.out.list.size()));
  to.count_padding = b.a.count_padding, to.divisor = b.a.divisor;
  return {.x = call<AvgPoolGrad>(to)};
}
void AvgPool::samples(SampleList& s) {
  add_sample<AvgPool>(s, {.x = grid({2, 3, 4}, -1, 1),
                          .out = {2, 2},
                          .kernel = {2, 3},
                          .stride = {1, 2},
                          .padding = {0, 1},
                          .dilation = {1, 1}});
}

Meta AvgPoolGrad::infer(const Args& a) {
  const int dims = a.out.list.size();
  must_be_numbers(a.dy, "dy");
  must_have_dims(a.dy, dims, kMaxRank, "dy");
  must_have_numbers(a.size.list, dims, 1, kFar, "size");
  must_have_shape(a.dy, resized(a.dy, a.out.list), "dy");
  const Meta m = resized_meta(a.dy, a.size);
  check_windows(a, m.shape);
  return m;
}
void AvgPoolGrad::cpu(const Args& a, Tensor& dx) {
  const NoGrad quiet;
  if (dx.numel() == 0) return;
  const Tensor dy = contiguous(a.dy);
  cpu::avg_pool_backward(dy.dtype(), windows(a, dx.shape()), dy.data(), dx.data());
}
AvgPoolGrad::Args AvgPoolGrad::grad(const Back<AvgPoolGrad>& b) {
  auto to = same_windows<AvgPool::Args>(b.a);
  to.x = b.dy, to.count_padding = b.a.count_padding, to.divisor = b.a.divisor;
  return {.dy = call<AvgPool>(to)};
}
void AvgPoolGrad::samples(SampleList& s) {
  add_sample<AvgPoolGrad>(s,
                          {.dy = grid({2, 3}, -1, 1), .size = {5}, .out = {3}, .adaptive = true});
}

// ---- what scripts call
// ---------------------------------------------------------------------------

namespace {

constexpr const char* kForms[3] = {"[n, c, l] or [c, l]", "[n, c, h, w] or [c, h, w]",
                                   "[n, c, d, h, w] or [c, d, h, w]"};

void check_form(const Tensor& x, int dims) {
  if (x.rank() != dims + 1 && x.rank() != dims + 2)
    throw shape_error("needs {}, got shape {}", kForms[dims - 1], to_string(x.shape())).of("x");
}

Dims per_dim(const Dims& given, int dims, const char* what, int64_t lowest) {
  if (given.size() != 1 && given.size() != dims)
    throw arg_error("'{}' takes 1 or {} numbers, got {}", what, dims, given.size());
  const Dims all = given.size() == dims ? given : Dims::filled(dims, given[0]);
  for (const int64_t n : all)
    if (n < lowest) throw arg_error("'{}' must be at least {}, got {}", what, lowest, n);
  return all;
}

// The windows of a pool with a kernel. `to` is an argument block of a hidden op.
template <class To, class From>
To place_windows(const From& a, int dims) {
  check_form(a.x, dims);
  To to;
  to.x = a.x;
  const Dims kernel = per_dim(a.kernel.list, dims, "kernel", 1);
  checked_numel(kernel);  // windows are counted with their padding
  const Dims stride = a.stride.list.empty() ? kernel : per_dim(a.stride.list, dims, "stride", 1);
  Dims padding = Dims::filled(dims, 0), dilation = Dims::filled(dims, 1), out;
  if constexpr (requires { a.padding; }) padding = per_dim(a.padding.list, dims, "padding", 0);
  if constexpr (requires { a.dilation; }) dilation = per_dim(a.dilation.list, dims, "dilation", 1);
  for (int d = 0; d < dims; ++d) {
    const int64_t in = a.x.size(d - dims);
    if (padding[d] > kernel[d] / 2)
      throw arg_error("'padding' must be at most half the kernel of {}, got {}", kernel[d],
                      padding[d]);
    out.push_back(
        cpu::pool_out(in, kernel[d], stride[d], dilation[d], padding[d], padding[d], a.ceil_mode));
    if (out[d] < 1 || in == 0)
      throw shape_error("a window of {} does not fit into {} along dim {}",
                        int64_t{Checked(dilation[d]) * (kernel[d] - 1) + 1},
                        int64_t{Checked(padding[d]) * 2 + in}, a.x.rank() - dims + d + 1)
          .of("x");
  }
  to.out = Sizes(out), to.kernel = Sizes(kernel), to.stride = Sizes(stride);
  to.padding = Sizes(padding), to.dilation = Sizes(dilation);
  return to;
}

template <class To, class From>
To share_out(const From& a, int dims) {
  check_form(a.x, dims);
  To to;
  to.x = a.x, to.adaptive = true;
  Dims out = per_dim(a.size.list, dims, "size", -1);
  for (int d = 0; d < dims; ++d) {
    const int64_t in = a.x.size(d - dims);
    if (in == 0) throw shape_error("dim {} is empty", a.x.rank() - dims + d + 1).of("x");
    if (out[d] == -1) out[d] = in;
  }
  to.out = Sizes(out);
  return to;
}

std::vector<Tensor> max_pooled(const MaxPool::Args& a, bool with_ids) {
  if (!with_ids) return {call<MaxPool>(a)};
  const auto r = call<MaxPoolIds>(a);
  return {r.values, r.ids};
}

std::vector<Tensor> max_pool(const MaxPoolNd::Args& a, int dims) {
  return max_pooled(place_windows<MaxPool::Args>(a, dims), a.return_indices);
}

Tensor avg_pool(const AvgPoolNd::Args& a, int dims) {
  auto to = place_windows<AvgPool::Args>(a, dims);
  to.count_padding = a.count_include_pad;
  if (a.divisor_override && *a.divisor_override == 0)
    throw arg_error("'divisor_override' must not be 0");
  to.divisor = a.divisor_override.value_or(0);
  return call<AvgPool>(to);
}

std::vector<Tensor> adaptive_max_pool(const AdaptiveMaxPoolNd::Args& a, int dims) {
  return max_pooled(share_out<MaxPool::Args>(a, dims), a.return_indices);
}
Tensor adaptive_avg_pool(const AdaptiveAvgPoolNd::Args& a, int dims) {
  return call<AvgPool>(share_out<AvgPool::Args>(a, dims));
}

Tensor max_unpool(const MaxUnpoolNd::Args& a, int dims) {
  check_form(a.x, dims);
  if (a.ids.shape() != a.x.shape())
    throw shape_error("ids {} must have the shape of x, {}", to_string(a.ids.shape()),
                      to_string(a.x.shape()))
        .of("x", "ids");
  const Dims kernel = per_dim(a.kernel.list, dims, "kernel", 1);
  const Dims stride = a.stride.list.empty() ? kernel : per_dim(a.stride.list, dims, "stride", 1);
  const Dims padding = per_dim(a.padding.list, dims, "padding", 0);
  Dims out;
  for (int d = 0; d < dims; ++d) {
    const Checked usual =
        Checked(stride[d]) * (a.x.size(d - dims) - 1) - Checked(padding[d]) * 2 + kernel[d];
    out.push_back(a.size ? per_dim(a.size->list, dims, "size", 1)[d] : int64_t{usual});
    if (out[d] < 1 || out[d] - usual >= stride[d] || usual - out[d] >= stride[d])
      throw arg_error("'size' must be within {} of {}, got {}", stride[d] - 1, int64_t{usual},
                      out[d]);
  }
  const Shape shape = resized(a.x, out);
  const Tensor zeros = full(shape, 0, a.x.dtype(), a.x.device());
  return reshape(scatter(planes(zeros, dims), -1, planes(a.ids, dims), planes(a.x, dims)), shape);
}

// (sum of x^p)^(1/p): a mean times the number of elements, which all windows have but those that
// hang over.
Tensor lp_pool(const LpPoolNd::Args& a, int dims) {
  if (a.p == 0) throw arg_error("'p' must not be 0");
  AvgPoolNd::Args to{.x = call<Pow>({.x = a.x, .y = Tensor::number(a.p)}),
                     .kernel = a.kernel,
                     .stride = a.stride,
                     .ceil_mode = a.ceil_mode};
  const Tensor mean = avg_pool(to, dims);
  double elements = 1;
  for (const int64_t k : per_dim(a.kernel.list, dims, "kernel", 1))
    elements *= static_cast<double>(k);
  return call<Pow>({.x = mean * elements, .y = Tensor::number(1 / a.p)});
}

}  // namespace

std::vector<Tensor> MaxPool1d::compose(const Args& a) { return max_pool(a, 1); }
void MaxPool1d::samples(SampleList& s) {
  add_sample<MaxPool1d>(s, {.x = grid({2, 2, 6}, -1, 1), .kernel = {2}});
  add_sample<MaxPool1d>(s, {.x = grid({2, 7}, -1, 1),
                            .kernel = {3},
                            .stride = {2},
                            .padding = {1},
                            .return_indices = true});
  add_sample<MaxPool1d>(s, {.x = grid({0, 2, 6}, -1, 1), .kernel = {2}});
}

std::vector<Tensor> MaxPool2d::compose(const Args& a) { return max_pool(a, 2); }
void MaxPool2d::samples(SampleList& s) {
  const Tensor x = grid({1, 2, 4, 4}, -1, 1);
  add_sample<MaxPool2d>(s, {.x = x, .kernel = {2}});
  add_sample<MaxPool2d>(
      s, {.x = strided(x), .kernel = {2, 3}, .stride = {1, 2}, .padding = {1}, .ceil_mode = true});
  add_sample<MaxPool2d>(s, {.x = grid({2, 4, 4}, -1, 1),
                            .kernel = {2},
                            .stride = {1},
                            .dilation = {2},
                            .return_indices = true});
}

std::vector<Tensor> MaxPool3d::compose(const Args& a) { return max_pool(a, 3); }
void MaxPool3d::samples(SampleList& s) {
  add_sample<MaxPool3d>(s, {.x = grid({1, 2, 2, 3, 3}, -1, 1), .kernel = {2, 2, 1}, .stride = {1}});
}

Tensor AvgPool1d::compose(const Args& a) { return avg_pool(a, 1); }
void AvgPool1d::samples(SampleList& s) {
  add_sample<AvgPool1d>(s, {.x = grid({2, 2, 6}, -1, 1), .kernel = {2}});
  add_sample<AvgPool1d>(
      s,
      {.x = grid({2, 7}, -1, 1), .kernel = {3}, .stride = {2}, .padding = {1}, .ceil_mode = true});
}

Tensor AvgPool2d::compose(const Args& a) { return avg_pool(a, 2); }
void AvgPool2d::samples(SampleList& s) {
  const Tensor x = grid({1, 2, 4, 3}, -1, 1);
  add_sample<AvgPool2d>(s, {.x = x, .kernel = {2}});
  add_sample<AvgPool2d>(s, {.x = strided(x),
                            .kernel = {2, 3},
                            .stride = {2, 1},
                            .padding = {1},
                            .count_include_pad = false});
  add_sample<AvgPool2d>(
      s, {.x = x, .kernel = {2}, .stride = {1}, .ceil_mode = true, .divisor_override = 3});
}

Tensor AvgPool3d::compose(const Args& a) { return avg_pool(a, 3); }
void AvgPool3d::samples(SampleList& s) {
  add_sample<AvgPool3d>(s, {.x = grid({1, 2, 2, 3, 3}, -1, 1), .kernel = {2, 2, 1}, .stride = {1}});
}

std::vector<Tensor> AdaptiveMaxPool1d::compose(const Args& a) { return adaptive_max_pool(a, 1); }
void AdaptiveMaxPool1d::samples(SampleList& s) {
  add_sample<AdaptiveMaxPool1d>(s, {.x = grid({1, 2, 7}, -1, 1), .size = {3}});
}
std::vector<Tensor> AdaptiveMaxPool2d::compose(const Args& a) { return adaptive_max_pool(a, 2); }
void AdaptiveMaxPool2d::samples(SampleList& s) {
  add_sample<AdaptiveMaxPool2d>(s, {.x = grid({1, 2, 5, 3}, -1, 1), .size = {3, 2}});
  add_sample<AdaptiveMaxPool2d>(
      s, {.x = grid({2, 5, 3}, -1, 1), .size = {2, -1}, .return_indices = true});
}
std::vector<Tensor> AdaptiveMaxPool3d::compose(const Args& a) { return adaptive_max_pool(a, 3); }
void AdaptiveMaxPool3d::samples(SampleList& s) {
  add_sample<AdaptiveMaxPool3d>(s, {.x = grid({1, 2, 3, 2, 3}, -1, 1), .size = {2, 1, 2}});
}

Tensor AdaptiveAvgPool1d::compose(const Args& a) { return adaptive_avg_pool(a, 1); }
void AdaptiveAvgPool1d::samples(SampleList& s) {
  add_sample<AdaptiveAvgPool1d>(s, {.x = grid({1, 2, 7}, -1, 1), .size = {3}});
}
Tensor AdaptiveAvgPool2d::compose(const Args& a) { return adaptive_avg_pool(a, 2); }
void AdaptiveAvgPool2d::samples(SampleList& s) {
  add_sample<AdaptiveAvgPool2d>(s, {.x = grid({1, 2, 5, 3}, -1, 1), .size = {1}});
  add_sample<AdaptiveAvgPool2d>(s, {.x = strided(grid({2, 4, 3}, -1, 1)), .size = {3, 5}});
}
Tensor AdaptiveAvgPool3d::compose(const Args& a) { return adaptive_avg_pool(a, 3); }
void AdaptiveAvgPool3d::samples(SampleList& s) {
  add_sample<AdaptiveAvgPool3d>(s, {.x = grid({1, 2, 3, 2, 3}, -1, 1), .size = {2, 1, 2}});
}

namespace {

Tensor ids_of(std::initializer_list<double> v, const Shape& shape) {
  return Tensor::of(v, shape, DType::i64);
}

}  // namespace

Tensor MaxUnpool1d::compose(const Args& a) { return max_unpool(a, 1); }
void MaxUnpool1d::samples(SampleList& s) {
  add_sample<MaxUnpool1d>(
      s, {.x = grid({2, 2}, -1, 1), .ids = ids_of({1, 2, 0, 3}, {2, 2}), .kernel = {2}});
  add_sample<MaxUnpool1d>(
      s,
      {.x = grid({1, 2}, -1, 1), .ids = ids_of({1, 4}, {1, 2}), .kernel = {2}, .size = Sizes{5}});
}
Tensor MaxUnpool2d::compose(const Args& a) { return max_unpool(a, 2); }
void MaxUnpool2d::samples(SampleList& s) {
  add_sample<MaxUnpool2d>(
      s, {.x = grid({1, 1, 2}, -1, 1), .ids = ids_of({4, 2}, {1, 1, 2}), .kernel = {2}});
}
Tensor MaxUnpool3d::compose(const Args& a) { return max_unpool(a, 3); }
void MaxUnpool3d::samples(SampleList& s) {
  add_sample<MaxUnpool3d>(
      s, {.x = grid({2, 1, 1, 1}, -1, 1), .ids = ids_of({7, 2}, {2, 1, 1, 1}), .kernel = {2}});
}

Tensor LpPool1d::compose(const Args& a) { return lp_pool(a, 1); }
void LpPool1d::samples(SampleList& s) {
  add_sample<LpPool1d>(s, {.x = grid({2, 6}, 0.2, 1), .p = 3, .kernel = {2}});
}
Tensor LpPool2d::compose(const Args& a) { return lp_pool(a, 2); }
void LpPool2d::samples(SampleList& s) {
  add_sample<LpPool2d>(s, {.x = grid({1, 4, 3}, 0.2, 1), .p = 2, .kernel = {2}, .stride = {1}});
}

OpFamily family_pool() {
  return list_ops(
      OpList<MaxPool, MaxPoolIds, PoolPlace, AvgPool, AvgPoolGrad, MaxPool1d, MaxPool2d, MaxPool3d,
             AvgPool1d, AvgPool2d, AvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d,
             AdaptiveMaxPool3d, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d,
             MaxUnpool1d, MaxUnpool2d, MaxUnpool3d, LpPool1d, LpPool2d>{},
      "pool");
}

}  // namespace rille
