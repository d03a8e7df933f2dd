// Writes in place through views: gradients must be those of the same function written without them,
// so finite differences are the judge, of first and second order.
#include <catch2/catch.hpp>

#include "autograd/engine.h"
#include "autograd/gradcheck.h"
#include "autograd/node.h"
#include "core/error.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/rectifier.h"
#include "ops/reduce.h"
#include "ops/scatter.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

using List = std::vector<Tensor>;

Tensor leaf(const Shape& shape, double lo, double hi) {
  const Tensor t = grid(shape, lo, hi);
  autograd::set_requires_grad(t, true);
  return t;
}
Tensor zeros(const Shape& shape) { return full(shape, 0, DType::f64); }
void mul_(const Tensor& x, const Tensor& y) { call_<Mul>({.x = x, .y = y}); }
void add_(const Tensor& x, const Tensor& y) { call_<Add>({.x = x, .y = y}); }
Tensor sum(const Tensor& x) { return call<Sum>({.x = x}); }

void backward(const Tensor& y) { autograd::backward({&y, 1}, {}); }

void check(const autograd::TensorFunction& fn, const List& inputs) {
  CHECK(autograd::gradcheck(fn, inputs).message == "");
  CHECK(autograd::gradgradcheck(fn, inputs).message == "");
}

TEST_CASE("a row written into a constant gets its gradient") {
  const Tensor w = leaf({4}, 0, 1), y = zeros({3, 4});
  copy_(select(y, 0, 1), w);
  CHECK(y.needs_grad());
  backward(sum(y * y));
  const std::vector<double> g = autograd::grad_of(w).to_vector(), v = w.to_vector();
  for (size_t i = 0; i < 4; ++i) CHECK(g[i] == Approx(2 * v[i]));
}

TEST_CASE("writes through one view are seen through others") {
  const Tensor w = leaf({4}, 0, 1), y = zeros({3, 4});
  const Tensor row = select(y, 0, 1), column = select(y, 1, 2);
  copy_(row, w);
  backward(sum(column));
  CHECK(autograd::grad_of(w).to_vector() == std::vector<double>{0, 0, 1, 0});
}

TEST_CASE("a view taken before its base took part in a gradient takes part, too") {
  const Tensor w = leaf({3, 4}, 0, 1), y = zeros({3, 4});
  const Tensor part = narrow(y, 1, 1, 2);
  CHECK_FALSE(part.needs_grad());
  copy_(y, w);
  CHECK(autograd::requires_grad(part));
  backward(sum(part));
  CHECK(autograd::grad_of(w).to_vector() ==
        std::vector<double>{0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0});
}

TEST_CASE("chains of views, written to more than once") {
  const auto fn = [](const List& in) {
    const Tensor y = in[0] * 2;
    const Tensor part = narrow(select(y, 0, 1), 0, 1, 2);
    mul_(part, in[1]);
    mul_(part, in[1]);
    add_(transpose(y), in[2]);
    mul_(narrow(transpose(y), 0, 0, 2), in[3]);
    return List{y, part};
  };
  check(fn, {leaf({3, 4}, -1, 1), leaf({2}, 0.5, 2), leaf({3}, -1, 1), leaf({2, 3}, 0.5, 2)});
}

TEST_CASE("a base written to after a view was taken") {
  const auto fn = [](const List& in) {
    const Tensor y = in[0] * 1;
    const Tensor row = select(y, 0, 0), all = reshape(y, {-1});
    const Tensor before = row * 3;
    mul_(y, in[1]);
    add_(all, in[0].rank() == 2 ? reshape(in[0], {-1}) : in[0]);
    return List{row * row, before, all};
  };
  check(fn, {leaf({2, 3}, -1, 1), leaf({3}, 0.5, 2)});
}

TEST_CASE("bases that are not row-major") {
  const auto fn = [](const List& in) {
    const Tensor y = clone(transpose(in[0]));  // keeps the layout of its argument
    REQUIRE_FALSE(y.is_contiguous());
    mul_(select(y, 0, 1), in[1]);
    call_<Relu>({.x = narrow(y, 1, 0, 2)});
    return List{y};
  };
  check(fn, {leaf({3, 4}, -1, 1), leaf({3}, 0.5, 2)});
}

