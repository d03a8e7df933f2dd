#include "ops/batch_norm.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/channel_norm.h"
#include "ops/arrange.h"
#include "ops/binary.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/norm_parts.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

using MaybeTensor = std::optional<Tensor>;

DType wide_of(DType d) { return d == DType::f64 ? d : DType::f32; }

void check_input(const Tensor& x, int least) {
  if (!x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", name(x.dtype()))
        .of("x")
        .hint("x:to 'f32'");
  if (x.rank() < least)
    throw shape_error("'x' must be [n, channels{}], got {}", least > 2 ? ", ..." : "",
                      to_string(x.shape()))
        .of("x");
}

void check_channels(const MaybeTensor& t, const Tensor& x, std::string_view what) {
  if (!t) return;
  if (t->rank() != 1 || t->size(0) != x.size(1))
    throw shape_error("'{}' must have one value for each of {} channels, got shape {}", what,
                      x.size(1), to_string(t->shape()))
        .of("x", what);
  if (!t->is_float())
    throw dtype_error("'{}' must be a float tensor, got {}", what, name(t->dtype())).of(what);
}

template <class A>
void check_affine(const A& a) {
  check_channels(a.weight, a.x, "weight");
  check_channels(a.bias, a.x, "bias");
}

template <class A>
void check_running(const A& a, bool needed) {
  check_channels(a.running_mean, a.x, "running_mean");
  check_channels(a.running_var, a.x, "running_var");
  if (needed && !(a.running_mean && a.running_var))
    throw arg_error("needs 'running_mean' and 'running_var' outside of training");
}

// Values of channels in a shape that broadcasts to x.
Tensor by_channel(const Tensor& t, const Tensor& x, DType wide) {
  Shape shape = x.shape();
  for (int64_t& n : shape) n = 1;
  shape[1] = x.size(1);
  return reshape(cast(t, wide), shape);
}

Tensor scaled(Tensor y, const MaybeTensor& weight, const MaybeTensor& bias) {
  if (weight) y = y * by_channel(*weight, y, y.dtype());
  if (bias) y = y + by_channel(*bias, y, y.dtype());
  return y;
}

struct Moments {
  Tensor mean, var;  // biased
};
Moments moments_of(const Tensor& x, const Axes& dims) {
  const Tensor mean = call<Mean>({.x = x, .dims = dims, .keepdim = true});
  const Tensor apart = x - mean;
  return {mean, call<Mean>({.x = apart * apart, .dims = dims, .keepdim = true})};
}

Tensor normalised(const Tensor& x, const Moments& m, double eps) {
  return (x - m.mean) * call<Rsqrt>({.x = m.var + eps});
}

// running = (1 - momentum) * running + momentum * seen.
void move(const MaybeTensor& running, const Tensor& seen, double momentum) {
  if (!running || running->is_meta()) return;
  const Tensor now = cast(*running, seen.dtype());
  copy_(*running, now + (reshape(seen, running->shape()) - now) * momentum);
}

template <class A>
void move_running(const A& a, const Moments& m, int64_t count) {
  const NoGrad quiet;
  const double n = static_cast<double>(count);
  move(a.running_mean, m.mean, a.momentum);
  move(a.running_var, m.var * (n / (n - 1)), a.momentum);
}

template <class A>
Moments running_moments(const A& a, DType wide) {
  return {by_channel(*a.running_mean, a.x, wide), by_channel(*a.running_var, a.x, wide)};
}

// All dims but the channels.
Axes around_channels(const Tensor& x) {
  Dims dims{0};
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  return Axes(dims);
}

int64_t per_instance(const Tensor& x) { return numel_of_dims(x.shape(), 2); }

}  // namespace

namespace {

int64_t values_of_channel(const Tensor& x) { return Checked(x.size(0)) * per_instance(x); }

void check_batch_norm(const BatchNorm::Args& a) {
  check_input(a.x, 2);
  check_affine(a);
  check_running(a, !a.training);
  if (a.training && values_of_channel(a.x) == 1)
    throw fail(Kind::shape, "E_BN_ONE_VALUE",
               "training needs more than one value per channel, got shape {}",
               to_string(a.x.shape()))
        .of("x");
}

cpu::Channels channels_of(const Tensor& x) { return {x.size(0), x.size(1), per_instance(x)}; }

// A running statistic for the kernel, or room for the batch's.
Tensor statistic(const Tensor& x, const MaybeTensor& running, bool training) {
  const DType wide = wide_of(x.dtype());
  return training ? Tensor::empty({x.size(1)}, wide, x.device()) : contiguous(cast(*running, wide));
}

Tensor rstd_of(const Tensor& var, double eps) { return call<Rsqrt>({.x = var + eps}); }

}  // namespace

