// The functions of ops.hpp: options by name, results by name, dims from 0.
#include <cmath>
#include <set>
#include <thread>

#include "api/thrown.h"
#include "rille/schema.hpp"

using namespace rille;
using namespace rille::test;
using List = std::vector<double>;

TEST_CASE("options have the engine's defaults and are given by name") {
  const Tensor x = Tensor::of({-1, 0.5, 2}, Dtype::f64);
  const auto exact = [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); };
  const auto by_tanh = [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  };
  for (size_t i = 0; i < 3; ++i) {
    const double v = list(x)[i];
    CHECK(list(gelu(x))[i] == Approx(exact(v)).epsilon(1e-12));
    CHECK(list(gelu(x, {.approximate = "tanh"}))[i] == Approx(by_tanh(v)).epsilon(1e-12));
  }
  const Error e = refused([&] { gelu(x, {.approximate = "exact"}); });
  CHECK(e.code == "E_ARG");
  CHECK(e.message.find("'tanh'") != std::string::npos);
}

TEST_CASE("dims count from 0") {
  const Tensor x = Tensor::of({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(list(sum(x)) == List{21});
  CHECK(list(sum(x, {.dims = 0})) == List{5, 7, 9});
  CHECK(list(sum(x, {.dims = {0, 1}})) == List{21});
  CHECK(list(sum(x, {.dims = -1, .keepdim = true})) == List{6, 15});
  CHECK(list(cat({x, x}, {.dim = 1})[0]) == List{1, 2, 3, 1, 2, 3});
  CHECK(list(stack({x[0], x[1]}, {.dim = 1})) == List{1, 4, 2, 5, 3, 6});
  CHECK(list(select(x, 1, 0)) == List{1, 4});
  CHECK(rot90(x).shape() == Shape{3, 2});
  CHECK(list(cumsum(x, 1)) == List{1, 3, 6, 4, 9, 15});
  CHECK(code_of([&] { sum(x, {.dims = 2}); }) == "E_INDEX");
}

TEST_CASE("several results come by name, lists as vectors, truths as bool") {
  const Tensor x = Tensor::of({3, 1, 2});
  const auto best = topk(x, 2);
  CHECK(list(best.values) == List{3, 2});
  const auto [values, ids] = sort(x);
  CHECK(list(values) == List{1, 2, 3});
  CHECK(list(ids) == List{1, 2, 0});
  const std::vector<Tensor> parts = split(x, 2);
  REQUIRE(parts.size() == 2);
  CHECK(list(parts[1]) == List{2});
  CHECK(equal(x, x.clone()));
  CHECK_FALSE(allclose(x, x + 1));
}

TEST_CASE("numbers stand for tensors, and may be left out") {
  const Tensor x = Tensor::of({-3, 0, 3});
  CHECK(list(where(gt(x, 0), x, 0)) == List{0, 0, 3});
  CHECK(list(clamp(x, {.min = -1})) == List{-1, 0, 3});
  CHECK(list(clamp(x, {.max = 1})) == List{-3, 0, 1});
  CHECK(list(pow(2, x)) == List{0.125, 1, 8});
  CHECK(list(maximum(x, 1)) == List{1, 1, 3});
}

TEST_CASE("a trailing underscore writes into the first argument") {
  const Tensor x = Tensor::of({-1, 2}), y = relu_(x);
  CHECK(y.is(x));
  CHECK(list(x) == List{0, 2});
  add_(x, 1, {.alpha = 10});
  CHECK(list(x) == List{10, 12});
}

TEST_CASE("shapes, paddings and counts take one number or several") {
  const Tensor x = ones({1, 1, 6, 6}), w = ones({1, 1, 3, 3});
  CHECK(conv2d(x, w).shape() == Shape{1, 1, 4, 4});
  CHECK(conv2d(x, w, {.padding = 0}).shape() == Shape{1, 1, 4, 4});
  CHECK(conv2d(x, w, {.stride = {2, 1}, .padding = 1}).shape() == Shape{1, 1, 3, 6});
  CHECK(conv2d(x, w, {.padding = "same"}).shape() == x.shape());
  CHECK(code_of([&] { conv2d(x, w, {.padding = "some"}); }) == "E_ARG");
  CHECK(split(ones({5}), {2, 3}).size() == 2);
  CHECK(max_pool2d(x, 2).at(0).shape() == Shape{1, 1, 3, 3});
}

TEST_CASE("what is made from nothing may be a leaf, anywhere") {
  CHECK(zeros({2, 2}, {.requires_grad = true}).requires_grad());
  CHECK_FALSE(zeros({2, 2}).requires_grad());
  CHECK(randn({2}, {.dtype = Dtype::f64, .device = "cpu:1"}).device() == Device("cpu:1"));
  CHECK(ones({}).dim() == 0);
  CHECK(list(arange(0, 3)) == List{0, 1, 2, 3});
  CHECK(ones_like(zeros({2}, {.dtype = Dtype::i32})).dtype() == Dtype::i32);
}

TEST_CASE("random numbers follow the seed, or a generator of one's own") {
  seed(7);
  const List first = list(randn({4})), second = list(randn({4}));
  seed(7);
  CHECK(list(randn({4})) == first);
  CHECK(first != second);
  Generator mine{.seed = 7};
  CHECK(list(randn({4}, {.generator = &mine})) == first);
  CHECK(list(randn({4}, {.generator = &mine})) == second);
  CHECK(mine.next == 2);
}

TEST_CASE("random numbers and modes belong to the thread") {
  const NoGrad quiet;
  seed(7);
  const List first = list(randn({4}));
  List other;
  bool recorded = false;
  std::thread([&] {
    recorded = is_grad_enabled();
    seed(7);
    other = list(randn({4}));
    set_default_dtype(Dtype::f64);
  }).join();
  CHECK(recorded);
  CHECK(other == first);
  CHECK(default_dtype() == Dtype::f32);
}

TEST_CASE("the schemas name every op and layer once") {
  std::set<std::string_view> names;
  for (const OpSchema& op : op_schemas()) {
    CHECK(names.insert(op.name).second);
    CHECK_FALSE(op.doc.empty());
  }
  CHECK(names.count("conv2d") == 1);
  names.clear();
  for (const LayerSchema& l : layer_schemas()) CHECK(names.insert(l.name).second);
  CHECK(names.count("LSTM") == 1);
}
