#include "ops/loss.h"

#include <cmath>
#include <numbers>

#include "core/fail.h"
#include "ops/activation.h"
#include "ops/binary.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/extreme.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/math.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/rounding.h"
#include "ops/select.h"
#include "ops/view.h"

namespace rille {

// ---- what the losses share
// ------------------------------------------------------------------------

void check_loss_input(const Tensor& t, std::string_view what) {
  if (!t.is_float())
    throw dtype_error("'{}' must be a float tensor, got {}", what, name(t.dtype()))
        .of(what)
        .hint(fmt::format("{}:to 'f32'", what));
}

void check_same_shape(const Tensor& x, const Tensor& y, std::string_view x_name,
                      std::string_view y_name) {
  if (x.shape() != y.shape())
    throw shape_error("'{}' must have the shape of '{}', {}, got {}", y_name, x_name,
                      to_string(x.shape()), to_string(y.shape()))
        .of(x_name, y_name);
}

void check_class_weight(const std::optional<Tensor>& weight, int64_t classes) {
  if (!weight) return;
  if (weight->rank() != 1 || weight->size(0) != classes)
    throw shape_error("'weight' must have one value for each of {} classes, got shape {}", classes,
                      to_string(weight->shape()))
        .of("x", "weight");
  check_loss_input(*weight, "weight");
}

Tensor class_ids(const Tensor& target, const Shape& shape) {
  const DType d = target.dtype();
  if (d != DType::i64 && d != DType::i32)
    throw dtype_error("'target' must be i64 or i32, got {}", name(d))
        .of("x", "target")
        .hint("target:to 'i64'");
  if (target.shape() != shape)
    throw shape_error("'target' must have shape {}, got {}", to_string(shape),
                      to_string(target.shape()))
        .of("x", "target");
  return cast(target, DType::i64);
}

LossTerms loss_terms(const Tensor& x, const Tensor& target) {
  check_loss_input(x, "x");
  check_same_shape(x, target, "x", "target");
  const DType d = promote(x.dtype(), target.dtype());
  const DType wide = d == DType::f64 ? d : DType::f32;
  return {cast(x, wide), cast(target, wide), d};
}

namespace {

Tensor less(const Tensor& x, double y) { return call<Lt>({.x = x, .y = Tensor::number(y)}); }
Tensor more(const Tensor& x, double y) { return call<Gt>({.x = x, .y = Tensor::number(y)}); }
Tensor square(const Tensor& x) { return call<Square>({.x = x}); }
Tensor absolute(const Tensor& x) { return call<Abs>({.x = x}); }
Tensor log_of(const Tensor& x) { return call<Log>({.x = x}); }
Tensor at_least(const Tensor& x, double low) {
  return call<Clamp>({.x = x, .min = Tensor::number(low)});
}
Tensor total(const Tensor& x) { return call<Sum>({.x = x}); }

Tensor finish(const Tensor& losses, LossReduction r, DType d) {
  return cast(reduce_loss(losses, r), d);
}

void check_broadcasts(const Tensor& t, const Tensor& x, std::string_view what) {
  const Shape& s = t.shape();
  bool fits = t.rank() <= x.rank();
  for (int d = 1; fits && d <= t.rank(); ++d)
    fits = s[s.size() - d] == 1 || s[s.size() - d] == x.shape()[x.rank() - d];
  if (!fits)
    throw shape_error("'{}' must broadcast to {}, got {}", what, to_string(x.shape()), to_string(s))
        .of("x", what);
}
void check_weight(const std::optional<Tensor>& weight, const Tensor& x, std::string_view what) {
  if (weight) check_broadcasts(*weight, x, what);
}

// x and a target like it, and once more with a reduction of each kind.
template <class O>
void pair_samples(SampleList& s, double lo, double hi, double target_lo, double target_hi) {
  const auto add = [&](const Tensor& x, const Tensor& target, LossReduction r) {
    typename O::Args a{};
    a.x = x, a.target = target, a.reduction = r;
    add_sample<O>(s, std::move(a));
  };
  using R = LossReduction;
  add(grid({2, 3}, lo, hi), grid({2, 3}, target_lo, target_hi), R::mean);
  add(strided(grid({2, 3}, lo, hi)), grid({2, 3}, target_lo, target_hi), R::sum);
  add(grid({4}, lo, hi), grid({4}, target_lo, target_hi), R::none);
  add(grid({}, lo, hi), grid({}, target_lo, target_hi), R::mean);
  add(grid({0, 2}, lo, hi), grid({0, 2}, target_lo, target_hi), R::sum);
}

}  // namespace

// ---- differences
// ----------------------------------------------------------------------------------

Tensor MseLoss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  return finish(square(t.x - t.target), a.reduction, t.dtype);
}
void MseLoss::samples(SampleList& s) { pair_samples<MseLoss>(s, -2, 2, 0.1, 1.3); }

