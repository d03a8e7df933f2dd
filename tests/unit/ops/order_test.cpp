#include "ops/order.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/threads.h"
#include "unit/ops/values.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("sorting is stable, nan comes last", "[order]") {
  const Tensor s = f64({3, kNan, -0.0, 1, 0.0, -kInf, 3});
  const Picked up = call<Sort>({.x = s}), down = call<Sort>({.x = s, .descending = true});
  check_values(up.values, {-kInf, 0, 0, 1, 3, 3, kNan});
  check_values(up.ids, {5, 2, 4, 3, 0, 6, 1});
  check_values(down.values, {kNan, 3, 3, 1, 0, 0, -kInf});
  check_values(down.ids, {1, 0, 6, 3, 2, 4, 5});
}

TEST_CASE("every dtype and length is sorted as the standard library does", "[order]") {
  for (const DType d : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::i16, DType::u8})
    for (const int64_t n : {1, 2, 100, 600, 5000, 300000}) {
      const bool slow = n > 5000 && d != DType::f32 && d != DType::f64;
      if (slow) continue;
      INFO(name(d) << ", " << n << " elements");
      const Tensor x = Tensor::empty({n}, d);
      for (int64_t i = 0; i < n; ++i)
        store_element(d, x.data_as<char>() + i * static_cast<int64_t>(size_of(d)),
                      static_cast<double>(i * 7919 % 251 - (d == DType::u8 ? 0 : 100)));
      std::vector<double> ids(static_cast<size_t>(n));
      std::iota(ids.begin(), ids.end(), 0.0);
      const std::vector<double> v = x.to_vector();
      std::stable_sort(ids.begin(), ids.end(), [&](double a, double b) {
        return v[static_cast<size_t>(a)] < v[static_cast<size_t>(b)];
      });
      CHECK(call<Argsort>({.x = x}).to_vector() == ids);
    }
}

TEST_CASE("the k best, whatever k", "[order]") {
  const int64_t n = 4000;
  const Tensor x = Tensor::empty({2, n}, DType::f32);
  for (int64_t i = 0; i < 2 * n; ++i) x.data_as<float>()[i] = static_cast<float>(i * 7919 % 1009);
  const Picked sorted = call<Sort>({.x = x, .descending = true});
  for (const int64_t k : {int64_t{1}, int64_t{3}, int64_t{100}, int64_t{3000}, n}) {
    INFO("k = " << k);
    const Picked best = call<TopK>({.x = x, .k = k});
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t i = 0; i < k; ++i) {
        // Equal values may come in another order: the values are sorted, the ids lead to them.
        REQUIRE(best.values.at(r * k + i) == sorted.values.at(r * n + i));
        const auto id = static_cast<int64_t>(best.ids.at(r * k + i));
        REQUIRE(x.at(r * n + id) == best.values.at(r * k + i));
      }
  }
  check_values(call<TopK>({.x = f64({5, 1, 5, 7, 2}), .k = 3}).values, {7, 5, 5});
  CHECK_THROWS_AS(call<TopK>({.x = f64({1}), .k = 2}), Error);
}

TEST_CASE("medians, ranks and modes", "[order]") {
  const Tensor x = f64({3, kNan, 1, -2, kNan, kNan, kNan, kNan, 0, -0.0, 4, 4}, {3, 4});
  check_values(call<Median>({x, Axis{1}, false})[0], {kNan, kNan, 0});
  check_values(call<NanMedian>({x, Axis{1}, false})[0], {1, kNan, 0});
  check_values(call<Median>({.x = f64({4, 1, 3, 2})})[0], {2});
  const Picked second = call<KthValue>({.x = f64({5, 1, 6, 7, 2}), .k = 2});
  check_values(second.values, {2});
  check_values(second.ids, {4});
  const Picked mode = call<Mode>({.x = f64({4, 1, 1, 4, 2})});
  check_values(mode.values, {1});
  check_values(mode.ids, {2});
}

TEST_CASE("quantiles", "[order]") {
  const Tensor x = f64({1, 2, 4, 8, 9, 20}), q = f64({0, 0.3, 0.5, 0.9});
  const auto by = [&](Interpolation how) {
    return call<Quantile>({.x = x, .q = q, .interpolation = how});
  };
  check_values(by(Interpolation::linear), {1, 3, 6, 14.5});
  check_values(by(Interpolation::lower), {1, 2, 4, 9});
  check_values(by(Interpolation::higher), {1, 4, 8, 20});
  check_values(by(Interpolation::midpoint), {1, 3, 6, 14.5});
  check_values(by(Interpolation::nearest), {1, 4, 4, 9});
  const auto slope = [](const Tensor& at) {
    return gradient_of(
        [](const Tensor& t) {
          return call<NanQuantile>({.x = f64({1, 4, 9, 16, kNan}), .q = t});
        },
        at);
  };
  check_values(slope(f64({0.3, 0.6})), {9, 15});
  const Tensor rows = f64({1, kNan, 3, 2, 4, 6}, {2, 3});
  const Tensor half = Tensor::number(0.5);
  check_values(call<Quantile>({.x = rows, .q = half, .dim = Axis{1}}), {kNan, 4});
  check_values(call<NanQuantile>({.x = rows, .q = half, .dim = Axis{1}}), {2, 4});
  CHECK(call<Quantile>({.x = rows, .q = q, .dim = Axis{1}, .keepdim = true}).shape() ==
        Shape{4, 2, 1});
  CHECK_THROWS_AS(call<Quantile>({.x = x, .q = Tensor::number(1.5)}), Error);
}
