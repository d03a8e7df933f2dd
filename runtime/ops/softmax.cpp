#include "ops/softmax.h"

#include "autograd/node.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/rows.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/create.h"
#include "ops/extreme.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/pointwise.h"
#include "ops/random.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/scatter.h"
#include "ops/select.h"

namespace rille {
namespace {

// How the kernels see a row-major tensor along a dim.
cpu::Axis along(const Shape& s, int64_t dim) {
  cpu::Axis out{1, 1, 1};
  if (s.empty()) return out;
  const int at = axis(dim, s.size());
  out.n = s[at];
  out.outer = numel_of_dims(s, 0, at), out.inner = numel_of_dims(s, at + 1);
  return out;
}

template <class A>
Meta infer_forward(const A& a) {
  const DType d = a.dtype.value_or(a.x.dtype());
  if (!is_float(d))
    throw dtype_error("'x' must be a float tensor, got {}", name(d)).of("x").hint("x:to 'f32'");
  axis(a.dim.value, a.x.rank());
  return meta_of(a.x.shape(), d, a.x);
}

Meta infer_backward(const Tensor& y, const Tensor& dy, const Axis& dim) {
  axis(dim.value, y.rank());
  must_be_float(y, "y");
  must_have_shape(dy, y.shape(), "dy");
  return meta_of(y.shape(), y.dtype(), y);
}

using Forward = void (*)(DType, const void*, void*, cpu::Axis);
using Backward = void (*)(DType, const void*, const void*, void*, cpu::Axis);

void run_forward(Forward kernel, const Tensor& x, const Axis& dim, Tensor& y) {
  const NoGrad quiet;
  const Tensor from = contiguous(cast(x, y.dtype()));
  kernel(y.dtype(), from.data(), y.data(), along(x.shape(), dim.value));
}

void run_backward(Backward kernel, const Tensor& y, const Tensor& dy, const Axis& dim, Tensor& dx) {
  const NoGrad quiet;
  const Tensor rows = contiguous(y), drows = contiguous(cast(dy, y.dtype()));
  kernel(y.dtype(), rows.data(), drows.data(), dx.data(), along(y.shape(), dim.value));
}

Tensor sum_along(const Tensor& x, const Axis& dim) {
  return call<Sum>({.x = x, .dims = {dim.value}, .keepdim = true});
}

Tensor typed(const Tensor& x, const std::optional<DType>& dtype) {
  return dtype ? cast(x, *dtype) : x;
}

template <class O>
void forward_samples(SampleList& s) {
  add_sample<O>(s, {.x = grid({3, 4}, -2, 2)});
  add_sample<O>(s, {.x = grid({2, 3, 4}, -2, 2), .dim = {1}});
  add_sample<O>(s, {.x = strided(grid({3, 4}, -2, 2)), .dim = {0}});
  add_sample<O>(s, {.x = grid({3, 4}, 500, 1300), .dim = {-1}});
  add_sample<O>(s, {.x = grid({}, -1, 1)});
  add_sample<O>(s, {.x = grid({0, 3}, -1, 1)});
}

template <class O>
void backward_samples(SampleList& s, double lo, double hi) {
  add_sample<O>(s, {grid({3, 4}, lo, hi), grid({3, 4}, -1, 1), {-1}});
  add_sample<O>(s, {strided(grid({2, 3, 2}, lo, hi)), grid({2, 3, 2}, -1, 1), {1}});
  add_sample<O>(s, {grid({0, 3}, lo, hi), grid({0, 3}, -1, 1), {0}});
}

}  // namespace

Meta Softmax::infer(const Args& a) { return infer_forward(a); }
void Softmax::cpu(const Args& a, Tensor& y) { run_forward(cpu::softmax, a.x, a.dim, y); }
Tensor Softmax::compose(const Args& a) {
  const Tensor x = typed(a.x, a.dtype);
  return call<Exp>({log_softmax(x, a.dim.value)});
}
Softmax::Args Softmax::grad(const Back<Softmax>& b) {
  return {.x = call<SoftmaxGrad>({b.y, b.dy, b.a.dim})};
}
void Softmax::samples(SampleList& s) { forward_samples<Softmax>(s); }

Meta LogSoftmax::infer(const Args& a) { return infer_forward(a); }
void LogSoftmax::cpu(const Args& a, Tensor& y) { run_forward(cpu::log_softmax, a.x, a.dim, y); }
Tensor LogSoftmax::compose(const Args& a) {
  const Tensor x = typed(a.x, a.dtype);
  return x - call<LogSumExp>({.x = x, .dims = {a.dim.value}, .keepdim = true});
}
LogSoftmax::Args LogSoftmax::grad(const Back<LogSoftmax>& b) {
  return {.x = call<LogSoftmaxGrad>({b.y, b.dy, b.a.dim})};
}
void LogSoftmax::samples(SampleList& s) { forward_samples<LogSoftmax>(s); }

Tensor Softmin::compose(const Args& a) {
  if (!a.dtype && !a.x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", rille::name(a.x.dtype()))
        .of("x")
        .hint("x:to 'f32'");
  return softmax(-typed(a.x, a.dtype), a.dim.value);
}
void Softmin::samples(SampleList& s) { forward_samples<Softmin>(s); }

Tensor GumbelSoftmax::compose(const Args& a) {
  if (!(a.tau > 0)) throw arg_error("'tau' must be positive, got {}", a.tau);
  if (!a.x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", rille::name(a.x.dtype())).of("x");
  const int64_t dim = axis(a.dim.value, a.x.rank());
  // -log of an exponential draw is a Gumbel draw; the bound keeps it finite where that is 0. Drawn
  // in f32, so that every dtype sees the same noise.
  const DType d = a.x.dtype(), wide = d == DType::f64 ? d : DType::f32;
  const Tensor drawn =
      call<Exponential>({.x = full(a.x.shape(), 0, DType::f32, a.x.device()), .draw = a.draw});
  const Tensor bounded = call<Clamp>({.x = drawn, .min = Tensor::number(1e-30)});
  const Tensor noise = -cast(call<Log>({.x = bounded}), wide);
  const Tensor soft = softmax((cast(a.x, wide) + noise) / a.tau, dim);
  if (!a.hard) return cast(soft, d);
  const Tensor still = autograd::detach(soft);
  const Tensor ids = call<Argmax>({.x = still, .dim = Axis{dim}, .keepdim = true});
  const Tensor one = full(ids.shape(), 1, wide, a.x.device());
  return cast(scatter(zeros_like(still), dim, ids, one) + (soft - still), d);
}
void GumbelSoftmax::samples(SampleList& s) {
  add_sample<GumbelSoftmax>(s, {.x = grid({2, 3}, -1, 1)});
  add_sample<GumbelSoftmax>(s, {.x = strided(grid({2, 3}, -1, 1)), .tau = 0.7, .dim = {0}});
  add_sample<GumbelSoftmax>(s, {.x = grid({0, 3}, -1, 1)});
  // Steps of a hard result are no slopes: its gradient is that of the soft one.
  add_sample<GumbelSoftmax>(s, {.x = grid({2, 3}, -1, 1), .hard = true}).gradient = false;
}

Meta SoftmaxGrad::infer(const Args& a) { return infer_backward(a.y, a.dy, a.dim); }
void SoftmaxGrad::cpu(const Args& a, Tensor& dx) {
  run_backward(cpu::softmax_backward, a.y, a.dy, a.dim, dx);
}
Tensor SoftmaxGrad::compose(const Args& a) { return a.y * (a.dy - sum_along(a.y * a.dy, a.dim)); }
void SoftmaxGrad::samples(SampleList& s) { backward_samples<SoftmaxGrad>(s, 0, 1); }

Meta LogSoftmaxGrad::infer(const Args& a) { return infer_backward(a.y, a.dy, a.dim); }
void LogSoftmaxGrad::cpu(const Args& a, Tensor& dx) {
  run_backward(cpu::log_softmax_backward, a.y, a.dy, a.dim, dx);
}
Tensor LogSoftmaxGrad::compose(const Args& a) {
  return a.dy - call<Exp>({a.y}) * sum_along(a.dy, a.dim);
}
void LogSoftmaxGrad::samples(SampleList& s) { backward_samples<LogSoftmaxGrad>(s, -2, 0); }

Tensor softmax(const Tensor& x, int64_t dim) { return call<Softmax>({.x = x, .dim = {dim}}); }
Tensor log_softmax(const Tensor& x, int64_t dim) {
  return call<LogSoftmax>({.x = x, .dim = {dim}});
}

OpFamily family_softmax() {
  return list_ops(
      OpList<Softmax, LogSoftmax, Softmin, GumbelSoftmax, SoftmaxGrad, LogSoftmaxGrad>{},
      "softmax");
}

}  // namespace rille
