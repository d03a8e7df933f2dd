// Who outlives whom: tensors and functions their interpreter, a run its interpreter's handle.
#include <optional>
#include <stdexcept>
#include <thread>

#include "api/hosts.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("tensors outlive their interpreter, with their graph", "[lifetimes]") {
  Tensor w, loss;
  {
    Interpreter lua;
    must_run(lua, R"(
      local rille = require "rille"
      w = rille.ones(3, { requires_grad = true })
      loss = (w * rille.tensor { 1, 2, 3 }):sum()
    )");
    w = lua.get<Tensor>("w");
    loss = lua.get<Tensor>("loss");
  }
  CHECK(loss.item<double>() == 6);
  loss.backward();
  CHECK(w.grad().to_vector<double>() == std::vector<double>{1, 2, 3});
}

TEST_CASE("hooks and backwards in Lua work for the host, and end with the interpreter",
          "[lifetimes]") {
  Tensor w, hooked, own;
  {
    Interpreter lua;
    must_run(lua, R"(
      local rille = require "rille"
      w = rille.ones(2, { requires_grad = true })
      hooked = (w * 3)
      hooked:register_hook(function(g) return g * 10 end)
      hooked = hooked:sum()
      local twice = rille.Function {
        forward = function(ctx, x) return x * 2 end,
        backward = function(_, g) return g * 2 end,
      }
      own = twice(w):sum()
      failing = w * 1
      failing:register_hook(function() error "in the hook" end)
      failing = failing:sum()
    )");
    w = lua.get<Tensor>("w");
    hooked = lua.get<Tensor>("hooked");
    own = lua.get<Tensor>("own");
    hooked.backward({.retain_graph = true});
    CHECK(w.grad().to_vector<double>() == std::vector<double>{30, 30});
    const Tensor failing = lua.get<Tensor>("failing");
    const Error e = refused([&] { failing.backward(); });
    CHECK(e.code == "E_LUA");
    CHECK(e.message.find("in the hook") != std::string::npos);
  }
  CHECK(refused([&] { hooked.backward(); }).code == "E_CLOSED");
  CHECK(refused([&] { own.backward(); }).code == "E_CLOSED");
  CHECK(own.item<double>() == 4);
}

TEST_CASE("functions of a closed interpreter are errors, also when let go late", "[lifetimes]") {
  std::function<int(int)> f;
  Value table;
  {
    Interpreter lua;
    must_run(lua, "function f(x) return x + 1 end t = { f = f, g = { f } }");
    f = lua.function<int(int)>("f");
    table = lua.get("t");
    CHECK(f(1) == 2);
  }
  CHECK(refused([&] { f(1); }).code == "E_CLOSED");
  CHECK(refused([&] { table["f"].as<Function>()(1); }).code == "E_CLOSED");
  Interpreter other;
  CHECK(refused([&] { other.set("t", table); }).code == "E_ARG");
}

TEST_CASE("functions do not cross between interpreters", "[lifetimes]") {
  Interpreter a, b;
  must_run(a, "function f() return 1 end");
  const Value f = a.get("f");
  CHECK(refused([&] { b.set("f", f); }).code == "E_ARG");
  b.bind("f", [f = f.as<std::function<int()>>()] { return f(); });
  CHECK(b.call("f").value().as<int>() == 1);
  const Function host = make_function([](int n) { return n + 1; });
  a.set("host", host);
  b.set("host", host);
  CHECK(a.call("host", 1).value().as<int>() == 2);
  CHECK(b.call("host", 2).value().as<int>() == 3);
}

TEST_CASE("what was bound is destroyed when nothing can call it", "[lifetimes]") {
  Counted::alive = 0;
  {
    Interpreter lua;
    lua.bind("f", [held = Counted()] { return held.alive; });
    CHECK(Counted::alive == 1);
    must_run(lua, "f = nil collectgarbage() collectgarbage()");
    CHECK(Counted::alive == 0);
    lua.set("t.inner", [held = Counted()] {});
    must_run(lua, "kept = t.inner t = nil collectgarbage()");
    CHECK(Counted::alive == 1);
    // A function that the running script has thrown away still ends its call.
    lua.bind("self", [&lua, held = Counted()] {
      lua.set("self", nullptr);
      must_run(lua, "collectgarbage() collectgarbage()");
      return held.alive;
    });
    CHECK(lua.call("self").value().as<int>() == 2);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("close ends it at once, but not from inside", "[lifetimes]") {
  Interpreter lua;
  std::string code;
  lua.bind("close", [&] { code = refused([&] { lua.close(); }).code; });
  must_run(lua, "close() x = 1");
  CHECK(code == "E_BUSY");
  CHECK(lua.get<int>("x") == 1);
  lua.close();
  lua.close();
  CHECK(lua.run_string("x = 2").error().code == "E_CLOSED");
  CHECK(lua.call("print").error().code == "E_CLOSED");
  CHECK(refused([&] { lua.get("x"); }).code == "E_CLOSED");
  lua.interrupt();
  Interpreter moved = std::move(lua);
  CHECK(lua.run_string("x = 2").error().code == "E_CLOSED");  // NOLINT: what is left of it
  lua = Interpreter();
  must_run(lua, "x = 3");
}

TEST_CASE("an interpreter let go of by its own callback closes after the run", "[lifetimes]") {
  Counted::alive = 0;
  auto lua = std::make_optional<Interpreter>(InterpreterOptions{.interruptible = false});
  lua->bind("let_go", [&, held = Counted()] { lua.reset(); });
  lua->bind("witness", [held = Counted()] { return held.alive; });
  const Result<void> result = lua->run_string("let_go() assert(witness() == 2)");
  CHECK(result);
  CHECK(Counted::alive == 0);
}

TEST_CASE("interpreters close in any order", "[lifetimes]") {
  for (const bool first : {true, false}) {
    auto a = std::make_optional<Interpreter>(), b = std::make_optional<Interpreter>();
    must_run(*a, "x = require('rille').ones(4, { requires_grad = true })");
    b->set("x", a->get<Tensor>("x"));
    must_run(*b, "y = (x * 2):sum()");
    (first ? a : b).reset();
    if (first) {
      must_run(*b, "y:backward() assert(x.grad[1]:item() == 2)");
    } else {
      must_run(*a, "assert(x:sum():item() == 4)");
    }
  }
}
