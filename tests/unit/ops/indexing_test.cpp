// Values of the ops that read and write by ids: what PyTorch 2.15 gives for the same calls.
#include <catch2/catch.hpp>
#include <functional>

#include "core/error.h"
#include "core/threads.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/index.h"
#include "ops/scatter.h"
#include "ops/scatter_reduce.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

using Values = std::vector<double>;

Tensor count(const Shape& shape) {
  const int64_t n = checked_numel(shape);
  return reshape(call<Arange>({.first = Tensor::number(int64_t{0}), .last = Tensor::number(n - 1)}),
                 shape);
}
Tensor integers(const Values& v, Shape shape = {}) {
  if (shape.empty()) shape.push_back(static_cast<int64_t>(v.size()));
  return Tensor::of(v, shape, DType::i64);
}
Tensor booleans(const Values& v) { return cast(integers(v), DType::boolean); }

struct Expected {
  Shape shape;
  Values values;
};
void check(const Tensor& got, const Expected& want) {
  CHECK(got.shape() == want.shape);
  CHECK(got.to_vector() == want.values);
}

Error error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return Error(Kind::internal, "none", "no error");
}

TEST_CASE("ids along several dims") {
  const Tensor x = count({2, 3, 4});
  // x[[1, 0][:, None], :, [3, 0, 1]]: not neighbours, so the ids' shape comes first
  check(index(x, {integers({1, 0}, {2, 1}), integers({3, 0, 1})}, {0, 2}),
        {{2, 3, 3}, {15, 19, 23, 12, 16, 20, 13, 17, 21, 3, 7, 11, 0, 4, 8, 1, 5, 9}});
  check(index(x, {integers({2, 0}), integers({1, 1})}, {1, 2}), {{2, 2}, {9, 1, 21, 13}});
  check(index(x, {integers({-1, 0}, {2, 1})}, {1}),
        {{2, 2, 1, 4}, {8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15}});
  check(index(x, {integers({1}, {1}), booleans({1, 0, 1})}, {0, 1}),
        {{2, 4}, {12, 13, 14, 15, 20, 21, 22, 23}});
  check(index(x, {booleans({0, 1})}),
        {{1, 3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}});
}

TEST_CASE("writing by ids") {
  const Tensor x = count({2, 3, 4});
  const Tensor y = call<IndexPut>({.x = x,
                                   .indices = {integers({0, 0}), integers({1, 1})},
                                   .source = integers({7, 8}),
                                   .dims = {1, 2}});
  check(select(select(y, 1, 0), 1, 1), {{2}, {8, 8}});  // the last one wins
  const Tensor zeros = full({4}, 0, DType::f32);
  const Tensor ones = Tensor::of(Values{1, 2, 3}, {3});
  check(call<IndexPut>({.x = zeros,
                        .indices = {integers({1, 1, 3})},
                        .source = ones,
                        .accumulate = true,
                        .dims = {}}),
        {{4}, {0, 3, 0, 3}});
  check(
      call<Put>({.x = zeros, .index = integers({-1, 0}), .source = Tensor::of(Values{1, 2}, {2})}),
      {{4}, {2, 0, 0, 1}});
  check(call<MaskedScatter>(
            {.x = full({2, 2}, 0, DType::f32), .mask = booleans({1, 0}), .source = ones}),
        {{2, 2}, {1, 0, 2, 0}});
  check(gather(count({3, 4}), 0, integers({2, 0, 1, 1}, {1, 4})), {{1, 4}, {8, 1, 6, 7}});
  check(call<OneHot>({.x = integers({2, 0})}), {{2, 3}, {0, 0, 1, 1, 0, 0}});
  check(call<Argwhere>({.x = Tensor::of(Values{0, 2, -0.0, 3}, {2, 2})}), {{2, 2}, {0, 1, 1, 1}});
}

TEST_CASE("scattered values reduced") {
  using Reduce = ScatterReduce::Reduce;
  const Tensor ids = integers({0, 0, 2}), values = Tensor::of(Values{1, 2, 4}, {3}, DType::f64);
  const auto reduced = [&](double start, Reduce how, bool self) {
    return call<ScatterReduce>({.x = full({3}, start, DType::f64),
                                .dim = {0},
                                .index = ids,
                                .source = values,
                                .reduce = how,
                                .include_self = self})
        .to_vector();
  };
  CHECK(reduced(10, Reduce::mean, true)[0] == Approx(13.0 / 3));
  CHECK(reduced(10, Reduce::mean, false) == Values{1.5, 10, 4});
  CHECK(reduced(10, Reduce::prod, false) == Values{2, 10, 4});
  CHECK(reduced(3, Reduce::amin, true) == Values{1, 3, 3});
  CHECK(reduced(3, Reduce::amax, false) == Values{2, 3, 4});
  // Means of integers are rounded down.
  check(call<ScatterReduce>({.x = full({2}, 1, DType::i64),
                             .dim = {0},
                             .index = integers({0, 0}),
                             .source = integers({-5, 2}),
                             .reduce = Reduce::mean}),
        {{2}, {-1, 1}});
}

TEST_CASE("sums in 16-bit floats are rounded once") {
  const int64_t n = 1000;
  const Tensor x = full({2}, 0, DType::bf16), ones = full({n}, 1, DType::bf16);
  const Tensor ids = full({n}, 1, DType::i64);
  CHECK(index_add(x, 0, ids, ones).to_vector() == Values{0, 1000});
  CHECK(scatter_add(x, 0, ids, ones).to_vector() == Values{0, 1000});
}

TEST_CASE("the number of threads does not change a bit") {
  const int before = threads();
  const Tensor values = cast(grid({5000, 16}, -1, 1), DType::f32), where = ids({5000}, 9);
  const Tensor zeros = full({9, 16}, 0, DType::f32);
  set_threads(1);
  const Values one = index_add(zeros, 0, where, values).to_vector();
  set_threads(3);
  const Values three = index_add(zeros, 0, where, values).to_vector();
  const Tensor wide = expand(unsqueeze(where, 1), {5000, 16});
  const Values scattered = scatter_add(zeros, 0, wide, values).to_vector();
  set_threads(before);
  CHECK(one == three);
  CHECK(one == scattered);
}

TEST_CASE("ids out of range are named, with their place and range") {
  const Tensor x = count({3, 4});
  const Error e = error_of([&] { index_select(x, 0, integers({0, 1, 3})); });
  CHECK(e.code() == "E_INDEX");
  CHECK(e.op() == "index_select");
  CHECK(e.text() == "id 3 is out of range for dim 1 of size 3");
  REQUIRE(e.facts().size() == 2);
  CHECK(e.facts()[0] == "position     [3] of the ids");
  CHECK(e.facts()[1] == "range        0 to 2");
  CHECK(error_of([&] { gather(x, 1, integers({-1}, {1, 1})); }).code() == "E_INDEX");
  CHECK(error_of([&] { index(x, {integers({-4})}); }).code() == "E_INDEX");
  CHECK(error_of([&] { index(x, {booleans({1, 0})}); }).code() == "E_SHAPE");
  CHECK(error_of([&] { gather(x, 0, full({1, 1}, 0, DType::f32)); }).code() == "E_DTYPE");
  CHECK(error_of([&] { call<OneHot>({.x = integers({5}), .classes = 3}); }).op() == "one_hot");
}

}  // namespace
}  // namespace rille
