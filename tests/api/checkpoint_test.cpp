// Checkpoint blocks from C++ and C, without a Lua state: the counts of runs are those that PyTorch
// 2.15 has, the gradients those of a plain call, to the bit.
#include "api/c_owned.h"
#include "rille/rille.hpp"

namespace {

using rille::CheckpointOptions, rille::Tensor;
using List = std::vector<Tensor>;

std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }

Tensor leaf() {
  rille::seed(4);
  return rille::randn({3, 4}).requires_grad_();
}

}  // namespace

TEST_CASE("a block runs again for each backward", "[checkpoint]") {
  int calls = 0;
  const Tensor x = leaf();
  const auto f = [&calls](const Tensor& t) {
    ++calls;
    return rille::exp(rille::sin(t));
  };
  const Tensor y = rille::sum(rille::checkpoint(f, x));
  CHECK(calls == 1);
  y.backward({.retain_graph = true});
  CHECK(calls == 2);
  y.backward();
  CHECK(calls == 3);
  const Tensor z = leaf();
  rille::sum(f(z)).backward();
  const Tensor twice = z.grad() * 2.0;
  CHECK(values(x.grad()) == values(twice));
}

TEST_CASE("an outer block runs again before an inner one", "[checkpoint]") {
  int outer = 0, inner = 0;
  const Tensor x = leaf();
  const Tensor y = rille::checkpoint(
      [&](const Tensor& a) {
        ++outer;
        const Tensor b = rille::checkpoint(
            [&](const Tensor& c) {
              ++inner;
              return rille::exp(rille::sin(c));
            },
            rille::cos(a));
        return rille::exp(rille::sin(b));
      },
      x);
  rille::sum(y).backward();
  CHECK(inner == 3);
  CHECK(outer == 2);
}

TEST_CASE("gradients of blocks are those of plain calls", "[checkpoint]") {
  const auto run = [](auto&& wrap) {
    rille::seed(6);
    const Tensor w = rille::randn({4, 4}).requires_grad_();
    const Tensor x = leaf();
    const auto f = [w](const List& in) -> List {
      const Tensor h = rille::dropout(rille::matmul(in[0], w), {.p = 0.5});
      return {rille::gelu(h), rille::tanh(h)};
    };
    rille::seed(8);
    const List out = wrap(f, List{x});
    rille::sum(out[0] * out[1]).backward();
    const Tensor next = rille::rand({2});
    return std::vector{values(x.grad()), values(w.grad()), values(next)};
  };
  const auto plain = run([](const rille::CheckpointFunction& f, const List& in) { return f(in); });
  for (const char* policy : {"full", "cheap", "alternate_mm"})
    CHECK(run([&](const rille::CheckpointFunction& f, const List& in) {
            return rille::checkpoint(f, in, {.policy = policy});
          }) == plain);
  CHECK(run([](const rille::CheckpointFunction& f, const List& in) {
          return rille::checkpoint(f, in, {.save = {"gelu", "dropout"}});
        }) == plain);
  CHECK(run([](const rille::CheckpointFunction& f, const List& in) {
          return rille::checkpoint(f, in, {.determinism = "values", .early_stop = false});
        }) == plain);
  CHECK(run([](const rille::CheckpointFunction& f, const List& in) {
          return rille::checkpoint(f, in, {.reentrant = true});
        }) == plain);
}

TEST_CASE("errors of blocks", "[checkpoint]") {
  const Tensor x = leaf();
  bool again = false;
  const auto code_of = [&](const auto& f, const CheckpointOptions& options) {
    again = false;
    try {
      const Tensor y = rille::sum(rille::checkpoint(f, x, options));
      again = true;
      y.backward();
    } catch (const rille::Error& e) {
      return e.code;
    }
    return std::string("none");
  };
  const auto other = [&](const Tensor& a) {
    return rille::exp(again ? rille::cos(a) : rille::sin(a));
  };
  CHECK(code_of(other, {}) == "E_CKPT_META");
  const auto fewer = [&](const Tensor& a) {
    return again ? rille::exp(a) : rille::sin(rille::exp(a));
  };
  CHECK(code_of(fewer, {}) == "E_CKPT_COUNT");
  const auto values_differ = [&](const Tensor& a) { return rille::exp(a * (again ? 2.0 : 1.0)); };
  CHECK(code_of(values_differ, {.determinism = "values"}) == "E_CKPT_VALUE");
  CHECK(code_of(values_differ, {.determinism = "some"}) == "E_ARG");
  CHECK(code_of(values_differ, {.policy = "best"}) == "E_ARG");
  CHECK(code_of(values_differ, {.save = {"expp"}}) == "E_ARG");
  CHECK(code_of(values_differ, {.policy = "cheap", .reentrant = true}) == "E_OPTION");
  struct Mine {};
  const auto throws = [&](const Tensor& a) {
    if (again) throw Mine();
    return rille::exp(a);
  };
  CHECK_THROWS_AS(code_of(throws, {}), Mine);
  CHECK_THROWS(rille::checkpoint(std::function<Tensor(const Tensor&)>(), x));
}

