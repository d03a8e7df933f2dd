#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/budget.h"
#include "core/tensor.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/open.h"

using rille::lua::Interpreter;
using rille::lua::Policy;

namespace {

struct Opened {
  Interpreter in;
  explicit Opened(const Policy& policy = {}) {
    in.policy = policy;
    open_state(in, rille::bind::bind_all);
  }
  ~Opened() { close_state(in); }
  std::string run(const std::string& text) { return run_text(in, text, "=test", {}).error; }
};

Policy with_tensors(int64_t bytes) {
  Policy p;
  p.tensor_memory_limit = bytes;
  return p;
}

}  // namespace

TEST_CASE("an interpreter without limits has no budget", "[limits]") {
  Opened plain;
  CHECK(plain.in.budget == nullptr);
  Policy sandbox;
  sandbox.sandbox = true;
  Opened inside(sandbox);
  CHECK(inside.in.budget == nullptr);
}

TEST_CASE("bytes of tensors are counted exactly, and given back", "[limits]") {
  Opened o(with_tensors(1 << 20));
  const auto budget = o.in.budget;
  REQUIRE(o.run("rille = require 'rille' collectgarbage() collectgarbage()") == "");
  const int64_t before = budget->tensors();
  REQUIRE(
      o.run(
          "x = rille.zeros(1000) y = rille.zeros(10, { dtype = 'f64' }) v = x:reshape(10, 100)") ==
      "");
  CHECK(budget->tensors() - before == 4000 + 80 + 3 * 512);  // two values and three boxes
  REQUIRE(o.run("x, y = nil collectgarbage() collectgarbage()") == "");
  CHECK(budget->tensors() - before == 4000 + 512);  // the view holds it
  REQUIRE(o.run("v = nil collectgarbage() collectgarbage()") == "");
  CHECK(budget->tensors() == before);
}

TEST_CASE("what outlives its interpreter is counted to its end", "[limits]") {
  std::shared_ptr<rille::Budget> budget;
  rille::Tensor kept;
  {
    Opened o(with_tensors(1 << 20));
    budget = o.in.budget;
    REQUIRE(o.run("x = require 'rille'.zeros(1000)") == "");
    o.in.owned.each_tensor([&](const rille::TensorImpl& t) {
      if (t.storage->bytes == 4000)
        kept = rille::Tensor::empty({1}), kept.impl()->storage = t.storage;
    });
  }
  CHECK(budget->tensors() == 4000);
  kept = {};
  CHECK(budget->tensors() == 0);
}

TEST_CASE("limits are an interpreter's own", "[limits]") {
  Opened small(with_tensors(1 << 20)), large(with_tensors(1 << 30)), free;
  const std::string chunk = "require 'rille'.zeros(1 << 20)";
  CHECK(small.run(chunk).find("limit 1.00 MiB") != std::string::npos);
  CHECK(large.run(chunk) == "");
  CHECK(free.run(chunk) == "");
}

TEST_CASE("instructions are counted to the one", "[limits]") {
  // A numeric for costs one instruction a round (OP_FORLOOP): so many rounds more cost as many
  // more.
  const auto enough = [](int rounds, int64_t limit) {
    Policy p;
    p.instruction_limit = limit;
    Opened o(p);
    return o.run("for i = 1, " + std::to_string(rounds) + " do end").empty();
  };
  int64_t least = 10000;
  while (!enough(10000, least)) ++least;
  CHECK(least < 10040);  // the chunk's 24 bytes were compiled, too
  CHECK(enough(20000, least + 10000));
  CHECK(!enough(20000, least + 9999));
  CHECK(enough(54321, least + 44321));
  CHECK(!enough(54321, least + 44320));
}

TEST_CASE("a run may end while the standard library is loaded", "[limits]") {
  for (const int64_t limit : {600, 1000, 1700, 3000, 5000, 9000}) {
    Policy p;
    p.sandbox = true;
    p.instruction_limit = limit;
    Opened o(p);
    std::string text = "not yet";
    for (int i = 0; i < 300 && !text.empty(); ++i) {
      text = o.run(
          "local r = require 'rille' local m = r.nn.Linear(2, 2) "
          "r.nn.functional = nil");
      if (text.find("used up") == std::string::npos) break;
    }
    INFO(limit);
    CHECK((text.find("used up") != std::string::npos || text.find("'functional'") != text.npos));
  }
}

TEST_CASE("a stop that comes early ends the next run, and only that", "[limits]") {
  Policy p;
  p.interruptible = true;
  Opened o(p);
  request_stop(o.in);
  CHECK(o.run("while true do end").find("stopped by the host") != std::string::npos);
  CHECK(o.run("for i = 1, 100000 do end") == "");
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    request_stop(o.in);
  });
  const std::string text = o.run("while true do pcall(error) end");
  other.join();
  CHECK(text.find("stopped by the host") != std::string::npos);
}

TEST_CASE("a loop of the pool ends soon after its run has to", "[limits]") {
  Policy p;
  p.time_limit = 0.1;
  Opened o(p);
  const auto began = std::chrono::steady_clock::now();
  const std::string text = o.run(
      "local r = require 'rille' local a = r.ones(3000, 3000) "
      "for i = 1, 1000 do a:matmul(a) end");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  CHECK(text.find("used up its 0.1 seconds") != std::string::npos);
  CHECK(took.count() < 5);
}

TEST_CASE("the same product under limits as without", "[limits]") {
  const std::string chunk =
      "local r = require 'rille' r.use_deterministic() r.seed(3) local a = r.randn(700, 900) "
      "local s = a:matmul(a:t()):sum():item() error(('%a'):format(s), 0)";
  Policy p;
  p.time_limit = 600;
  Opened limited(p), free;
  const std::string text = free.run(chunk);
  CHECK(text.starts_with("0x"));
  CHECK(limited.run(chunk) == text);
}

TEST_CASE("an interpreter inside of another has its own budget", "[limits]") {
  static Interpreter* inner = nullptr;
  static bool failed = true;
  Opened outer(with_tensors(1 << 20)), other;
  inner = &other.in;
  const auto nest = [](rille::lua::Call&) {
    failed = !run_text(*inner, "require 'rille'.zeros(1 << 20)", "=inner", {}).error.empty();
  };
  static const rille::lua::NativeEntry natives[] = {{"nest", nest}};
  rille::lua::define_functions(outer.in, "rille.native", natives);
  CHECK(outer.run("require 'rille.native'.nest()") == "");
  CHECK(!failed);
}
