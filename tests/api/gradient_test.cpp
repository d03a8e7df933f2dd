// Gradients from C++, against finite differences and by hand.
#include <cmath>

#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

namespace {

Tensor some(const Shape& shape) {
  const Tensor t = empty(shape, {.dtype = Dtype::f64});
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<double>()[i] = 0.3 + 0.7 * std::sin(1.3 * static_cast<double>(i));
  return t;
}

void check_slope(const std::function<Tensor(const Tensor&)>& f, const Shape& shape) {
  const Tensor x = some(shape).requires_grad_();
  f(x).backward();
  const auto got = list(x.grad()), wanted = slope(f, x);
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).epsilon(1e-6));
}

}  // namespace

TEST_CASE("gradients are the slopes of finite differences") {
  const Tensor w = some({3, 4}), rows = some({2, 3});
  check_slope([&](const Tensor& x) { return gelu(x.matmul(w)).sum(); }, {2, 3});
  check_slope([](const Tensor& x) { return (softmax(x) * x).sum(); }, {2, 5});
  check_slope([](const Tensor& x) { return (x / (x * x + 1) - x).mean(); }, {6});
  check_slope(
      [](const Tensor& x) {
        return x.index({Slice{0, {}, 2}, 1}).sum() * x[0][0];
      },
      {4, 2});
  check_slope([&](const Tensor& x) { return cat({x, rows * x}).transpose()[1].sum(); }, {2, 3});
  check_slope([](const Tensor& x) { return layer_norm(x, {.eps = 1e-3}).slice(1, 0, 2).sum(); },
              {2, 5});
}

TEST_CASE("gradients add up until they are taken away") {
  const Tensor x = Tensor::of({1, 2}).requires_grad_();
  (x * 3).sum().backward();
  (x * 4).sum().backward();
  CHECK(list(x.grad()) == std::vector<double>{7, 7});
  x.set_grad({});
  CHECK_FALSE(x.grad());
  CHECK(x.is_leaf());
  CHECK_FALSE((x * 2).is_leaf());
}

TEST_CASE("backward can be given a gradient, and inputs") {
  const Tensor x = Tensor::of({1, 2}).requires_grad_(), y = Tensor::of({3, 4}).requires_grad_();
  (x * y).backward({.gradient = Tensor::of({1, 10}), .inputs = {x}});
  CHECK(list(x.grad()) == std::vector<double>{3, 40});
  CHECK_FALSE(y.grad());
  CHECK(code_of([&] { (x * y).backward(); }) == "E_SHAPE");
}

TEST_CASE("a graph is freed unless it is retained") {
  const Tensor x = Tensor::of({2}).requires_grad_(), y = (x * x).sum();
  y.backward({.retain_graph = true});
  y.backward();
  CHECK(list(x.grad()) == std::vector<double>{8});
  CHECK(code_of([&] { y.backward(); }) == "E_GRAPH_FREED");
}

TEST_CASE("grad gives gradients of gradients") {
  const Tensor x = Tensor::of({2, 3}, Dtype::f64).requires_grad_();
  const Tensor y = (x * x * x).sum();
  const Tensor dx = grad({y}, {x}, {.create_graph = true})[0];
  CHECK(list(dx) == std::vector<double>{12, 27});
  CHECK(list(grad({dx.sum()}, {x})[0]) == std::vector<double>{12, 18});
  CHECK_FALSE(x.grad());
  const Tensor apart = Tensor::of({1}).requires_grad_();
  CHECK_FALSE(grad({(x * 2).sum()}, {apart}, {.allow_unused = true})[0]);
}

TEST_CASE("modes hold for their scope, on errors too") {
  const Tensor x = Tensor::of({1}).requires_grad_();
  {
    const NoGrad quiet;
    CHECK_FALSE(is_grad_enabled());
    CHECK_FALSE((x * 2).requires_grad());
    const EnableGrad again;
    CHECK((x * 2).requires_grad());
  }
  try {
    const NoGrad quiet;
    (void)x.reshape({5});
  } catch (const Error&) {
  }
  CHECK(is_grad_enabled());
}

TEST_CASE("hooks see gradients and may replace them") {
  const Tensor x = Tensor::of({1, 2}).requires_grad_(), y = x * 2;
  std::vector<double> seen;
  const uint64_t id = y.register_hook([&](const Tensor& dy) {
    seen = list(dy);
    return dy * 10;
  });
  y.sum().backward({.retain_graph = true});
  CHECK(seen == std::vector<double>{1, 1});
  CHECK(list(x.grad()) == std::vector<double>{20, 20});
  y.remove_hook(id);
  x.set_grad({});
  y.retain_grad();
  y.sum().backward();
  CHECK(list(x.grad()) == std::vector<double>{2, 2});
  CHECK(list(y.grad()) == std::vector<double>{1, 1});
}

TEST_CASE("a hook gives a gradient like the one it got, or fails") {
  const Tensor v = ones({3}).requires_grad_();
  Tensor instead;
  const auto hook = [&](const Tensor&) { return instead; };
  const auto text = [&](const Tensor& gradient) {
    instead = gradient;
    const Error e = refused([&] { (v * 2).sum().backward(); });
    CHECK(e.code == "E_SHAPE");
    CHECK(e.op == "register_hook");
    return e.message;
  };
  const std::string must = "a hook must return a gradient like the one it got, f32[3], not ";
  const uint64_t id = v.register_hook(hook);
  CHECK(text(ones({7})) == must + "f32[7]");
  CHECK(text(ones({3}, {.dtype = Dtype::f64})) == must + "f64[3]");
  CHECK(text(ones({3}, {.dtype = Dtype::i8})) == must + "i8[3]");
  CHECK(text(ones({3}, {.dtype = Dtype::boolean})) == must + "bool[3]");
  instead = ones({3}, {.device = Device("meta")});
  CHECK(code_of([&] { (v * 2).sum().backward(); }) == "E_DEVICE_MISMATCH");
  CHECK_FALSE(v.grad());
  v.remove_hook(id);
  const Tensor y = v * 2;  // no leaf: the gradient goes on to ops
  y.register_hook(hook);
  instead = ones({7});
  CHECK(code_of([&] { y.sum().backward(); }) == "E_SHAPE");
}

TEST_CASE("the host's own exceptions pass through backward") {
  struct Mine {};
  const Tensor x = Tensor::of({1}).requires_grad_(), y = x * 2;
  y.register_hook([](const Tensor&) -> Tensor { throw Mine(); });
  CHECK_THROWS_AS(y.sum().backward(), Mine);
  const Tensor z = x * 3;
  z.register_hook([](const Tensor& dy) { return dy.reshape({7}); });
  CHECK(code_of([&] { z.sum().backward(); }) == "E_SHAPE");
}

TEST_CASE("writing to what a gradient needs is an error") {
  const Tensor x = Tensor::of({1, 2}).requires_grad_(), y = x * 2, z = (y * y).sum();
  y += 1;
  CHECK(code_of([&] { z.backward(); }) == "E_INPLACE");
  CHECK(code_of([&] { x += 1; }) == "E_INPLACE");
}
