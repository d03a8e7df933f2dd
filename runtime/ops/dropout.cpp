#include "ops/dropout.h"

#include <cmath>

#include "core/fail.h"
#include "cpu/random.h"
#include "ops/cast.h"
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/random.h"
#include "ops/register.h"
#include "ops/select.h"

namespace rille {
namespace {

template <class A>
void check(const A& a) {
  if (!(a.p >= 0 && a.p <= 1)) throw arg_error("'p' must be between 0 and 1, got {}", a.p);
  if (!a.x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", name(a.x.dtype()))
        .of("x")
        .hint("x:to 'f32'");
}

template <class A>
bool is_idle(const A& a) {
  check(a);
  return !a.training || a.p == 0;
}

double kept_scale(double p) { return p < 1 ? 1 / (1 - p) : 0; }

// The shape of a mask with one decision a channel.
Shape channel_shape(const Shape& x, int leading) {
  Shape s = x;
  for (int d = leading; d < s.size(); ++d) s[d] = 1;
  return s;
}

template <class A>
Tensor drop_channels(const A& a, int spatial) {
  const int rank = a.x.rank();
  if (rank != spatial + 1 && rank != spatial + 2)
    throw shape_error("'x' must have {} or {} dims, got shape {}", spatial + 1, spatial + 2,
                      to_string(a.x.shape()))
        .of("x");
  if (is_idle(a)) return a.x;
  const Tensor dropped =
      random_mask(channel_shape(a.x.shape(), rank - spatial), a.p, a.x.device(), a.draw);
  return masked_fill(a.x * kept_scale(a.p), dropped, 0);
}

// Klambauer et al., 2017: dropped places get -scale * alpha of selu; y = s * . + t then has the
// mean and the variance of x.
template <class A>
Tensor alpha_drop(const A& a, const Shape& mask) {
  if (a.p == 1) return a.x * 0.0;
  constexpr double limit = -1.7580993408473766;
  const double s = 1 / std::sqrt((1 - a.p) * (1 + a.p * limit * limit)), t = -s * limit * a.p;
  const Tensor dropped = random_mask(mask, a.p, a.x.device(), a.draw);
  return masked_fill(a.x, dropped, limit) * s + t;
}

template <class O>
void samples_of(SampleList& s, const Shape& shape) {
  add_sample<O>(s, {.x = grid(shape, -1, 1), .p = 0.4});
  add_sample<O>(s, {.x = strided(grid(shape, -1, 1)), .p = 0.3, .training = false});
}

}  // namespace

Tensor Dropout::compose(const Args& a) {
  return is_idle(a) ? a.x : call<DropoutDrawn>({a.x, a.p, a.draw});
}
void Dropout::samples(SampleList& s) {
  samples_of<Dropout>(s, {3, 4});
  add_sample<Dropout>(s, {.x = grid({0, 3}, -1, 1)});
  add_sample<Dropout>(s, {.x = grid({4}, -1, 1), .p = 1});
}

Meta DropoutDrawn::infer(const Args& a) {
  check(a);
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void DropoutDrawn::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x);
  cpu::dropout(x.dtype(), x.data(), y.data(), x.numel(), a.p, {a.draw.seed, a.draw.number, 0});
}
Tensor DropoutDrawn::compose(const Args& a) {
  return masked_fill(a.x * kept_scale(a.p), random_mask(a.x.shape(), a.p, a.x.device(), a.draw), 0);
}
DropoutDrawn::Args DropoutDrawn::grad(const Back<DropoutDrawn>& b) {
  return {.x = call<DropoutDrawn>({b.dy, b.a.p, b.a.draw})};
}
void DropoutDrawn::samples(SampleList& s) {
  add_sample<DropoutDrawn>(s, {.x = grid({3, 4}, -1, 1), .p = 0.4});
  add_sample<DropoutDrawn>(s, {.x = strided(grid({3, 4}, -1, 1)), .p = 0.4});
}

Tensor Dropout1d::compose(const Args& a) { return drop_channels(a, 1); }
void Dropout1d::samples(SampleList& s) { samples_of<Dropout1d>(s, {2, 3, 2}); }
Tensor Dropout2d::compose(const Args& a) { return drop_channels(a, 2); }
void Dropout2d::samples(SampleList& s) { samples_of<Dropout2d>(s, {5, 2, 2}); }
Tensor Dropout3d::compose(const Args& a) { return drop_channels(a, 3); }
void Dropout3d::samples(SampleList& s) { samples_of<Dropout3d>(s, {2, 3, 2, 1, 2}); }

Tensor AlphaDropout::compose(const Args& a) {
  return is_idle(a) ? a.x : alpha_drop(a, a.x.shape());
}
void AlphaDropout::samples(SampleList& s) { samples_of<AlphaDropout>(s, {3, 4}); }

Tensor FeatureAlphaDropout::compose(const Args& a) {
  if (is_idle(a)) return a.x;
  if (a.x.rank() < 2)
    throw shape_error("'x' must be [n, channels, ...], got {}", to_string(a.x.shape())).of("x");
  return alpha_drop(a, channel_shape(a.x.shape(), 2));
}
void FeatureAlphaDropout::samples(SampleList& s) {
  samples_of<FeatureAlphaDropout>(s, {2, 3, 2});
  add_sample<FeatureAlphaDropout>(s, {.x = grid({}, -1, 1), .training = false});
}

OpFamily family_dropout() {
  return list_ops(OpList<Dropout, DropoutDrawn, Dropout1d, Dropout2d, Dropout3d, AlphaDropout,
                         FeatureAlphaDropout>{},
                  "dropout");
}

}  // namespace rille
