#include "ops/reduce.h"

#include "core/error.h"
#include "ops/extreme.h"
#include "unit/ops/values.h"

using namespace rille;
using namespace rille::test;

namespace {

const Tensor kWithNan = f64({3, kNan, 1, -2, kNan, kNan, kNan, kNan, 0, -0.0, 4, 4}, {3, 4});

}  // namespace

TEST_CASE("sums and means that leave out nan", "[reduce]") {
  check_values(call<NanSum>({.x = kWithNan, .dims = {1}}), {2, 0, 8});
  check_values(call<NanMean>({.x = kWithNan, .dims = {1}}), {0.66666666666666663, kNan, 2});
}

TEST_CASE("variance and its corrections", "[reduce]") {
  const Tensor v = f64({1, 2, 4, 8, 9});
  check_values(call<Var>({.x = v}), {12.7});
  check_values(call<Std>({.x = v}), {3.56370593624109233});
  check_values(call<Var>({.x = v, .correction = 0}), {10.16});
  check_values(call<Var>({.x = v, .unbiased = false}), {10.16});
  check_values(call<Var>({.x = v, .correction = 3}), {25.4});
  check_values(call<Var>({.x = f64({1})}), {kNan});
}

TEST_CASE("norms of every order", "[reduce]") {
  const Tensor v = f64({-4, -3, -1, 3, 4});
  const std::vector<std::pair<double, double>> expected = {{2, 7.14142842854285},
                                                           {1, 15},
                                                           {3, 5.677411370845432},
                                                           {0.5, 71.64101615137753},
                                                           {0, 5},
                                                           {kInf, 4},
                                                           {-kInf, 1},
                                                           {-2, 0.8615497903412856}};
  for (const auto& [p, want] : expected) {
    INFO("p = " << p);
    check_values(call<Norm>({.x = v, .p = p}), {want});
  }
}

TEST_CASE("squares of floats that are large or tiny don't leave the range", "[reduce]") {
  const Tensor x = Tensor::of(std::vector<double>{3e25, 4e25}, {2});
  CHECK(call<Norm>({.x = x}).item() == Approx(5e25));
  CHECK(call<Norm>({.x = Tensor::of(std::vector<double>{3e-30, 4e-30}, {2})}).item() ==
        Approx(5e-30));
}

TEST_CASE("gradients of norms at the origin are zero", "[reduce]") {
  for (const double p : {1.0, 2.0, 3.0}) {
    INFO("p = " << p);
    check_values(
        gradient_of([&](const Tensor& x) { return call<Norm>({.x = x, .p = p}); }, f64({0, 0, 0})),
        {0, 0, 0});
  }
  check_values(gradient_of([](const Tensor& x) { return call<Std>({.x = x}); }, f64({0, 0, 0})),
               {0, 0, 0});
}

TEST_CASE("logsumexp with infinities", "[reduce]") {
  const Tensor x = f64({kInf, 1, 2, -kInf, -kInf, -kInf, kInf, kInf, 3, 1, -kInf, 0}, {4, 3});
  check_values(call<LogSumExp>({.x = x, .dims = {1}}), {kInf, -kInf, kInf, 1.31326168751822281});
  check_values(call<LogSumExp>({.x = x, .dims = {0}}), {kInf, kInf, 3.34901221676818617});
}

TEST_CASE("the gradient of a product with zeros", "[reduce]") {
  const Tensor x = f64({0, 2, 3, 0, 0, 4}, {2, 3});
  check_values(gradient_of([](const Tensor& t) { return call<Prod>({.x = t, .dim = Axis{1}}); }, x),
               {6, 0, 0, 0, 0, 0});
}

TEST_CASE("integers and truth values", "[reduce]") {
  const Tensor u = Tensor::of(std::vector<double>{200, 100, 0}, {3}, DType::u8);
  const Tensor sum = call<Sum>({.x = u});
  CHECK(sum.dtype() == DType::i64);
  CHECK(sum.item() == 300);
  CHECK(call<Prod>({.x = u}).dtype() == DType::i64);
  CHECK(call<CountNonzero>({.x = u}).item() == 2);
  CHECK(call<All>({.x = u}).item() == 0);
  CHECK(call<Any>({.x = u}).item() == 1);
  CHECK(call<Any>({.x = f64({0, kNan})}).item() == 1);
  // Sums of integers are exact beyond the 53 bits of a double.
  const Tensor big = Tensor::empty({2}, DType::i64);
  big.data_as<int64_t>()[0] = (int64_t{1} << 60) + 1;
  big.data_as<int64_t>()[1] = 1;
  CHECK(call<Sum>({.x = big}).item_int() == (int64_t{1} << 60) + 2);
}

TEST_CASE("reductions of nothing", "[reduce]") {
  const Tensor none = f64({}, {0, 3});
  check_values(call<Sum>({.x = none, .dims = {0}}), {0, 0, 0});
  check_values(call<Prod>({.x = none, .dim = Axis{0}}), {1, 1, 1});
  check_values(call<Mean>({.x = none}), {kNan});
  check_values(call<LogSumExp>({.x = none, .dims = {0}}), {-kInf, -kInf, -kInf});
  CHECK(call<Sum>({.x = none, .dims = {1}}).shape() == Shape{0});
}

TEST_CASE("an empty list of dims is all of them", "[reduce]") {
  const Tensor x = f64({1, 2, 3, 6}, {2, 2});
  check_values(call<Sum>({.x = x, .dims = Axes(Dims())}), {12});
  check_values(call<Amax>({.x = x, .dims = Axes(Dims())}), {6});
  CHECK(call<Mean>({.x = x, .dims = Axes(Dims()), .keepdim = true}).shape() == Shape{1, 1});
}

TEST_CASE("what reductions refuse", "[reduce]") {
  const auto code = [](auto&& run) {
    try {
      run();
    } catch (const Error& e) {
      return e.code();
    }
    return std::string("none");
  };
  const Tensor x = f64({1, 2, 3, 4}, {2, 2});
  CHECK(code([&] { call<Sum>({.x = x, .dims = {0, -2}}); }) == "E_ARG");
  CHECK(code([&] { call<Sum>({.x = x, .dims = {2}}); }) == "E_INDEX");
  CHECK(code([&] { call<Mean>({.x = i64({1, 2})}); }) == "E_DTYPE");
  CHECK(code([&] { call<Norm>({.x = f64({}, {0}), .p = kInf}); }) == "E_SHAPE");
}
