#include "ops/cross_entropy.h"

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/rows.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/select.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace rille {
namespace {

DType accumulator(DType d) { return d == DType::f64 ? DType::f64 : DType::f32; }

// ---- checks of the op that scripts call
// ---------------------------------------------------------------

int64_t class_count(const Tensor& x) { return x.size(x.rank() == 1 ? 0 : 1); }

Shape without_classes(const Shape& x) {
  Shape s = x;
  s.erase(x.size() == 1 ? 0 : 1);
  return s;
}

void check_weight(const std::optional<Tensor>& weight, int64_t classes) {
  if (!weight) return;
  if (weight->rank() != 1 || weight->size(0) != classes)
    throw shape_error("'weight' must have one value for each of {} classes, got shape {}", classes,
                      to_string(weight->shape()))
        .of("x", "weight");
  if (!weight->is_float())
    throw dtype_error("'weight' must be a float tensor, got {}", name(weight->dtype()))
        .of("weight");
}

void check(const CrossEntropy::Args& a) {
  if (!a.x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", name(a.x.dtype()))
        .of("x")
        .hint("x:to 'f32'");
  if (a.x.rank() == 0) throw shape_error("'x' must have a dim of classes, got one number").of("x");
  if (a.label_smoothing < 0 || a.label_smoothing > 1)
    throw arg_error("'label_smoothing' must be between 0 and 1, got {}", a.label_smoothing);
  check_weight(a.weight, class_count(a.x));
  if (a.target.is_float() && a.target.shape() == a.x.shape()) return;
  const DType d = a.target.dtype();
  if (d != DType::i64 && d != DType::i32)
    throw dtype_error("'target' must be i64 or i32, got {}", name(d))
        .of("x", "target")
        .hint("target:to 'i64'");
  if (a.target.shape() != without_classes(a.x.shape()))
    throw shape_error("'target' must have shape {}, got {}",
                      to_string(without_classes(a.x.shape())), to_string(a.target.shape()))
        .of("x", "target");
}

// Classes as the last dim of a matrix.
Tensor as_rows(const Tensor& x) {
  if (x.rank() == 2) return x;
  if (x.rank() == 1) return unsqueeze(x, 0);
  Dims order{0};
  for (int d = 2; d < x.rank(); ++d) order.push_back(d);
  order.push_back(1);
  const Tensor last = permute(x, order);
  return reshape(last, {numel_of_dims(last.shape(), 0, last.rank() - 1), class_count(x)});
}

// ---- in other ops
// -------------------------------------------------------------------------------------

Tensor sum_classes(const Tensor& x) { return call<Sum>({.x = x, .dims = {1}}); }
Tensor total(const Tensor& x) { return call<Sum>({.x = x}); }

// Targets of rows that count, and what each row weighs.
struct Targets {
  Tensor ids, ignored, weight;
};
template <class A>
Targets targets_of(const A& a, DType wide) {
  Targets t;
  t.ignored = call<Eq>({.x = a.target, .y = Tensor::number(a.ignore)});
  t.ids = call<MaskedFill>({cast(a.target, DType::i64), t.ignored, Tensor::number(int64_t{0})});
  t.weight = a.weight ? index_select(cast(*a.weight, wide), 0, t.ids)
                      : full(a.target.shape(), 1, wide, a.x.device());
  t.weight = masked_fill(t.weight, t.ignored, 0);
  return t;
}

// 0, where nothing was counted, else x / weight.
Tensor mean_of(const Tensor& losses, const Tensor& weight, const Tensor& ignored) {
  const Tensor none = call<All>({.x = ignored});
  return total(losses) / masked_fill(total(weight), none, 1);
}

Tensor finish(const Tensor& losses, LossReduction r, const Tensor& weight, const Tensor& ignored,
              DType d) {
  if (r == LossReduction::none) return cast(losses, d);
  return cast(r == LossReduction::sum ? total(losses) : mean_of(losses, weight, ignored), d);
}

// Rows of probabilities: -sum over classes of weight * target * log softmax(x).
Tensor against_probabilities(const CrossEntropy::Args& a, const Tensor& x, Tensor target) {
  const DType d = a.dtype.value_or(a.x.dtype()), wide = accumulator(d);
  const double s = a.label_smoothing;
  if (s > 0) target = target * (1 - s) + s / static_cast<double>(x.size(1));
  Tensor terms = log_softmax(cast(x, wide), 1) * target;
  if (a.weight) terms = terms * *a.weight;
  const Tensor losses = -sum_classes(terms);
  return cast(reduce_loss(losses, a.reduction), d);
}

}  // namespace

Tensor reduce_loss(const Tensor& losses, LossReduction reduction) {
  if (reduction == LossReduction::none) return losses;
  return reduction == LossReduction::sum ? total(losses) : call<Mean>({.x = losses});
}

Tensor CrossEntropy::compose(const Args& a) {
  check(a);
  const Tensor x = as_rows(a.x);
  Tensor y;
  if (a.target.is_float()) {
    y = against_probabilities(a, x, as_rows(a.target));
  } else {
    const Tensor target = reshape(cast(a.target, DType::i64), {x.size(0)});
    const CrossEntropyRows::Args rows{x,           target, a.weight, a.ignore, a.label_smoothing,
                                      a.reduction, a.dtype};
    // The fused one gives the weight no gradient.
    const bool composed = a.weight && a.weight->needs_grad() && Context::current().grad();
    y = composed ? CrossEntropyRows::compose(rows) : call<CrossEntropyRows>(rows);
  }
  return a.reduction == LossReduction::none ? reshape(y, without_classes(a.x.shape())) : y;
}
void CrossEntropy::samples(SampleList& s) {
  using R = LossReduction;
  add_sample<CrossEntropy>(s, {.x = grid({4, 3}, -2, 2), .target = ids({4}, 3)});
  add_sample<CrossEntropy>(s, {.x = grid({2, 3, 2, 2}, -2, 2),
                               .target = ids({2, 2, 2}, 3),
                               .ignore = 1,
                               .reduction = R::none});
  add_sample<CrossEntropy>(s,
                           {.x = grid({3}, -2, 2), .target = ids({}, 3), .label_smoothing = 0.1});
  add_sample<CrossEntropy>(s, {.x = strided(grid({4, 3}, -2, 2)),
                               .target = cast(ids({4}, 3), DType::i32),
                               .weight = grid({3}, 0.5, 1.5),
                               .ignore = 2,
                               .label_smoothing = 0.2});
  add_sample<CrossEntropy>(s, {.x = grid({3, 3}, -2, 2), .target = ids({3}, 1), .ignore = 0});
  add_sample<CrossEntropy>(s,
                           {.x = grid({0, 3}, -2, 2), .target = ids({0}, 3), .reduction = R::sum});
  add_sample<CrossEntropy>(s, {.x = grid({2, 3, 2}, -2, 2),
                               .target = grid({2, 3, 2}, 0.1, 0.6),
                               .weight = grid({3}, 0.5, 1.5),
                               .label_smoothing = 0.1});
  add_sample<CrossEntropy>(
      s, {.x = grid({2, 3}, -2, 2), .target = grid({2, 3}, 0.1, 0.6), .reduction = R::none});
}

// ---- the fused op
// -------------------------------------------------------------------------------------

namespace {

// The kernel's view of the arguments; holds the copies it points into.
struct Operands {
  template <class A>
  explicit Operands(const A& a) : x(contiguous(a.x)), target(contiguous(a.target)) {
    if (a.weight) weight = contiguous(cast(*a.weight, accumulator(x.dtype())));
    raw = {.rows = x.size(0),
           .classes = x.size(1),
           .targets = target.template data_as<int64_t>(),
           .class_weight = weight ? weight.data() : nullptr,
           .ignore_index = a.ignore,
           .label_smoothing = a.label_smoothing};
  }
  Tensor x, target, weight;
  cpu::CrossEntropy raw;
};

template <class A>
void check_rows(const A& a) {
  must_be_float(a.x, "x");
  must_have_dims(a.x, 2, 2, "x");
  must_have_dtype(a.target, DType::i64, "target");
  must_have_shape(a.target, {a.x.size(0)}, "target");
  check_weight(a.weight, a.x.size(1));
}

double sum_of(const Tensor& losses) {
  double sum = 0;
  const bool wide = losses.dtype() == DType::f64;
  Poll poll;
  for (int64_t i = 0; i < losses.numel(); ++i, poll(1))
    sum += wide ? losses.data_as<double>()[i] : static_cast<double>(losses.data_as<float>()[i]);
  return sum;
}

}  // namespace

Meta CrossEntropyRows::infer(const Args& a) {
  check_rows(a);
  const Shape s = a.reduction == LossReduction::none ? Shape{a.x.size(0)} : Shape{};
  return meta_of(s, a.dtype.value_or(a.x.dtype()), a.x);
}
std::array<Meta, 2> CrossEntropyRows::saved_meta(const Args& a) {
  const DType wide = accumulator(a.x.dtype());
  return {meta_of({a.x.size(0), 2}, wide, a.x), meta_of({}, wide, a.x)};
}
void CrossEntropyRows::cpu(const Args& a, Tensor& y, Saved* saved) {
  const NoGrad quiet;
  const Operands o(a);
  const DType wide = accumulator(a.x.dtype());
  const Tensor losses = Tensor::empty({o.raw.rows}, wide);
  if (saved) *saved = {Tensor::empty({o.raw.rows, 2}, wide), Tensor::empty({}, wide)};
  const auto totals = cpu::cross_entropy(o.x.dtype(), o.x.data(), o.raw, losses.data(),
                                         saved ? saved->lse.data() : nullptr);
  if (totals.bad_row >= 0)
    throw index_error("target {} at position {} is no class: there are {}",
                      o.raw.targets[totals.bad_row], totals.bad_row + 1, o.raw.classes)
        .of("x", "target")
        .hint("class ids count from 0");
  const double divisor = totals.counted == 0 ? 1 : totals.weight;
  if (saved) fill(saved->total, divisor);
  if (a.reduction == LossReduction::none)
    copy_(y, losses);
  else
    fill(y, a.reduction == LossReduction::sum ? sum_of(losses) : sum_of(losses) / divisor);
}
Tensor CrossEntropyRows::compose(const Args& a) {
  const DType d = a.dtype.value_or(a.x.dtype()), wide = accumulator(d);
  const Targets t = targets_of(a, wide);
  const Tensor logp = log_softmax(cast(a.x, wide), 1);
  const double s = a.label_smoothing, classes = static_cast<double>(a.x.size(1));
  Tensor losses = squeeze(gather(logp, 1, unsqueeze(t.ids, 1)), 1) * t.weight * (s - 1);
  if (s > 0) {
    const Tensor all = sum_classes(a.weight ? logp * cast(*a.weight, wide) : logp);
    losses = losses - masked_fill(all, t.ignored, 0) * (s / classes);
  }
  return finish(losses, a.reduction, t.weight, t.ignored, d);
}
CrossEntropyRows::Args CrossEntropyRows::grad(const Back<CrossEntropyRows>& b) {
  Tensor scale = cast(b.dy, b.saved.lse.dtype());
  if (b.a.reduction == LossReduction::mean) scale = scale / b.saved.total;
  return {.x = call<CrossEntropyGrad>({b.a.x, b.a.target, b.saved.lse, scale, b.a.weight,
                                       b.a.ignore, b.a.label_smoothing})};
}
void CrossEntropyRows::samples(SampleList& s) {
  using R = LossReduction;
  const Tensor weight = cast(grid({3}, 0.5, 1.5), DType::f32);
  add_sample<CrossEntropyRows>(s, {.x = grid({4, 3}, -2, 2), .target = ids({4}, 3)});
  add_sample<CrossEntropyRows>(
      s, {.x = grid({4, 3}, -2, 2), .target = ids({4}, 3), .ignore = 1, .reduction = R::none});
  add_sample<CrossEntropyRows>(s, {.x = strided(grid({4, 3}, -2, 2)),
                                   .target = ids({4}, 3),
                                   .weight = weight,
                                   .ignore = 2,
                                   .label_smoothing = 0.2});
  add_sample<CrossEntropyRows>(s, {.x = grid({3, 3}, -2, 2), .target = ids({3}, 1), .ignore = 0});
  add_sample<CrossEntropyRows>(
      s, {.x = grid({0, 3}, -2, 2), .target = ids({0}, 3), .reduction = R::sum});
}

Meta CrossEntropyGrad::infer(const Args& a) {
  check_rows(a);
  must_have_dtype(a.lse, accumulator(a.x.dtype()), "lse");
  must_have_shape(a.lse, {a.x.size(0), 2}, "lse");
  must_have_dtype(a.scale, accumulator(a.x.dtype()), "scale");
  if (a.scale.rank() > 0) must_have_shape(a.scale, {a.x.size(0)}, "scale");
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void CrossEntropyGrad::cpu(const Args& a, Tensor& dx) {
  const NoGrad quiet;
  const Operands o(a);
  const Tensor lse = contiguous(a.lse), scale = contiguous(a.scale);
  cpu::cross_entropy_backward(o.x.dtype(), o.x.data(), o.raw, lse.data(), scale.data(),
                              scale.rank() > 0, dx.data());
}
Tensor CrossEntropyGrad::compose(const Args& a) {
  const DType wide = accumulator(a.x.dtype());
  const Targets t = targets_of(a, wide);
  const double s = a.label_smoothing, classes = static_cast<double>(a.x.size(1));
  const Tensor hit = t.weight * (1 - s);  // what the target's own term weighs
  const Tensor share = cast(call<OneHot>({.x = t.ids, .classes = a.x.size(1)}), wide);
  Tensor all = hit, rest;
  if (s > 0) {
    const Tensor w = a.weight ? cast(*a.weight, wide) : full({a.x.size(1)}, 1, wide, a.x.device());
    rest = w * (s / classes);
    all = hit + total(rest);
  }
  Tensor g = softmax(cast(a.x, wide), 1) * unsqueeze(all, 1) - share * unsqueeze(hit, 1);
  if (s > 0) g = g - rest;
  const Tensor scale = a.scale.rank() == 0 ? expand(a.scale, t.ids.shape()) : a.scale;
  return cast(g * unsqueeze(masked_fill(scale, t.ignored, 0), 1), a.x.dtype());
}

Tensor cross_entropy(const Tensor& x, const Tensor& target) {
  return call<CrossEntropy>({.x = x, .target = target});
}

OpFamily family_cross_entropy() {
  return list_ops(OpList<CrossEntropy, CrossEntropyRows, CrossEntropyGrad>{}, "loss");
}

}  // namespace rille
