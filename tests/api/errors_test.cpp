// What goes wrong in a script, in the host, or between them.
#include <stdexcept>

#include "api/hosts.h"

using namespace rille;
using namespace rille::test;

namespace {

constexpr const char* kShapes = R"(
local rille = require "rille"
local h, w = rille.ones(2, 3), rille.ones(4, 5)
function try() return h:matmul(w) end
function seen()
  local ok, err = pcall(try)
  return { kind = err.kind, code = err.code, op = err.op, message = err.message,
           where = err.where, facts = err.facts }
end
)";

}  // namespace

TEST_CASE("an error has the fields that the script's pcall sees", "[errors]") {
  Interpreter lua;
  must_run(lua, kShapes);
  const Value seen = lua.call("seen").value();
  const Result<Value> result = lua.call("try");
  REQUIRE_FALSE(result);
  const Error& e = result.error();
  CHECK(name(e.kind) == seen["kind"].as<std::string>());
  CHECK(e.code == seen["code"].as<std::string>());
  CHECK(e.op == seen["op"].as<std::string>());
  CHECK(e.message == seen["message"].as<std::string>());
  CHECK(e.where == seen["where"].as<std::string>());
  CHECK(e.facts == seen["facts"].as<std::vector<std::string>>());
  CHECK(e.code == "E_SHAPE");
  CHECK(e.where == "test:4");
  CHECK(e.traceback.find("stack traceback") != std::string::npos);
  CHECK(e.traceback.find("test:4") != std::string::npos);
}

TEST_CASE("errors that are none of Rille's keep their text and place", "[errors]") {
  Interpreter lua;
  Error e = error_of_run(lua, "\nlocal x = nil\nx.y = 1");
  CHECK(e.code == "E_LUA");
  CHECK(e.where == "test:3");
  CHECK(e.message.find("attempt to index a nil value") == 0);
  e = error_of_run(lua, "error('with a: colon', 0)");
  CHECK(e.message == "with a: colon");
  CHECK(e.where.empty());
  e = error_of_run(lua, "x = = 1");
  CHECK(e.where == "test:1");
  CHECK(error_of_run(lua, "error()").message == "nil");
  CHECK(error_of_run(lua, "error({ code = 'E_MINE', message = 'own' })").code == "E_MINE");
  CHECK(error_of_run(lua, "error(setmetatable({}, { __tostring = function() return 'shown' end }))")
            .message == "shown");
  CHECK(error_of_run(lua, "error(setmetatable({}, { __tostring = function() error 'y' end }))")
            .message == "an error whose text could not be had");
  CHECK(error_of_run(lua, "error(('x'):rep(2^24))").message.size() < 20000);
  CHECK(error_of_run(lua, "error(require('rille').ones(1))").code == "E_LUA");
  must_run(lua, "after = 1");
}

TEST_CASE("what the host throws is an error of the script, which may catch it", "[errors]") {
  Interpreter lua;
  lua.bind("std", [] { throw std::runtime_error("disk on fire"); });
  lua.bind("own", [] {
    Error e(ErrorKind::data, "E_FORMAT", "bad record", "skip it");
    e.facts = {"record 7"};
    throw e;
  });
  lua.bind("odd", [] { throw 42; });
  lua.bind("oom", [] { throw std::bad_alloc(); });
  Error e = error_of_run(lua, "\nstd()");
  CHECK(e.code == "E_HOST");
  CHECK(e.op == "std");
  CHECK(e.message == "disk on fire");
  CHECK(e.where == "test:2");
  e = error_of_run(lua, "own()");
  CHECK(e.code == "E_FORMAT");
  CHECK(e.kind == ErrorKind::data);
  CHECK(e.message == "bad record");
  CHECK(e.hint == "skip it");
  CHECK(e.facts == std::vector<std::string>{"record 7"});
  CHECK(error_of_run(lua, "odd()").code == "E_HOST");
  CHECK(error_of_run(lua, "oom()").code == "E_OOM");
  must_run(lua, R"(
    local ok, err = pcall(std)
    assert(not ok and err.code == "E_HOST" and err.message == "disk on fire" and err.kind)
    ok, err = pcall(own)
    assert(err.code == "E_FORMAT" and err.hint == "skip it" and err.facts[1] == "record 7")
  )");
}