Meta BatchNorm::infer(const Args& a) {
  check_batch_norm(a);
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
std::array<Meta, 2> BatchNorm::saved_meta(const Args& a) {
  const Meta m = meta_of({a.x.size(1)}, wide_of(a.x.dtype()), a.x);
  return {m, m};
}
void BatchNorm::cpu(const Args& a, Tensor& y, Saved* saved) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x);
  const Moments m{statistic(x, a.running_mean, a.training),
                  statistic(x, a.running_var, a.training)};
  const AffineOperands affine(a.weight, a.bias, affine_dtype(a.weight, a.bias, x.dtype()));
  cpu::batch_norm(x.dtype(), x.data(), channels_of(x), affine.raw, a.eps, a.training, m.mean.data(),
                  m.var.data(), y.data());
  if (a.training && values_of_channel(x) > 1) move_running(a, m, values_of_channel(x));
  // A copy: a later call may move the running mean before this one's backward.
  if (saved) *saved = {a.training ? m.mean : clone(m.mean), rstd_of(m.var, a.eps)};
}
Tensor BatchNorm::compose(const Args& a) {
  check_batch_norm(a);
  const int64_t count = values_of_channel(a.x);
  const DType wide = wide_of(a.x.dtype());
  const Tensor x = cast(a.x, wide);
  const Moments m = a.training ? moments_of(x, around_channels(x)) : running_moments(a, wide);
  if (a.training && count > 1) move_running(a, m, count);
  return cast(scaled(normalised(x, m, a.eps), a.weight, a.bias), a.x.dtype());
}
// Running statistics whose gradients somebody wants are arguments like any other: with xhat =
// (x - mean) * rstd their gradients follow from those of weight and bias.
BatchNorm::Args BatchNorm::grad(const Back<BatchNorm>& b) {
  const auto& a = b.a;
  const bool w = b.need(&Args::weight), shift = b.need(&Args::bias);
  const bool running = !a.training && (b.need(&Args::running_mean) || b.need(&Args::running_var));
  const DType wide = wide_of(a.x.dtype());
  const Tensor mean = running ? cast(*a.running_mean, wide) : b.saved.mean;
  const Tensor rstd = running ? rstd_of(cast(*a.running_var, wide), a.eps) : b.saved.rstd;
  const int64_t wanted = (b.need(&Args::x) ? kNormX : 0) | (w || running ? kNormWeight : 0) |
                         (shift || running ? kNormBias : 0);
  auto g = call<BatchNormGrad>({.x = a.x,
                                .dy = b.dy,
                                .mean = mean,
                                .rstd = rstd,
                                .weight = a.weight,
                                .training = a.training,
                                .eps = a.eps,
                                .wanted = wanted,
                                .affine_dtype = affine_dtype(a.weight, a.bias, a.x.dtype())});
  Args out;
  if (wanted & kNormX) out.x = g.dx;
  if (w) out.weight = g.dweight;
  if (shift) out.bias = g.dbias;
  if (!running) return out;
  const Tensor scale = a.weight ? *a.weight * rstd : rstd;
  if (b.need(&Args::running_mean)) out.running_mean = g.dbias * scale * -1.0;
  if (b.need(&Args::running_var)) out.running_var = g.dweight * scale * rstd * -0.5;
  return out;
}
void BatchNorm::samples(SampleList& s) {
  const Tensor mean = grid({3}, -1, 1), var = grid({3}, 0.5, 2);
  const Tensor weight = grid({3}, 0.5, 1.5), bias = grid({3}, -1, 1);
  add_sample<BatchNorm>(
      s, {.x = grid({4, 3}, -2, 2), .weight = weight, .bias = bias, .training = true});
  add_sample<BatchNorm>(s,
                        {.x = strided(grid({2, 3, 2}, -2, 2)), .weight = weight, .training = true});
  add_sample<BatchNorm>(s, {.x = grid({2, 3, 2, 2}, -2, 2),
                            .running_mean = mean,
                            .running_var = var,
                            .weight = weight,
                            .bias = bias});
  add_sample<BatchNorm>(s, {.x = grid({0, 3}, -2, 2), .running_mean = mean, .running_var = var});
}

