#include "ops/scan.h"

#include "core/error.h"
#include "unit/ops/values.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("running sums and products", "[scan]") {
  const Tensor x = f64({1, 2, 3, 4, 5, 6}, {2, 3});
  check_values(call<Cumsum>({.x = x, .dim = {1}}), {1, 3, 6, 4, 9, 15});
  check_values(call<Cumsum>({.x = x, .dim = {0}}), {1, 2, 3, 5, 7, 9});
  check_values(call<Cumsum>({.x = x, .dim = {1}, .reverse = true}), {6, 5, 3, 15, 11, 6});
  check_values(call<Cumprod>({.x = x, .dim = {1}}), {1, 2, 6, 4, 20, 120});
  CHECK(call<Cumsum>({.x = i64({1, 2}), .dim = {0}}).dtype() == DType::i64);
}

TEST_CASE("a long running sum carries on from block to block", "[scan]") {
  const Tensor x = Tensor::empty({5000}, DType::f32);
  for (int64_t i = 0; i < 5000; ++i) x.data_as<float>()[i] = 1;
  const Tensor up = call<Cumsum>({.x = x, .dim = {0}}),
               down = call<Cumsum>({.x = x, .dim = {0}, .reverse = true});
  for (int64_t i = 0; i < 5000; ++i) {
    REQUIRE(up.at(i) == static_cast<double>(i + 1));
    REQUIRE(down.at(i) == static_cast<double>(5000 - i));
  }
}

TEST_CASE("the gradient of a running product with zeros", "[scan]") {
  const Tensor x = f64({0, 2, 3, 0, 0, 4}, {2, 3});
  check_values(gradient_of([](const Tensor& t) { return call<Cumprod>({.x = t, .dim = {1}}); }, x),
               {9, 0, 0, 1, 0, 0});
}

TEST_CASE("running extremes name the last of equals, and nan stays", "[scan]") {
  const Tensor x = f64({1, 3, 2, 3, kNan, 1});
  const Picked most = call<Cummax>({.x = x, .dim = {0}}),
               least = call<Cummin>({.x = x, .dim = {0}});
  check_values(most.values, {1, 3, 3, 3, kNan, kNan});
  check_values(most.ids, {0, 1, 1, 3, 4, 4});
  check_values(least.values, {1, 1, 1, 1, kNan, kNan});
  check_values(least.ids, {0, 0, 0, 0, 4, 4});
}

TEST_CASE("logcumsumexp does not overflow", "[scan]") {
  check_values(call<LogCumsumExp>({.x = f64({-1, 1000, 2, -kInf}), .dim = {0}}),
               {-1, 1000, 1000, 1000});
  check_values(call<LogCumsumExp>({.x = f64({-kInf, -kInf, 0}), .dim = {0}}), {-kInf, -kInf, 0});
  check_values(gradient_of([](const Tensor& t) { return call<LogCumsumExp>({.x = t, .dim = {0}}); },
                           f64({0, 800, -800})),
               {1, 2, 0});
}

TEST_CASE("differences and integrals", "[scan]") {
  check_values(call<Diff>({.x = f64({1, 4, 9, 16}), .n = 2}), {2, 2});
  CHECK(call<Diff>({.x = f64({1}), .n = 3}).numel() == 0);
  check_values(call<Diff>({.x = f64({1, 4}), .n = 0, .prepend = f64({9})}), {1, 4});
  check_values(call<Trapezoid>({.y = f64({1, 4, 9}), .x = f64({1, 2, 4})}), {15.5});
  check_values(call<CumulativeTrapezoid>({.y = f64({1, 2, 3})}), {1.5, 4});
  CHECK_THROWS_AS(call<Trapezoid>({.y = f64({1, 2}), .x = f64({1, 2, 3})}), Error);
}