TEST_CASE("a host goes backward through a script's block", "[checkpoint]") {
  Tensor x = leaf(), loss, late;
  {
    rille::Interpreter lua{{}};
    lua.set("x", x);
    lua.run_string(R"(
      local rille = require "rille"
      local function block(h)
        local y = h:sin():exp()
        local z = y + 1
        return z
      end
      loss = rille.checkpoint(block, x):sum()
      late = rille.checkpoint(block, x):sum()
    )")
        .value();
    loss = lua.get<Tensor>("loss");
    late = lua.get<Tensor>("late");
    loss.backward();
  }
  const Tensor z = leaf();
  rille::sum(rille::exp(rille::sin(z))).backward();
  CHECK(values(x.grad()) == values(z.grad()));
  try {
    late.backward();
    FAIL("the script's function is gone");
  } catch (const rille::Error& e) {
    CHECK(e.code == "E_CLOSED");
  }
}

namespace {

struct Counted {
  int calls = 0, destroyed = 0;
};

rille_status sine_of_exp(void* userdata, const rille_value* const* arguments, size_t,
                         rille_results* results, rille_error** error) {
  ++static_cast<Counted*>(userdata)->calls;
  rille_tensor* made = nullptr;
  size_t count = 0;
  rille_status status = rille_op("exp", arguments, 1, nullptr, &made, 1, &count, error);
  if (status != RILLE_OK) return status;
  const auto exp = rille_c::owned(made);
  const rille_c::Owned<rille_value> value(rille_value_tensor(exp.get()));
  const rille_value* given[] = {value.get()};
  status = rille_op("sin", given, 1, nullptr, &made, 1, &count, error);
  if (status != RILLE_OK) return status;
  const auto sin = rille_c::owned(made);
  const rille_c::Owned<rille_value> result(rille_value_tensor(sin.get()));
  return rille_results_add(results, result.get(), error);
}

}  // namespace

TEST_CASE("blocks in C", "[checkpoint][c]") {
  using namespace rille_c;
  ErrorPlace e;
  Counted counted;
  {
    const auto x = tensor_of({0.5, 1.5}, {2});
    REQUIRE(rille_tensor_set_requires_grad(x.get(), 1, nullptr) == RILLE_OK);
    const auto inputs = list_of({x.get()});
    rille_tensors* made = nullptr;
    REQUIRE(rille_checkpoint(
                sine_of_exp, &counted, [](void* p) { ++static_cast<Counted*>(p)->destroyed; },
                inputs.get(), nullptr, &made, e) == RILLE_OK);
    const Owned<rille_tensors> out(made);
    CHECK(counted.calls == 1);
    rille_tensor* first = nullptr;
    REQUIRE(rille_tensors_at(out.get(), 0, &first, e) == RILLE_OK);
    const auto y = op("sum", {owned(first).get()});
    REQUIRE(rille_tensor_backward(y.get(), e) == RILLE_OK);
    CHECK(counted.calls == 2);
    rille_tensor* grad = nullptr;
    REQUIRE(rille_tensor_grad(x.get(), &grad, e) == RILLE_OK);
    const std::vector<double> got = values_of(owned(grad).get());
    CHECK(got[0] == Approx(std::cos(std::exp(0.5)) * std::exp(0.5)));
    CHECK(got[1] == Approx(std::cos(std::exp(1.5)) * std::exp(1.5)));
    CHECK(rille_checkpoint(nullptr, nullptr, nullptr, inputs.get(), nullptr, &made, e) != RILLE_OK);
  }
  CHECK(counted.destroyed == 1);
}