std::array<Meta, 3> BatchNormGrad::infer(const Args& a) {
  check_input(a.x, 2);
  must_have_shape(a.dy, a.x.shape(), "dy");
  for (const auto& [t, what] : {std::pair(&a.mean, "mean"), std::pair(&a.rstd, "rstd")}) {
    check_channels(*t, a.x, what);
    must_have_dtype(*t, wide_of(a.x.dtype()), what);
  }
  check_channels(a.weight, a.x, "weight");
  must_be_float(a.affine_dtype, "affine_dtype");
  const auto meta = [&](int64_t bit, const Shape& shape, DType d) {
    return meta_of(a.wanted & bit ? shape : Shape{0}, d, a.x);
  };
  const Shape channels{a.x.size(1)};
  return {meta(kNormX, a.x.shape(), a.x.dtype()), meta(kNormWeight, channels, a.affine_dtype),
          meta(kNormBias, channels, a.affine_dtype)};
}
void BatchNormGrad::cpu(const Args& a, Out& out) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x), dy = contiguous(cast(a.dy, a.x.dtype()));
  const Tensor mean = contiguous(a.mean), rstd = contiguous(a.rstd);
  const AffineOperands affine(a.weight, {}, a.affine_dtype);
  const auto data = [&](Tensor& t, int64_t bit) { return a.wanted & bit ? t.data() : nullptr; };
  cpu::batch_norm_backward(
      x.dtype(), x.data(), dy.data(), channels_of(x), affine.raw, mean.data(), rstd.data(),
      a.training,
      {data(out.dx, kNormX), data(out.dweight, kNormWeight), data(out.dbias, kNormBias)});
}
// In training the statistics are worked out anew, so that gradients flow through them.
BatchNormGrad::Out BatchNormGrad::compose(const Args& a) {
  const DType wide = promote(wide_of(a.x.dtype()), a.dy.dtype());
  const Tensor x = cast(a.x, wide), dy = cast(a.dy, wide);
  const Axes dims = around_channels(x);
  Tensor mean = by_channel(a.mean, x, wide), rstd = by_channel(a.rstd, x, wide);
  if (a.training) {
    const Moments m = moments_of(x, dims);
    mean = m.mean, rstd = rstd_of(m.var, a.eps);
  }
  const Tensor xhat = (x - mean) * rstd;
  const auto mean_of = [&](const Tensor& t) {
    return call<Mean>({.x = t, .dims = dims, .keepdim = true});
  };
  const auto sum_of = [&](const Tensor& t) {
    return cast(call<Sum>({.x = t, .dims = dims}), a.affine_dtype);
  };
  const Tensor nothing = full({0}, 0, a.affine_dtype, x.device());
  Out out{cast(nothing, a.x.dtype()), nothing, nothing};
  if (a.wanted & kNormX) {
    Tensor g = a.weight ? dy * by_channel(*a.weight, x, wide) : dy;
    if (a.training) g = g - mean_of(g) - xhat * mean_of(g * xhat);
    out.dx = cast(rstd * g, a.x.dtype());
  }
  if (a.wanted & kNormWeight) out.dweight = sum_of(dy * xhat);
  if (a.wanted & kNormBias) out.dbias = sum_of(dy);
  return out;
}
void BatchNormGrad::samples(SampleList&) {}