TEST_CASE("what a host's hook throws is an error of the script that runs backward", "[errors]") {
  Interpreter lua;
  const Tensor x = ones({2}).requires_grad_();
  lua.set("x", x);
  const auto thrown_by = [&](std::function<Tensor(const Tensor&)> hook) {
    const uint64_t id = x.register_hook(std::move(hook));
    const Error e = error_of_run(lua, "local y = x:sum()\ny:backward()");
    x.remove_hook(id);
    return e;
  };
  Error e = thrown_by([](const Tensor&) -> Tensor { throw std::runtime_error("disk on fire"); });
  CHECK(e.code == "E_HOST");
  CHECK(e.message == "disk on fire");
  CHECK(e.where == "test:2");
  CHECK(thrown_by([](const Tensor&) -> Tensor { throw 42; }).code == "E_HOST");
  e = thrown_by([](const Tensor&) -> Tensor { throw Error(ErrorKind::data, "E_FORMAT", "bad"); });
  CHECK(e.code == "E_FORMAT");
  x.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("disk on fire"); });
  CHECK_THROWS_AS(x.sum().backward(), std::runtime_error);  // no script is in between
}

TEST_CASE("errors through both languages' frames leave nothing behind", "[errors]") {
  Counted::alive = Counted::made = 0;
  {
    Interpreter lua;
    lua.bind("fail_in_cpp", [held = Counted()] {
      const Counted here;
      throw std::runtime_error("no");
    });
    lua.bind("through", [](Function f) {
      const Counted here;
      f();  // throws the script's error
    });
    lua.bind("take", [](Tensor, std::string, int) { const Counted here; });
    must_run(lua, R"(
      local rille = require "rille"
      function round()
        assert(not pcall(fail_in_cpp))
        assert(not pcall(through, function() error "lua" end))
        assert(not pcall(through, function() through(function() error {} end) end))
        assert(not pcall(take, rille.ones(2), "text", "no integer"))
        assert(not pcall(through, function() rille.ones(2):matmul(rille.ones(3)) end))
      end
    )");
    const auto round = lua.function<void()>("round");
    const int before = Counted::alive;
    for (int i = 0; i < 1000; ++i) round();
    CHECK(Counted::alive == before);
    CHECK(Counted::made >= 5000);
    for (int i = 0; i < 1000; ++i) CHECK_FALSE(lua.call("fail_in_cpp"));
    CHECK(Counted::alive == before);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("the script's error comes through C++ and Lua again as it was", "[errors]") {
  Interpreter lua;
  lua.bind("through", [&](Function f) { return f(); });
  lua.bind("again", [&](const std::string& name) { return lua.call(name).value(); });
  must_run(lua, "function bad() through(function() require('rille').ones(2):reshape(7) end) end");
  const Error e = error_of_run(lua, "again('bad')");
  CHECK(e.code == "E_SHAPE");
  CHECK(e.op == "reshape");
  CHECK(e.kind == ErrorKind::shape);
}

TEST_CASE("recursion through the host ends as an error", "[errors]") {
  Interpreter lua;
  lua.bind("down", [&](int n) -> Value { return lua.call("deeper", n + 1).value(); });
  must_run(lua, "function deeper(n) deepest = n return down(n) end");
  const Result<Value> result = lua.call("deeper", 0);
  REQUIRE_FALSE(result);
  CHECK(lua.get<int>("deepest") > 10);
  must_run(lua, "function deeper() return 'bottom' end assert(down(1) == 'bottom')");
}

TEST_CASE("a yield through the host is an error", "[errors]") {
  Interpreter lua;
  lua.bind("call_it", [](Function f) { f(); });
  must_run(lua, R"(
    local ok, err = coroutine.resume(coroutine.create(function() call_it(coroutine.yield) end))
    assert(not ok)
    local co = coroutine.wrap(function()
      call_it(function() end)
      coroutine.yield(1)
      local ok, err = pcall(call_it, function() error "inside" end)
      return not ok
    end)
    assert(co() == 1 and co() == true)
  )");
}

TEST_CASE("modes of a script stay with it", "[errors]") {
  Interpreter lua;
  lua.bind("fail", [] { throw std::runtime_error("x"); });
  must_run(lua, R"(
    local rille = require "rille"
    function broken() rille.no_grad(function() fail() end) end
    function mode() return rille.is_grad_enabled() end
  )");
  CHECK_FALSE(lua.call("broken"));
  CHECK(lua.call("mode").value().as<bool>());
}