Tensor L1Loss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  return finish(absolute(t.x - t.target), a.reduction, t.dtype);
}
void L1Loss::samples(SampleList& s) { pair_samples<L1Loss>(s, -2, 0, 0.1, 1.3); }

Tensor SmoothL1Loss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  if (!(a.beta >= 0)) throw arg_error("'beta' must not be negative, got {}", a.beta);
  const Tensor d = t.x - t.target, size = absolute(d);
  if (a.beta == 0) return finish(size, a.reduction, t.dtype);
  const Tensor losses = where(less(size, a.beta), square(d) * (0.5 / a.beta), size - a.beta / 2);
  return finish(losses, a.reduction, t.dtype);
}
void SmoothL1Loss::samples(SampleList& s) { pair_samples<SmoothL1Loss>(s, -2, 2, 0.13, 1.37); }

Tensor HuberLoss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  if (!(a.delta > 0)) throw arg_error("'delta' must be above 0, got {}", a.delta);
  const Tensor d = t.x - t.target, size = absolute(d);
  const Tensor losses = where(less(size, a.delta), square(d) * 0.5, (size - a.delta / 2) * a.delta);
  return finish(losses, a.reduction, t.dtype);
}
void HuberLoss::samples(SampleList& s) { pair_samples<HuberLoss>(s, -2, 2, 0.13, 1.37); }

// ---- two classes
// ----------------------------------------------------------------------------------

namespace {

// log(x) and log(1 - x), neither below -100.
Tensor log_yes(const Tensor& x) { return at_least(log_of(x), -100); }
Tensor log_no(const Tensor& x) { return at_least(call<Log1p>({.x = -x}), -100); }

// nan passes: it comes out as it went in, and what watches over losses names it.
void check_probabilities(const Tensor& x) {
  const auto outside = [](double p) { return p < 0 || p > 1; };
  if (x.numel() == 0 || !(outside(call<Amin>({x}).item()) || outside(call<Amax>({x}).item())))
    return;
  int64_t i = 0;
  while (!outside(x.at(i))) ++i;
  throw arg_error("'x' must hold probabilities, from 0 to 1, got {:g} at position {}", x.at(i),
                  i + 1)
      .hint("bce_with_logits_loss takes scores of any size, and is exact for large ones");
}

}  // namespace

Meta BceElements::infer(const Args& a) {
  must_be_float(a.x, "x");
  must_have_shape(a.target, a.x.shape(), "target");
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void BceElements::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  check_probabilities(a.x);
  copy_(y, -(a.target * log_yes(a.x) + (1 - a.target) * log_no(a.x)));
}
BceElements::Args BceElements::grad(const Back<BceElements>& b) {
  Args g;
  const auto& [x, target] = b.a;
  if (b.need(&Args::x)) g.x = b.dy * (x - target) / at_least(x * (1 - x), 1e-12);
  if (b.need(&Args::target)) g.target = b.dy * (log_no(x) - log_yes(x));
  return g;
}
void BceElements::samples(SampleList& s) {
  add_sample<BceElements>(s, {grid({2, 3}, 0.1, 0.9), grid({2, 3}, 0, 1)});
  add_sample<BceElements>(s, {grid({0, 3}, 0.1, 0.9), grid({0, 3}, 0, 1)});
}

Tensor BceLoss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  check_weight(a.weight, a.x, "weight");
  Tensor losses = call<BceElements>({t.x, t.target});
  if (a.weight) losses = losses * *a.weight;
  return finish(losses, a.reduction, t.dtype);
}
void BceLoss::samples(SampleList& s) {
  pair_samples<BceLoss>(s, 0.1, 0.9, 0.05, 0.95);
  add_sample<BceLoss>(
      s,
      {.x = grid({2, 3}, 0.1, 0.9), .target = grid({2, 3}, 0, 1), .weight = grid({3}, 0.5, 1.5)});
}