Tensor GroupNorm::compose(const Args& a) {
  check_input(a.x, 2);
  check_affine(a);
  const int64_t channels = a.x.size(1);
  if (a.groups < 1) throw arg_error("'groups' must be at least 1, got {}", a.groups);
  if (channels % a.groups != 0)
    throw shape_error("{} channels don't divide into {} groups", channels, a.groups).of("x");
  const Tensor x = cast(a.x, wide_of(a.x.dtype()));
  const Tensor rows =
      reshape(x, {x.size(0), a.groups, Checked(per_instance(x)) * (channels / a.groups)});
  const Tensor y = reshape(normalised(rows, moments_of(rows, {2}), a.eps), x.shape());
  return cast(scaled(y, a.weight, a.bias), a.x.dtype());
}
void GroupNorm::samples(SampleList& s) {
  add_sample<GroupNorm>(s, {.x = grid({2, 4, 2}, -2, 2),
                            .groups = 2,
                            .weight = grid({4}, 0.5, 1.5),
                            .bias = grid({4}, -1, 1)});
  add_sample<GroupNorm>(s, {.x = strided(grid({3, 4}, -2, 2)), .groups = 1});
  add_sample<GroupNorm>(s, {.x = grid({0, 4, 2}, -2, 2), .groups = 2});
}

Tensor InstanceNorm::compose(const Args& a) {
  check_input(a.x, 3);
  check_affine(a);
  check_running(a, !a.use_input_stats);
  const int64_t count = per_instance(a.x);
  if (a.use_input_stats && count == 1)
    throw shape_error("needs more than one value per channel, got shape {}", to_string(a.x.shape()))
        .of("x");
  const DType wide = wide_of(a.x.dtype());
  const Tensor x = cast(a.x, wide);
  Moments m;
  if (a.use_input_stats) {
    Dims dims;
    for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
    m = moments_of(x, Axes(dims));
    const NoGrad quiet;
    const Axes batch{0};
    if (count > 1 && x.size(0) > 0)
      move_running(
          a, {call<Mean>({.x = m.mean, .dims = batch}), call<Mean>({.x = m.var, .dims = batch})},
          count);
  } else {
    m = running_moments(a, wide);
  }
  return cast(scaled(normalised(x, m, a.eps), a.weight, a.bias), a.x.dtype());
}
void InstanceNorm::samples(SampleList& s) {
  const Tensor weight = grid({3}, 0.5, 1.5), bias = grid({3}, -1, 1);
  add_sample<InstanceNorm>(s, {.x = grid({2, 3, 4}, -2, 2), .weight = weight, .bias = bias});
  add_sample<InstanceNorm>(s, {.x = strided(grid({2, 3, 2, 2}, -2, 2)),
                               .running_mean = grid({3}, -1, 1),
                               .running_var = grid({3}, 0.5, 2),
                               .weight = weight,
                               .use_input_stats = false});
  add_sample<InstanceNorm>(s, {.x = grid({0, 3, 2}, -2, 2)});
}

// Zeros stand for the channels that are missing at both ends.
Tensor LocalResponseNorm::compose(const Args& a) {
  check_input(a.x, 3);
  if (a.size < 1) throw arg_error("'size' must be at least 1, got {}", a.size);
  const DType d = a.x.dtype();
  const Tensor x = cast(a.x, d == DType::f64 ? d : DType::f32);
  std::vector<int64_t> pads(static_cast<size_t>(2 * (x.rank() - 2)), 0);
  pads.push_back(a.size / 2);
  pads.push_back((a.size - 1) / 2);
  const Tensor windows =
      call<Unfold>({.x = pad(x * x, pads), .dim = {1}, .size = a.size, .step = 1});
  const Tensor mean = call<Mean>({.x = windows, .dims = {-1}});
  const Tensor scale = call<Pow>({.x = mean * a.alpha + a.k, .y = Tensor::number(a.beta)});
  return cast(x / scale, d);
}
void LocalResponseNorm::samples(SampleList& s) {
  add_sample<LocalResponseNorm>(s, {.x = grid({2, 4, 3}, -1, 1.2), .size = 3, .alpha = 0.7});
  add_sample<LocalResponseNorm>(
      s, {.x = strided(grid({1, 3, 2, 2}, -1, 1.2)), .size = 2, .alpha = 1, .beta = 0.5, .k = 2});
  add_sample<LocalResponseNorm>(s, {.x = grid({1, 2, 2}, -1, 1.2), .size = 5, .alpha = 1});
  add_sample<LocalResponseNorm>(s, {.x = grid({0, 3, 2}, -1, 1), .size = 2});
}

OpFamily family_batch_norm() {
  return list_ops(OpList<BatchNorm, BatchNormGrad, GroupNorm, InstanceNorm, LocalResponseNorm>{},
                  "norm");
}

}  // namespace rille
