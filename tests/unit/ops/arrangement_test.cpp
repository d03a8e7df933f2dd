// Values of the ops on shape and order: what PyTorch 2.15 gives for the same calls.
#include <catch2/catch.hpp>

#include "core/error.h"
#include "ops/arrange.h"
#include "ops/create.h"
#include "ops/fold.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

using Values = std::vector<double>;

Tensor count(const Shape& shape, int64_t first = 0) {
  const int64_t n = checked_numel(shape);
  const Tensor t =
      call<Arange>({.first = Tensor::number(first), .last = Tensor::number(first + n - 1)});
  return reshape(t, shape);
}
Tensor integers(const Values& v) {
  return Tensor::of(v, {static_cast<int64_t>(v.size())}, DType::i64);
}

struct Expected {
  Shape shape;
  Values values;
};
void check(const Tensor& got, const Expected& want) {
  CHECK(got.shape() == want.shape);
  CHECK(got.to_vector() == want.values);
}

template <class F>
std::string code_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return "";
}

TEST_CASE("padding in four ways") {
  using Mode = Pad::Mode;
  const Tensor x = count({3, 4});
  const auto padded = [&](std::vector<int64_t> pads, Mode mode) {
    return call<Pad>({.x = x, .pads = Counts(pads), .mode = mode, .value = 9});
  };
  check(padded({-1, 1, 1, -2}, Mode::constant), {{2, 4}, {9, 9, 9, 9, 1, 2, 3, 9}});
  check(padded({2, 1, 1, 0}, Mode::reflect),
        {{4, 7},
         {6, 5, 4, 5, 6, 7, 6, 2, 1, 0, 1, 2, 3, 2, 6, 5, 4, 5, 6, 7, 6, 10, 9, 8, 9, 10, 11, 10}});
  check(padded({1, 2, 0, 1}, Mode::circular),
        {{4, 7},
         {3, 0, 1, 2, 3, 0, 1, 7, 4, 5, 6, 7, 4, 5, 11, 8, 9, 10, 11, 8, 9, 3, 0, 1, 2, 3, 0, 1}});
  check(padded({0, 1, 2, 0}, Mode::replicate),
        {{5, 5}, {0, 1, 2, 3, 3, 0, 1, 2, 3, 3, 0, 1, 2, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 11}});
  // What is cut off is cut off first: the circle closes over what is left.
  check(padded({-1, 2, 1, -1}, Mode::circular),
        {{3, 5}, {5, 6, 7, 5, 6, 1, 2, 3, 1, 2, 5, 6, 7, 5, 6}});
  CHECK(code_of([&] { padded({4, 0}, Mode::reflect); }) == "E_SHAPE");
  CHECK(code_of([&] { padded({1}, Mode::constant); }) == "E_ARG");
}

TEST_CASE("elements in another order") {
  const Tensor x = count({3, 4});
  check(call<Roll>({.x = x, .shifts = {1, -1}, .dims = {0, 1}}),
        {{3, 4}, {9, 10, 11, 8, 1, 2, 3, 0, 5, 6, 7, 4}});
  check(call<Rot90>({.x = x}), {{4, 3}, {3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8}});
  check(call<Flip>({.x = count({2, 3}), .dims = {}}), {{2, 3}, {5, 4, 3, 2, 1, 0}});
  check(call<Tril>({.x = count({3, 3}, 1), .k = -1}), {{3, 3}, {0, 0, 0, 4, 0, 0, 7, 8, 0}});
  check(call<Triu>({.x = count({2, 3}, 1), .k = 1}), {{2, 3}, {0, 2, 3, 0, 0, 6}});
  check(call<ChannelShuffle>({.x = count({1, 4, 1, 1}), .groups = 2}),
        {{1, 4, 1, 1}, {0, 2, 1, 3}});
  check(call<PixelShuffle>({.x = count({1, 4, 1, 1}), .factor = 2}), {{1, 1, 2, 2}, {0, 1, 2, 3}});
}

TEST_CASE("diagonals and blocks") {
  const Tensor x = Tensor::of(Values{0, 1, 4, 5}, {2, 2}, DType::i64);
  check(call<DiagEmbed>({.x = x, .offset = 1}),
        {{2, 3, 3}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0}});
  check(call<Diagonal>({.x = count({3, 4}), .offset = -1}), {{2}, {4, 9}});
  const Tensor row = Tensor::of(Values{1, 2}, {1, 2}, DType::i64);
  check(call<BlockDiag>({.tensors = {row, integers({3})}}), {{2, 3}, {1, 2, 0, 0, 0, 3}});
}