// (1 - target) * x + log(1 + exp(-x)), the last term weighted where the target is 1.
Tensor BceWithLogitsLoss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  check_weight(a.weight, a.x, "weight");
  check_weight(a.pos_weight, a.x, "pos_weight");
  Tensor tail = -call<Logsigmoid>({.x = t.x});
  if (a.pos_weight) tail = tail * (1 + (*a.pos_weight - 1) * t.target);
  Tensor losses = (1 - t.target) * t.x + tail;
  if (a.weight) losses = losses * *a.weight;
  return finish(losses, a.reduction, t.dtype);
}
void BceWithLogitsLoss::samples(SampleList& s) {
  pair_samples<BceWithLogitsLoss>(s, -3, 3, 0, 1);
  add_sample<BceWithLogitsLoss>(s, {.x = grid({2, 3}, -3, 3),
                                    .target = grid({2, 3}, 0, 1),
                                    .weight = grid({2, 1}, 0.5, 1.5),
                                    .pos_weight = grid({3}, 0.5, 2)});
}

// ---- log-probabilities
// ----------------------------------------------------------------------------

Tensor NllLoss::compose(const Args& a) {
  check_loss_input(a.x, "x");
  if (a.x.rank() == 0) throw shape_error("'x' must have a dim of classes, got one number").of("x");
  const int dim = a.x.rank() == 1 ? 0 : 1;
  Shape rows = a.x.shape();
  rows.erase(dim);
  check_class_weight(a.weight, a.x.size(dim));
  const DType d = a.x.dtype(), wide = d == DType::f64 ? d : DType::f32;
  const Tensor target = class_ids(a.target, rows);
  const Tensor ignored = call<Eq>({.x = target, .y = Tensor::number(a.ignore)});
  const Tensor ids = call<MaskedFill>({target, ignored, Tensor::number(int64_t{0})});
  const Tensor picked = squeeze(gather(cast(a.x, wide), dim, unsqueeze(ids, dim)), dim);
  Tensor weight = full(rows, 1, wide, a.x.device());
  if (a.weight)
    weight = reshape(index_select(cast(*a.weight, wide), 0, reshape(ids, {ids.numel()})), rows);
  weight = masked_fill(weight, ignored, 0);
  const Tensor losses = masked_fill(-picked, ignored, 0) * weight;
  if (a.reduction != LossReduction::mean) return finish(losses, a.reduction, d);
  const Tensor none = call<All>({.x = ignored});
  return cast(total(losses) / masked_fill(total(weight), none, 1), d);
}
void NllLoss::samples(SampleList& s) {
  using R = LossReduction;
  add_sample<NllLoss>(s, {.x = grid({4, 3}, -2, 0), .target = ids({4}, 3)});
  add_sample<NllLoss>(s, {.x = strided(grid({4, 3}, -2, 0)),
                          .target = ids({4}, 3),
                          .weight = grid({3}, 0.5, 1.5),
                          .ignore = 1});
  add_sample<NllLoss>(
      s, {.x = grid({2, 3, 2}, -2, 0), .target = ids({2, 2}, 3), .reduction = R::none});
  add_sample<NllLoss>(s, {.x = grid({3}, -2, 0), .target = ids({}, 3)});
  add_sample<NllLoss>(s, {.x = grid({0, 3}, -2, 0), .target = ids({0}, 3), .reduction = R::sum});
}

Tensor KlDiv::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  const Tensor losses = a.log_target ? call<Exp>({.x = t.target}) * (t.target - t.x)
                                     : call<Xlogy>({.x = t.target, .y = t.target}) - t.target * t.x;
  if (a.reduction == KlReduction::none) return cast(losses, t.dtype);
  if (a.reduction == KlReduction::mean) return finish(losses, LossReduction::mean, t.dtype);
  const Tensor sum = total(losses);
  if (a.reduction == KlReduction::sum) return cast(sum, t.dtype);
  if (a.x.rank() == 0)
    throw shape_error("'batchmean' needs a dim of the batch, got one number").of("x");
  return cast(sum / static_cast<double>(a.x.size(0)), t.dtype);
}
void KlDiv::samples(SampleList& s) {
  using R = KlReduction;
  add_sample<KlDiv>(s, {.x = grid({2, 3}, -2, 0), .target = grid({2, 3}, 0.1, 0.6)});
  add_sample<KlDiv>(s, {.x = grid({2, 3}, -2, 0),
                        .target = grid({2, 3}, -2, -0.1),
                        .reduction = R::batchmean,
                        .log_target = true});
  add_sample<KlDiv>(s, {.x = grid({}, -2, 0), .target = grid({}, 0.1, 0.6), .reduction = R::none});
  add_sample<KlDiv>(
      s, {.x = grid({0, 2}, -2, 0), .target = grid({0, 2}, 0.1, 0.6), .reduction = R::sum});
}

