#include "ops/extreme.h"

#include "core/error.h"
#include "unit/ops/values.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("nan is more extreme than any number, the first of equals counts", "[extreme]") {
  const Tensor x = f64({3, kNan, 1, -2, kNan, kNan, kNan, kNan, 0, -0.0, 4, 4}, {3, 4});
  const Picked most = call<MaxDim>({.x = x, .dim = {1}}),
               least = call<MinDim>({.x = x, .dim = {1}});
  check_values(most.values, {kNan, kNan, 4});
  check_values(most.ids, {1, 0, 2});
  check_values(least.values, {kNan, kNan, 0});
  check_values(least.ids, {1, 0, 0});
  check_values(call<Amax>({.x = x, .dims = {0}}), {kNan, kNan, kNan, kNan});
}

TEST_CASE("equal elements share the gradient of amax, the first takes that of max along a dim",
          "[extreme]") {
  const auto x = [] { return f64({1, 3, 3, 2, 2, 0}, {2, 3}); };
  check_values(gradient_of([](const Tensor& t) { return call<Amax>({.x = t, .dims = {1}}); }, x()),
               {0, 0.5, 0.5, 0.5, 0.5, 0});
  check_values(gradient_of(
                   [](const Tensor& t) {
                     return call<Max>({t, Axis{1}, false})[0];
                   },
                   x()),
               {0, 1, 0, 1, 0, 0});
  check_values(gradient_of([](const Tensor& t) { return call<Max>({.x = t})[0]; }, x()),
               {0, 0.5, 0.5, 0, 0, 0});
}

TEST_CASE("max gives one result, with a dim two", "[extreme]") {
  const Tensor x = f64({1, 4, 3, 2}, {2, 2});
  CHECK(call<Max>({.x = x}).size() == 1);
  const std::vector<Tensor> both = call<Min>({.x = x, .dim = Axis{0}, .keepdim = true});
  REQUIRE(both.size() == 2);
  CHECK(both[0].shape() == Shape{1, 2});
  CHECK(both[1].dtype() == DType::i64);
  check_values(both[1], {0, 1});
}

TEST_CASE("places in long and short lines, rows and columns", "[extreme]") {
  for (const int64_t n : {1, 7, 64, 65, 1000, 3000, 70000}) {
    const Tensor x = Tensor::empty({2, n}, DType::f32);
    for (int64_t i = 0; i < 2 * n; ++i) x.data_as<float>()[i] = static_cast<float>(i * 7919 % 1009);
    x.data_as<float>()[n / 3] = 5000;
    x.data_as<float>()[n - 1] = 5000;  // the second of two is not meant
    x.data_as<float>()[n + n / 2] = 6000;
    INFO("lines of " << n);
    check_values(call<Argmax>({.x = x, .dim = Axis{1}}),
                 {static_cast<double>(n / 3), static_cast<double>(n / 2)});
    CHECK(call<Argmax>({.x = x}).item() == static_cast<double>(n + n / 2));
    const Tensor columns = x.alias({n, 2}, {1, n}, 0);
    check_values(call<Argmax>({.x = columns, .dim = Axis{0}}),
                 {static_cast<double>(n / 3), static_cast<double>(n / 2)});
  }
}

TEST_CASE("there is no extreme of nothing", "[extreme]") {
  const Tensor none = f64({}, {0, 2});
  CHECK_THROWS_AS(call<Max>({.x = none}), Error);
  CHECK_THROWS_AS(call<Argmin>({.x = none, .dim = Axis{0}}), Error);
  CHECK(call<Amax>({.x = none, .dims = {1}}).shape() == Shape{0});
}
