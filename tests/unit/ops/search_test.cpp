#include "ops/search.h"

#include "core/error.h"
#include "unit/ops/values.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("unique elements with ids and counts", "[search]") {
  const auto all =
      call<Unique>({.x = i64({3, 1, 3, 2, 1, 3}), .return_inverse = true, .return_counts = true});
  REQUIRE(all.size() == 3);
  check_values(all[0], {1, 2, 3});
  check_values(all[1], {2, 0, 2, 1, 0, 2});
  check_values(all[2], {2, 1, 3});
  const auto runs = call<UniqueConsecutive>(
      {.x = i64({1, 1, 2, 2, 2, 1}), .return_inverse = true, .return_counts = true});
  check_values(runs[0], {1, 2, 1});
  check_values(runs[1], {0, 0, 1, 1, 1, 2});
  check_values(runs[2], {2, 3, 1});
  check_values(call<Unique>({.x = f64({kNan, 1, kNan})})[0], {1, kNan, kNan});
  CHECK(call<Unique>({.x = f64({}, {0})})[0].numel() == 0);
}

TEST_CASE("unique rows and columns", "[search]") {
  const Tensor x = i64({1, 2, 0, 5, 1, 2}, {3, 2});
  const auto rows =
      call<Unique>({.x = x, .return_inverse = true, .return_counts = true, .dim = Axis{0}});
  CHECK(rows[0].shape() == Shape{2, 2});
  check_values(rows[0], {0, 5, 1, 2});
  check_values(rows[1], {1, 0, 1});
  check_values(rows[2], {1, 2});
  const Tensor turned = x.alias({2, 3}, {1, 2}, 0);
  check_values(call<Unique>({.x = turned, .dim = Axis{1}})[0], {0, 1, 5, 2});
}

TEST_CASE("counts", "[search]") {
  check_values(call<Bincount>({.x = i64({0, 2, 2}), .minlength = 5}), {1, 0, 2, 0, 0});
  check_values(call<Bincount>({.x = i64({0, 2, 2}), .weights = f64({0.5, 1, 2})}), {0.5, 0, 3});
  CHECK_THROWS_AS(call<Bincount>({.x = i64({-1})}), Error);
  CHECK_THROWS_AS(call<Bincount>({.x = f64({1})}), Error);
  check_values(call<Histc>({.x = f64({1, 2, 1, 4, 0.5}), .bins = 4, .min = 0, .max = 4}),
               {1, 2, 1, 1});
  check_values(call<Histc>({.x = f64({1, 2, 3}), .bins = 2}), {1, 2});
  check_values(call<Histc>({.x = f64({5, 5}), .bins = 3}), {0, 2, 0});
}

TEST_CASE("places in a sorted line", "[search]") {
  const Tensor line = f64({1, 3, 5, 7}), v = f64({0, 3, 6, 8, kNan});
  check_values(call<SearchSorted>({.sorted = line, .values = v}), {0, 1, 3, 4, 4});
  check_values(call<SearchSorted>({.sorted = line, .values = v, .right = true}), {0, 2, 3, 4, 4});
  check_values(call<Bucketize>({.x = v, .boundaries = line}), {0, 1, 3, 4, 4});
  CHECK(call<SearchSorted>({.sorted = line, .values = v, .out_int32 = true}).dtype() == DType::i32);
  const Tensor lines = f64({0, 1, 5, 6}, {2, 2}), wanted = f64({0.5, 5.5}, {2, 1});
  check_values(call<SearchSorted>({.sorted = lines, .values = wanted}), {1, 1});
  CHECK_THROWS_AS(call<SearchSorted>({.sorted = lines, .values = f64({1, 2, 3}, {3, 1})}), Error);
}