TEST_CASE("a detached part of a tensor can be a base") {
  const auto fn = [](const List& in) {
    const Tensor y = autograd::detach(narrow(zeros({4, 5}), 1, 1, 3));
    copy_(select(y, 1, 1), in[0]);
    mul_(select(y, 0, 2), in[1]);
    return List{y};
  };
  check(fn, {leaf({4}, -1, 1), leaf({3}, 0.5, 2)});
}

TEST_CASE("all parts of an unbound or split tensor") {
  const auto fn = [](const List& in) {
    const Tensor y = in[0] * 1;
    double factor = 1;
    for (const Tensor& row : unbind(y, 0)) mul_(row, in[1] * ++factor);
    for (const Tensor& part : call<Split>({.x = y, .size = {2}, .dim = {1}}))
      add_(part, select(in[1], 0, 0));
    return List{y};
  };
  check(fn, {leaf({3, 3}, -1, 1), leaf({3}, 0.5, 2)});
}

TEST_CASE("positions written by ids and by masks") {
  const auto fn = [](const List& in) {
    const Tensor y = in[0] * 2;
    const Tensor twice = Tensor::of(std::vector<double>{2, -1, 2}, {3}, DType::i64);
    call_<IndexPut>({.x = select(y, 0, 1),
                     .indices = {twice},
                     .source = in[1],
                     .accumulate = true,
                     .dims = {}});
    call_<IndexPut>({.x = narrow(y, 1, 1, 3),
                     .indices = {mask({3, 3})},
                     .source = select(in[1], 0, 0),
                     .dims = {}});
    call_<Scatter>(
        {.x = select(y, 1, 0), .dim = {0}, .index = ids({1}, 3), .source = narrow(in[1], 0, 1, 1)});
    return List{y};
  };
  check(fn, {leaf({3, 4}, -1, 1), leaf({3}, 0.5, 2)});
}

TEST_CASE("what a whole view overwrites gets no gradient") {
  const Tensor x = leaf({2, 3}, -1, 1), w = leaf({6}, 0, 1);
  const Tensor y = x * 2;
  copy_(reshape(y, {-1}), w);
  backward(sum(y));
  CHECK(autograd::grad_of(w).to_vector() == std::vector<double>(6, 1));
  const Tensor dx = autograd::grad_of(x);
  CHECK((!dx || dx.to_vector() == std::vector<double>(6, 0)));
}

TEST_CASE("views of a leaf refuse to be written to, unless outside of the graph") {
  const Tensor x = leaf({2, 3}, -1, 1), row = select(x, 0, 0);
  try {
    mul_(row, row);
    FAIL("was written to");
  } catch (const Error& e) {
    CHECK(e.code() == "E_INPLACE");
  }
  const NoGrad quiet;
  call_<Zero>({.x = select(x, 0, 0)});
  CHECK(x.at(0) == 0);
}

TEST_CASE("expanded tensors refuse to be written to") {
  const Tensor x = zeros({3, 1}), wide = expand(x, {3, 2});
  try {
    add_(wide, wide);
    FAIL("was written to");
  } catch (const Error& e) {
    CHECK(e.code() == "E_INPLACE");
  }
}

TEST_CASE("a value that backward needs is guarded against writes through views") {
  const Tensor x = leaf({2, 3}, -1, 1), y = x * 2, z = y * y;
  mul_(select(y, 0, 0), Tensor::number(2.0));
  try {
    backward(sum(z));
    FAIL("backward used the changed value");
  } catch (const Error& e) {
    CHECK(e.code() == "E_INPLACE");
  }
}

TEST_CASE("as_strided of inputs that are not row-major") {
  // dx of PyTorch 2.15 for the same inputs: elements that are one in memory share what arrives.
  const Tensor x = leaf({3}, 0, 1), wide = expand(x, {2, 3});
  const Tensor y = call<AsStrided>({.x = wide, .size = {2, 2}, .strides = {1, 1}});
  backward(sum(y));
  CHECK(autograd::grad_of(x).to_vector() == std::vector<double>{1, 2, 1});

  const auto fn = [](const List& in) {
    const Tensor turned = transpose(in[0] * 1);
    return List{call<AsStrided>({.x = turned, .size = {3, 2}, .strides = {2, 3}, .offset = 1})};
  };
  check(fn, {leaf({3, 4}, -1, 1)});
}

}  // namespace
}  // namespace rille
