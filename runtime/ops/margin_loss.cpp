#include "ops/margin_loss.h"

#include "core/fail.h"
#include "core/shape.h"
#include "ops/activation.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/math.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/scan.h"
#include "ops/scatter.h"
#include "ops/select.h"
#include "ops/view.h"

namespace rille {
namespace {

DType wide_of(DType d) { return d == DType::f64 ? d : DType::f32; }
Tensor at_least(const Tensor& x, double low) {
  return call<Clamp>({.x = x, .min = Tensor::number(low)});
}
// x, but 0 where the target is that number.
Tensor unless(const Tensor& target, double y, const Tensor& x) {
  return masked_fill(x, call<Eq>({.x = target, .y = Tensor::number(y)}), 0);
}
Tensor sum_last(const Tensor& x) { return call<Sum>({.x = x, .dims = {-1}}); }

}  // namespace

// ---- losses
// ---------------------------------------------------------------------------------------

Tensor HingeEmbeddingLoss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  const Tensor losses =
      unless(t.target, 1, at_least(a.margin - t.x, 0)) + unless(t.target, -1, t.x);
  return cast(reduce_loss(losses, a.reduction), t.dtype);
}
void HingeEmbeddingLoss::samples(SampleList& s) {
  using R = LossReduction;
  const auto signs = [](const Shape& shape) { return cast(mask(shape), DType::f32) * 2 - 1; };
  add_sample<HingeEmbeddingLoss>(s, {.x = grid({2, 3}, -0.7, 2), .target = signs({2, 3})});
  add_sample<HingeEmbeddingLoss>(s, {.x = strided(grid({2, 3}, -0.7, 2)),
                                     .target = signs({2, 3}),
                                     .margin = 0.31,
                                     .reduction = R::none});
  add_sample<HingeEmbeddingLoss>(s,
                                 {.x = grid({0}, 0, 1), .target = signs({0}), .reduction = R::sum});
}

Tensor MarginRankingLoss::compose(const Args& a) {
  check_loss_input(a.x1, "x1");
  check_loss_input(a.x2, "x2");
  check_same_shape(a.x1, a.x2, "x1", "x2");
  check_same_shape(a.x1, a.target, "x1", "target");
  const DType d = promote(a.x1.dtype(), a.x2.dtype()), wide = wide_of(d);
  const Tensor lead = cast(a.target, wide) * (cast(a.x1, wide) - cast(a.x2, wide));
  return cast(reduce_loss(at_least(a.margin - lead, 0), a.reduction), d);
}
void MarginRankingLoss::samples(SampleList& s) {
  const Tensor signs = cast(mask({5}), DType::f64) * 2 - 1;
  add_sample<MarginRankingLoss>(
      s, {.x1 = grid({5}, -1, 1), .x2 = grid({5}, 1.1, 1.9), .target = signs, .margin = 0.3});
  add_sample<MarginRankingLoss>(s, {.x1 = strided(grid({2, 2}, -1, 1)),
                                    .x2 = grid({2, 2}, 1.1, 1.9),
                                    .target = grid({2, 2}, -1, -0.5),
                                    .reduction = LossReduction::none});
}

Tensor TripletMarginLoss::compose(const Args& a) {
  check_loss_input(a.anchor, "anchor");
  check_loss_input(a.positive, "positive");
  check_loss_input(a.negative, "negative");
  check_same_shape(a.anchor, a.positive, "anchor", "positive");
  check_same_shape(a.anchor, a.negative, "anchor", "negative");
  if (a.anchor.rank() == 0)
    throw shape_error("'anchor' must have a dim, got one number").of("anchor");
  const DType d = promote(promote(a.anchor.dtype(), a.positive.dtype()), a.negative.dtype());
  const auto distance = [&](const Tensor& x, const Tensor& y) {
    const Tensor gap = cast(x, wide_of(d)) - cast(y, wide_of(d)) + a.eps;
    return call<Norm>({.x = gap, .p = a.p, .dims = {-1}});
  };
  const Tensor near = distance(a.anchor, a.positive);
  Tensor far = distance(a.anchor, a.negative);
  if (a.swap) far = call<Minimum>({.x = far, .y = distance(a.positive, a.negative)});
  return cast(reduce_loss(at_least(near - far + a.margin, 0), a.reduction), d);
}
void TripletMarginLoss::samples(SampleList& s) {
  const Tensor anchor = grid({3, 4}, -1, 1), positive = grid({3, 4}, 0.2, 1.7),
               negative = strided(grid({3, 4}, -1.4, 0.9));
  add_sample<TripletMarginLoss>(
      s, {.anchor = anchor, .positive = positive, .negative = negative, .margin = 1.3});
  add_sample<TripletMarginLoss>(s, {.anchor = anchor,
                                    .positive = positive,
                                    .negative = negative,
                                    .margin = 2,
                                    .p = 3,
                                    .swap = true,
                                    .reduction = LossReduction::none});
}

