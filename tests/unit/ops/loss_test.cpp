// Losses against PyTorch 2.15 in double: wave(shape) holds sin(1.3 k), others say what they are.
#include "ops/loss.h"

#include "core/error.h"
#include "ops/binary.h"
#include "ops/dropout.h"
#include "ops/margin_loss.h"
#include "ops/softmax.h"
#include "ops/trig.h"
#include "unit/ops/values.h"

using namespace rille;
using namespace rille::test;

namespace {

Tensor count(int64_t n) {
  const Tensor t = Tensor::empty({n}, DType::f64);
  for (int64_t k = 0; k < n; ++k) t.data_as<double>()[k] = static_cast<double>(k);
  return t;
}
Tensor wave(int64_t n) { return call<Sin>({count(n) * 1.3}); }
Tensor wave(int64_t rows, int64_t columns) {
  const Tensor t = wave(rows * columns);
  return t.alias({rows, columns}, {columns, 1}, 0);
}

}  // namespace

TEST_CASE("cross-entropy with smoothing, weights and ignored rows", "[loss]") {
  using R = LossReduction;
  const Tensor x = wave(3, 4), target = i64({1, -100, 3}), w = f64({0.5, 1, 2, 0.25});
  check_values(call<CrossEntropy>({.x = x, .target = target, .weight = w, .label_smoothing = 0.1}),
               {0.90707362317736});
  check_values(call<CrossEntropy>({.x = x, .target = target, .weight = w, .reduction = R::none}),
               {0.793986151283365, 0, 0.16103418077518});
  check_values(call<CrossEntropy>({.x = x, .target = softmax(x * 2, 1)}), {0.963684996913164});
  // Nothing counted: the loss is 0 here, and so is its gradient.
  const Tensor none = i64({-100, -100, -100});
  check_values(
      gradient_of([&](const Tensor& t) { return call<CrossEntropy>({.x = t, .target = none}); }, x),
      std::vector<double>(12, 0.0));
}

TEST_CASE("cross-entropy by its own definition, twice differentiable", "[loss]") {
  // d2 loss / dx2 of one row is diag(p) - p p^T.
  const Tensor x = f64({0.2, -0.4, 1}, {1, 3}), p = softmax(x, 1);
  autograd::set_requires_grad(x, true);
  const Tensor y = call<CrossEntropy>({.x = x, .target = i64({2})});
  const Tensor one = autograd::engine_ops().ones_like(y);
  const Tensor dx = autograd::grad({&y, 1}, {&x, 1}, {&one, 1}, {.create_graph = true})[0];
  check_values(dx, {p.at(0), p.at(1), p.at(2) - 1});
  const Tensor pick = f64({1, 0, 0}, {1, 3});
  const Tensor row = autograd::grad({&dx, 1}, {&x, 1}, {&pick, 1})[0];
  check_values(row, {p.at(0) * (1 - p.at(0)), -p.at(0) * p.at(1), -p.at(0) * p.at(2)});
}

TEST_CASE("losses of differences and distributions", "[loss]") {
  const Tensor x = wave(6), target = call<Cos>({count(6)});
  check_values(call<HuberLoss>({.x = x * 3, .target = target, .delta = 0.7}), {0.784757885390802});
  check_values(call<SmoothL1Loss>({.x = x * 3, .target = target, .beta = 0.5}), {1.21064580213872});
  check_values(
      call<KlDiv>(
          {.x = log_softmax(x, 0), .target = softmax(target, 0), .reduction = KlReduction::sum}),
      {0.22035205859346});
  check_values(
      call<BceWithLogitsLoss>({.x = x, .target = target * target, .pos_weight = f64({2}, {})}),
      {1.28361252102887});
  // The target of a Gaussian broadcasts.
  check_values(call<GaussianNllLoss>({.x = x,
                                      .target = f64({0.25}),
                                      .var = target * target + 0.1,
                                      .full = true,
                                      .reduction = LossReduction::none}),
               {0.995002714015926, 1.100165332776, 0.399143182867031, 1.36455849154166,
                1.81721929045718, 0.066197995228338});
  CHECK_THROWS_AS(call<GaussianNllLoss>({.x = f64({1}), .target = x, .var = f64({1})}), Error);
}

TEST_CASE("losses of margins", "[loss]") {
  const Tensor x = wave(3, 4);
  check_values(call<MultiMarginLoss>({.x = x,
                                      .target = i64({1, 0, 3}),
                                      .p = 2,
                                      .margin = 0.5,
                                      .weight = f64({0.5, 1, 2, 0.25})}),
               {0.463893264067102});
  // A single row may have its target as a list of one.
  const Tensor row = x.alias({4}, {1}, 0);
  check_values(
      call<MultiMarginLoss>({.x = row, .target = i64({2}), .reduction = LossReduction::none}),
      {0.483138860443566});
  const Tensor a = wave(2, 3), b = call<Cos>({a});
  check_values(
      call<TripletMarginLoss>({.anchor = a, .positive = b, .negative = a * 0.5, .swap = true}),
      {2.12746821528597});
  check_values(call<CosineEmbeddingLoss>({.x1 = a, .x2 = b, .target = i64({1, -1}), .margin = 0.1}),
               {0.183478398423369});
}

TEST_CASE("dropout that is switched off takes any shape", "[loss]") {
  const Tensor x = f64({3}, {});
  CHECK(call<FeatureAlphaDropout>({.x = x, .training = false}).is(x));
  CHECK_THROWS_AS(call<FeatureAlphaDropout>({.x = x}), Error);
}

TEST_CASE("the next number moves with x alone", "[loss]") {
  const Tensor x = f64({1, -2}), y = f64({5, 5});
  check_values(gradient_of([&](const Tensor& t) { return call<NextAfter>({t, y}); }, x), {1, 1});
  check_values(gradient_of(
                   [&](const Tensor& t) {
                     return call<NextAfter>({x, t});
                   },
                   f64({5, 5})),
               {0, 0});
}