TEST_CASE("windows and their sum") {
  check(call<Unfold>({.x = count({7}), .dim = {0}, .size = 3, .step = 2}),
        {{3, 3}, {0, 1, 2, 2, 3, 4, 4, 5, 6}});
  const Tensor image =
      reshape(Tensor::of(Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {12}), {1, 1, 3, 4});
  const Tensor columns = call<Unfold2d>({.x = image, .kernel_size = {2}});
  check(call<Fold2d>({.x = columns, .output_size = {3, 4}, .kernel_size = {2}}),
        {{1, 1, 3, 4}, {0, 2, 4, 3, 8, 20, 24, 14, 8, 18, 20, 11}});
}

TEST_CASE("parts of a dim") {
  const auto sizes = [](const std::vector<Tensor>& parts) {
    Values n;
    for (const Tensor& t : parts) n.push_back(static_cast<double>(t.shape()[0]));
    return n;
  };
  const Tensor x = count({5});
  CHECK(sizes(call<TensorSplit>({.x = x, .sections = 3})) == Values{2, 2, 1});
  CHECK(sizes(chunk(x, 4, 0)) == Values{2, 2, 1});
  CHECK(sizes(call<Split>({.x = x, .size = {4, 0, 1}})) == Values{4, 0, 1});
  CHECK(sizes(call<TensorSplit>({.x = count({6}), .cuts = {4, 2}})) == Values{4, 0, 4});
  CHECK(sizes(call<Split>({.x = count({40}), .size = {1}})).size() == 40);
  CHECK(code_of([&] { call<Split>({.x = x, .size = {2, 2}}); }) == "E_SHAPE");
  // The script's slices include both ends and are cut off at those of the tensor.
  check(call<Slice>({.x = x, .first = {1}, .last = {3}}), {{3}, {1, 2, 3}});
  check(call<Slice>({.x = x, .first = {-2}, .last = {9}}), {{2}, {3, 4}});
  check(call<Slice>({.x = x, .step = 2}), {{3}, {0, 2, 4}});
  CHECK(code_of([&] { select(x, 0, 5); }) == "E_INDEX");
  CHECK(code_of([&] { narrow(x, 0, 3, 3); }) == "E_INDEX");
  CHECK(code_of([&] { select(x, 1, 0); }) == "E_INDEX");
}

TEST_CASE("joined tensors") {
  const Tensor ints = count({1, 2}), halves = Tensor::of(Values{0.5}, {1, 1}, DType::bf16);
  const Tensor both = cat({ints, halves}, 1);
  CHECK(both.dtype() == DType::bf16);
  check(both, {{1, 3}, {0, 1, 0.5}});
  check(cat({Tensor::empty({0}), count({2, 2})}, 1), {{2, 2}, {0, 1, 2, 3}});
  check(stack({count({2}), count({2}, 5)}, 1), {{2, 2}, {0, 5, 1, 6}});
  check(call<RepeatInterleave>({.x = count({3}, 1), .repeats = integers({2, 0, 1})}),
        {{3}, {1, 1, 3}});
  check(call<Combinations>({.x = count({3}, 1), .with_replacement = true}),
        {{6, 2}, {1, 1, 1, 2, 1, 3, 2, 2, 2, 3, 3, 3}});
  CHECK(code_of([] { cat({count({1, 2}), count({2, 3})}, 0); }) == "E_SHAPE");
  CHECK(code_of([] { cat({}, 0); }) == "E_ARG");
}

TEST_CASE("ranges include both ends") {
  const auto range = [](double first, double last, double step) {
    return call<Arange>({.first = Tensor::number(first),
                         .last = Tensor::number(last),
                         .step = Tensor::number(step)});
  };
  CHECK(count({3}, 1).dtype() == DType::i64);
  CHECK(range(0, 1, 0.25).to_vector() == Values{0, 0.25, 0.5, 0.75, 1});
  CHECK(range(0, 0.3, 0.1).numel() == 4);  // 0.3 / 0.1 is just below 3
  CHECK(range(0, 0.95, 0.1).numel() == 10);
  CHECK(range(1, 0, 1).numel() == 0);
  CHECK(range(1, 0, -0.5).to_vector() == Values{1, 0.5, 0});
  CHECK(code_of([&] { range(0, 1, 0); }) == "E_ARG");
  const Tensor big =
      call<Arange>({.first = Tensor::number(INT64_MAX - 2), .last = Tensor::number(INT64_MAX)});
  CHECK(load_integer(DType::i64, big.data_as<int64_t>() + 2) == INT64_MAX);
}

TEST_CASE("views that strides do not allow are refused, reshape copies") {
  const Tensor x = transpose(count({2, 3}));
  CHECK(code_of([&] { call<ViewShape>({.x = x, .shape = {6}}); }) == "E_SHAPE");
  check(reshape(x, {6}), {{6}, {0, 3, 1, 4, 2, 5}});
  CHECK(reshape(count({2, 3}), {3, -1}).shape() == Shape{3, 2});
  CHECK(code_of([&] { reshape(x, {4, -1}); }) == "E_SHAPE");
  CHECK(code_of([&] { reshape(x, {-1, -1}); }) == "E_SHAPE");
}

}  // namespace
}  // namespace rille