Tensor CosineEmbeddingLoss::compose(const Args& a) {
  check_loss_input(a.x1, "x1");
  check_loss_input(a.x2, "x2");
  check_same_shape(a.x1, a.x2, "x1", "x2");
  if (a.x1.rank() != 1 && a.x1.rank() != 2)
    throw shape_error("'x1' must be [n, width] or [width], got {}", to_string(a.x1.shape()))
        .of("x1");
  Shape rows = a.x1.shape();
  rows.erase(rows.size() - 1);
  if (a.target.shape() != rows)
    throw shape_error("'target' must have shape {}, got {}", to_string(rows),
                      to_string(a.target.shape()))
        .of("x1", "target");
  constexpr double eps = 1e-12;  // keeps zero vectors apart from each other
  const DType d = promote(a.x1.dtype(), a.x2.dtype()), wide = wide_of(d);
  const Tensor x1 = cast(a.x1, wide), x2 = cast(a.x2, wide);
  const auto length = [&](const Tensor& x) { return call<Sqrt>({.x = sum_last(x * x) + eps}); };
  const Tensor cosine = sum_last(x1 * x2) / (length(x1) * length(x2));
  const Tensor losses =
      unless(a.target, -1, 1 - cosine) + unless(a.target, 1, at_least(cosine - a.margin, 0));
  return cast(reduce_loss(losses, a.reduction), d);
}
void CosineEmbeddingLoss::samples(SampleList& s) {
  const Tensor signs = cast(mask({4}), DType::i64) * 2 - 1;
  const Tensor x1 = grid({4, 3}, -1, 1), x2 = strided(grid({4, 3}, -0.8, 1.3));
  add_sample<CosineEmbeddingLoss>(s, {.x1 = x1, .x2 = x2, .target = signs});
  add_sample<CosineEmbeddingLoss>(
      s, {.x1 = x1, .x2 = x2, .target = signs, .margin = -0.37, .reduction = LossReduction::none});
}

// The target's own term is left out: it would be margin^p.
Tensor MultiMarginLoss::compose(const Args& a) {
  check_loss_input(a.x, "x");
  if (a.x.rank() > 2)
    throw shape_error("'x' must be [n, classes] or [classes], got {}", to_string(a.x.shape()))
        .of("x");
  if (a.p != 1 && a.p != 2) throw arg_error("'p' must be 1 or 2, got {}", a.p);
  const int64_t classes = a.x.rank() == 0 ? 1 : a.x.size(-1);
  check_class_weight(a.weight, classes);
  Shape rows = a.x.shape();
  if (a.x.rank() > 0) rows.erase(rows.size() - 1);
  const DType d = a.x.dtype(), wide = wide_of(d);
  // One row may have its target as a list of one.
  if (a.x.rank() < 2 && a.target.shape() == Shape{1}) rows = {1};
  const Tensor target = class_ids(a.target, rows), at = unsqueeze(target, -1);
  Shape whole = rows;
  whole.push_back(classes);
  const Tensor x = reshape(cast(a.x, wide), whole);
  Tensor terms = at_least(a.margin - (gather(x, -1, at) - x), 0);
  if (a.p == 2) terms = terms * terms;
  if (a.weight) {
    const Tensor w = index_select(cast(*a.weight, wide), 0, reshape(target, {target.numel()}));
    terms = terms * unsqueeze(reshape(w, rows), -1);
  }
  terms = terms * (1 - cast(call<OneHot>({.x = target, .classes = classes}), wide));
  const Tensor losses = sum_last(terms) / static_cast<double>(classes);
  return cast(reduce_loss(losses, a.reduction), d);
}
void MultiMarginLoss::samples(SampleList& s) {
  using R = LossReduction;
  add_sample<MultiMarginLoss>(s, {.x = grid({4, 3}, -1, 1), .target = ids({4}, 3)});
  add_sample<MultiMarginLoss>(s, {.x = strided(grid({4, 3}, -1, 1)),
                                  .target = ids({4}, 3),
                                  .p = 2,
                                  .margin = 0.77,
                                  .weight = grid({3}, 0.5, 1.5),
                                  .reduction = R::none});
  add_sample<MultiMarginLoss>(s, {.x = grid({3}, -1, 1), .target = ids({}, 3)});
  add_sample<MultiMarginLoss>(s, {.x = grid({3}, -1, 1), .target = ids({1}, 3), .p = 2});
}