// ---- distributions
// --------------------------------------------------------------------------------

Tensor PoissonNllLoss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  Tensor losses =
      a.log_input ? call<Exp>({.x = t.x}) - t.target * t.x : t.x - t.target * log_of(t.x + a.eps);
  if (a.full) {
    const Tensor large = more(t.target, 1);
    const Tensor n = where(large, t.target, Tensor::number(1.0));
    const Tensor stirling = n * log_of(n) - n + log_of(n * (2 * std::numbers::pi)) * 0.5;
    losses = losses + where(large, stirling, Tensor::number(0.0));
  }
  return finish(losses, a.reduction, t.dtype);
}
void PoissonNllLoss::samples(SampleList& s) {
  pair_samples<PoissonNllLoss>(s, -1, 2, 0.13, 4.1);
  add_sample<PoissonNllLoss>(s, {.x = grid({2, 3}, 0.2, 3),
                                 .target = grid({2, 3}, 0.13, 4.1),
                                 .log_input = false,
                                 .full = true});
}

namespace {

// The variance in a shape that broadcasts to that of x. It stays positive; gradients pass as if it
// had been so.
Tensor variance(const GaussianNllLoss::Args& a, DType wide) {
  Tensor var = cast(a.var, wide);
  Shape shape = a.x.shape();
  if (var.rank() > 0 && var.shape() != shape) {
    Shape narrow = shape, one = shape;
    if (a.x.rank() > 0) narrow.erase(a.x.rank() - 1), one[a.x.rank() - 1] = 1;
    if (var.shape() != narrow && var.shape() != one)
      throw shape_error("'var' must have shape {} or {}, got {}", to_string(shape), to_string(one),
                        to_string(var.shape()))
          .of("x", "var");
    var = reshape(var, one);
  }
  const NoGrad quiet;
  if (!var.is_meta()) {
    const Tensor negative = call<Any>({.x = less(var, 0)});
    if (load_element(negative.dtype(), negative.data()) != 0)
      throw arg_error("'var' has negative elements").of("var");
  }
  return var;
}

}  // namespace

Tensor GaussianNllLoss::compose(const Args& a) {
  check_loss_input(a.x, "x");
  check_broadcasts(a.target, a.x, "target");
  const LossTerms t = loss_terms(a.x, expand(a.target, a.x.shape()));
  if (!(a.eps > 0)) throw arg_error("'eps' must be above 0, got {}", a.eps);
  Tensor var = variance(a, t.x.dtype());
  Tensor missing;
  {
    const NoGrad quiet;
    missing = at_least(var, a.eps) - var;
  }
  var = var + missing;
  Tensor losses = (log_of(var) + square(t.x - t.target) / var) * 0.5;
  if (a.full) losses = losses + std::log(2 * std::numbers::pi) / 2;
  return finish(losses, a.reduction, t.dtype);
}
void GaussianNllLoss::samples(SampleList& s) {
  using R = LossReduction;
  const Tensor x = grid({2, 3}, -1, 1), target = grid({2, 3}, 0.2, 1.4);
  add_sample<GaussianNllLoss>(s, {.x = x, .target = target, .var = grid({2, 3}, 0.5, 2)});
  add_sample<GaussianNllLoss>(
      s, {.x = x, .target = target, .var = grid({2}, 0.5, 2), .full = true, .reduction = R::none});
  add_sample<GaussianNllLoss>(
      s, {.x = x, .target = target, .var = grid({2, 1}, 0.5, 2), .reduction = R::sum});
  add_sample<GaussianNllLoss>(s, {.x = x, .target = target, .var = Tensor::number(0.7)});
  add_sample<GaussianNllLoss>(
      s, {.x = x, .target = grid({2, 1}, 0.2, 1.4), .var = Tensor::number(0.7)});
}

Tensor SoftMarginLoss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  return finish(-call<Logsigmoid>({.x = t.target * t.x}), a.reduction, t.dtype);
}
void SoftMarginLoss::samples(SampleList& s) { pair_samples<SoftMarginLoss>(s, -3, 3, -1, 1); }

OpFamily family_loss() {
  return list_ops(
      OpList<MseLoss, L1Loss, SmoothL1Loss, HuberLoss, BceLoss, BceElements, BceWithLogitsLoss,
             NllLoss, KlDiv, PoissonNllLoss, GaussianNllLoss, SoftMarginLoss>{},
      "loss");
}

}  // namespace rille