// [n, labels, classes] at once: each label against each class that is none.
Tensor MultilabelMarginLoss::compose(const Args& a) {
  check_loss_input(a.x, "x");
  if (a.x.rank() > 2)
    throw shape_error("'x' must be [n, classes] or [classes], got {}", to_string(a.x.shape()))
        .of("x");
  const DType d = a.x.dtype(), wide = wide_of(d);
  Tensor x = cast(a.x, wide), target = class_ids(a.target, a.x.shape());
  if (a.x.rank() == 0) x = unsqueeze(x, 0), target = unsqueeze(target, 0);
  const int64_t classes = x.size(-1);
  const Tensor ended =
      call<Cumsum>({.x = cast(call<Lt>({.x = target, .y = Tensor::number(int64_t{0})}), DType::i64),
                    .dim = {-1}});
  const Tensor real = cast(call<Eq>({.x = ended, .y = Tensor::number(int64_t{0})}), wide);
  const Tensor ids = call<Clamp>({.x = target, .min = Tensor::number(int64_t{0})});
  const Tensor hits = scatter_add(zeros_like(x), -1, ids, real);
  const Tensor other = cast(call<Eq>({.x = hits, .y = Tensor::number(int64_t{0})}), wide);
  const Tensor lead = unsqueeze(gather(x, -1, ids), -1) - unsqueeze(x, -2);
  const Tensor terms = at_least(1 - lead, 0) * unsqueeze(real, -1) * unsqueeze(other, -2);
  const Tensor losses = sum_last(sum_last(terms)) / static_cast<double>(classes);
  return cast(reduce_loss(a.x.rank() == 0 ? squeeze(losses, 0) : losses, a.reduction), d);
}
void MultilabelMarginLoss::samples(SampleList& s) {
  const auto labels = [](std::initializer_list<double> values, const Shape& shape) {
    return Tensor::of(std::vector<double>(values), shape, DType::i64);
  };
  const Tensor two = labels({2, 0, -1, 1, 1, -1, 2, 0}, {2, 4});
  add_sample<MultilabelMarginLoss>(s, {.x = grid({2, 4}, -1, 1.1), .target = two});
  add_sample<MultilabelMarginLoss>(
      s, {.x = strided(grid({2, 4}, -1, 1.1)), .target = two, .reduction = LossReduction::none});
  add_sample<MultilabelMarginLoss>(s, {.x = grid({3}, -1, 1.1), .target = labels({1, 2, 0}, {3})});
  add_sample<MultilabelMarginLoss>(
      s, {.x = grid({0, 3}, -1, 1), .target = ids({0, 3}, 3), .reduction = LossReduction::sum});
}

Tensor MultilabelSoftMarginLoss::compose(const Args& a) {
  const LossTerms t = loss_terms(a.x, a.target);
  if (a.x.rank() == 0) throw shape_error("'x' must have a dim of classes, got one number").of("x");
  check_class_weight(a.weight, a.x.size(-1));
  const auto log_sigmoid = [](const Tensor& x) { return call<Logsigmoid>({.x = x}); };
  Tensor terms = -(t.target * log_sigmoid(t.x) + (1 - t.target) * log_sigmoid(-t.x));
  if (a.weight) terms = terms * cast(*a.weight, terms.dtype());
  const Tensor losses = sum_last(terms) / static_cast<double>(a.x.size(-1));
  return cast(reduce_loss(losses, a.reduction), t.dtype);
}
void MultilabelSoftMarginLoss::samples(SampleList& s) {
  using R = LossReduction;
  const Tensor target = cast(mask({2, 3}), DType::f64);
  add_sample<MultilabelSoftMarginLoss>(s, {.x = grid({2, 3}, -2, 2), .target = target});
  add_sample<MultilabelSoftMarginLoss>(s, {.x = strided(grid({2, 3}, -2, 2)),
                                           .target = target,
                                           .weight = grid({3}, 0.5, 1.5),
                                           .reduction = R::none});
  add_sample<MultilabelSoftMarginLoss>(
      s, {.x = grid({3}, -2, 2), .target = cast(mask({3}), DType::f64), .reduction = R::sum});
  add_sample<MultilabelSoftMarginLoss>(
      s, {.x = grid({0, 3}, -2, 2), .target = grid({0, 3}, 0, 1), .reduction = R::sum});
}

// ---- similarities
// ---------------------------------------------------------------------------------

Tensor CosineSimilarity::compose(const Args& a) {
  check_loss_input(a.x1, "x1");
  check_loss_input(a.x2, "x2");
  const Shape shape = broadcast(a.x1.shape(), a.x2.shape());
  const DType d = promote(a.x1.dtype(), a.x2.dtype()), wide = wide_of(d);
  const Axes dim{axis(a.dim.value, shape.size())};
  const Tensor x1 = expand(cast(a.x1, wide), shape), x2 = expand(cast(a.x2, wide), shape);
  const auto length = [&](const Tensor& x) {
    return at_least(call<Norm>({.x = x, .dims = dim}), a.eps);
  };
  return cast(call<Sum>({.x = x1 * x2, .dims = dim}) / (length(x1) * length(x2)), d);
}
void CosineSimilarity::samples(SampleList& s) {
  add_sample<CosineSimilarity>(s, {.x1 = grid({3, 4}, -1, 1), .x2 = grid({3, 4}, -0.8, 1.3)});
  add_sample<CosineSimilarity>(
      s, {.x1 = strided(grid({3, 4}, -1, 1)), .x2 = grid({4}, -0.8, 1.3), .dim = {-1}});
  add_sample<CosineSimilarity>(
      s, {.x1 = grid({0, 4}, -1, 1), .x2 = grid({1, 4}, -0.8, 1.3), .dim = {1}});
}

Tensor Normalize::compose(const Args& a) {
  check_loss_input(a.x, "x");
  const DType d = a.x.dtype();
  const Axes dim{axis(a.dim.value, a.x.rank())};
  const Tensor x = cast(a.x, wide_of(d));
  const Tensor length = call<Norm>({.x = x, .p = a.p, .dims = dim, .keepdim = true});
  return cast(x / at_least(length, a.eps), d);
}
void Normalize::samples(SampleList& s) {
  add_sample<Normalize>(s, {.x = grid({3, 4}, -1, 1.3)});
  add_sample<Normalize>(s, {.x = strided(grid({3, 4}, -1, 1.3)), .p = 3, .dim = {0}});
  add_sample<Normalize>(s, {.x = grid({4}, -1, 1.3), .dim = {-1}});
  add_sample<Normalize>(s, {.x = grid({0, 4}, -1, 1.3)});
}

OpFamily family_margin_loss() {
  return list_ops(OpList<HingeEmbeddingLoss, MarginRankingLoss, TripletMarginLoss,
                         CosineEmbeddingLoss, MultiMarginLoss, MultilabelMarginLoss,
                         MultilabelSoftMarginLoss, CosineSimilarity, Normalize>{},
                  "loss");
}

}  // namespace rille
