// Limits and the sandbox, as a host sets and sees them.
#include <chrono>

#include "api/hosts.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("a run that is past a limit is an error, and the next one is not", "[limits]") {
  Interpreter lua{{.instruction_limit = 200'000, .time_limit = 60}};
  for (int i = 0; i < 3; ++i) {
    CHECK(error_of_run(lua, "while true do end").code == "E_BUDGET");
    // pcall hides nothing, nor does an error of another kind in its place
    CHECK(error_of_run(lua, "while true do pcall(function() while true do end end) end").code ==
          "E_BUDGET");
    const Error e =
        error_of_run(lua, "pcall(function() while true do end end) error({ code = 'E_MINE' })");
    CHECK(e.code == "E_BUDGET");
    CHECK(e.kind == ErrorKind::interrupt);
    must_run(lua, "x = 0 for i = 1, 1000 do x = x + i end");
    CHECK(lua.get<int>("x") == 500500);
  }
  must_run(lua, "function forever() while true do end end function one() return 1 end");
  CHECK(lua.call("forever").error().code == "E_BUDGET");
  CHECK(lua.call("one").value().as<int>() == 1);
  lua.bind("inner", [&] { return lua.call("forever").error().code; });
  CHECK(error_of_run(lua, "inner() x = 'never'").code == "E_BUDGET");
  CHECK(lua.get<int>("x") == 500500);
}

TEST_CASE("the limit of time ends loops in Lua and in the engine", "[limits]") {
  Interpreter lua{{.time_limit = 0.2}};
  for (const char* loop :
       {"while true do end",
        "local x = require('rille').ones(512, 512) while true do x:matmul(x) end"}) {
    const auto before = std::chrono::steady_clock::now();
    CHECK(error_of_run(lua, loop).code == "E_BUDGET");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    CHECK(took.count() > 0.15);
    CHECK(took.count() < 2);  // 50 ms past it on a machine at rest
  }
}

TEST_CASE("limits of memory are errors that a script may survive", "[limits]") {
  Interpreter lua{{.tensor_memory_limit = 8 << 20}};
  const char* keeps =
      "local rille = require 'rille' kept = {}"
      "for i = 1, 100 do kept[i] = rille.zeros(1 << 18) end";
  const Error e = error_of_run(lua, keeps);
  CHECK(e.code == "E_OOM_BUDGET");
  CHECK(e.kind == ErrorKind::memory);
  must_run(lua, "kept = nil for i = 1, 100 do local x = require('rille').zeros(1 << 18) end");
  Interpreter small{{.lua_memory_limit = 4 << 20}};
  CHECK(error_of_run(small, "local t = {} for i = 1, 1e7 do t[i] = { i } end").code == "E_BUDGET");
  must_run(small, "fine = true");
  Interpreter both{{.memory_limit = 8 << 20}};
  CHECK(error_of_run(both, keeps).code == "E_OOM_BUDGET");
}

TEST_CASE("limits are each interpreter's own", "[limits]") {
  Interpreter tight{{.tensor_memory_limit = 1 << 20}}, loose;
  must_run(loose, "big = require('rille').zeros(1 << 20)");
  tight.set("theirs", loose.get<Tensor>("big"));  // what others made does not count
  must_run(tight, "mine = require('rille').zeros(1 << 10) x = theirs:sum():item()");
  CHECK(error_of_run(tight, "more = theirs + 1").code == "E_OOM_BUDGET");
  must_run(loose, "more = big + 1");
}

TEST_CASE("the sandbox keeps scripts in, and lets the host do what it likes", "[limits]") {
  std::string printed;
  Interpreter lua{
      {.sandbox = Sandbox::recipe, .on_print = [&](std::string_view s) { printed += s; }}};
  lua.bind("game.score", [](int n) { return n + 1; });
  lua.set("x", Tensor::of({1, 2, 3}));
  must_run(lua, R"(
    assert(io == nil and os.execute == nil and os.getenv == nil and dofile == nil)
    assert(not pcall(require, "rille.native"))
    assert(not pcall(function() string.format = nil end))
    total = require("rille").sum(x):item() + game.score(1)
    print("total", total, "\27[31m")
  )");
  CHECK(lua.get<double>("total") == 8);
  CHECK(printed == "total\t8.0\t\\027[31m\n");
  CHECK(error_of_run(lua, "require('rille').save('/tmp/x', {})").code == "E_SANDBOX");
  const Error e = error_of_run(lua, "error('\27]0;own\7')");
  CHECK(e.message.find('\27') == std::string::npos);
  // What a script does to its globals is gone for the next.
  must_run(lua, "pairs, require, tostring = nil, nil, nil");
  must_run(lua, "assert(pairs and require and tostring(1) == '1')");
}

TEST_CASE("functions that the host bound are there for the next run", "[limits]") {
  Interpreter lua{{.sandbox = Sandbox::recipe}};
  lua.bind("twice", [](int n) { return 2 * n; });
  lua.bind("game.score", [](int n) { return n + 1; });
  lua.set("count", 3);
  const char* check = "assert(twice(2) == 4 and rawget(game, 'score')(1) == 2)";
  for (const char* harm :
       {"twice, game = nil, 5", "twice, game.score = print, print", "game = require 'rille'",
        "game = setmetatable({}, { __index = error, __newindex = error })"}) {
    must_run(lua, harm);
    must_run(lua, check);
  }
  must_run(lua, "assert(not pcall(function() return require('rille').score end))");
  must_run(lua, "count = count + 1");
  CHECK(lua.get<int>("count") == 4);  // what is no function stays as scripts leave it
}

TEST_CASE("scripts keep to the devices that the host grants", "[limits]") {
  Interpreter lua{{.devices = {"cpu:1", "cpu"}}};
  lua.set("theirs", Tensor::of({1, 2, 3}).to(Device("cpu:3")));
  must_run(lua, R"(
    local rille = require "rille"
    assert(rille.zeros(2).device == "cpu:1" and rille.tensor{1}.device == "cpu:1")
    assert(rille.nn.Linear(2, 2).weight.device == "cpu:1")
    assert(rille.zeros(2, { device = "cpu" }).device == "cpu" and rille.default_device() == "cpu:1")
    assert(rille.zeros(2):to("auto").device == "cpu:1")
    assert(rille.zeros(2, { device = "meta" }).device == "meta")
    assert((theirs * 2).device == "cpu:3")
  )");
  for (const char* reach : {"rille.zeros(2, { device = 'cpu:2' })", "rille.zeros(2):to('cpu:2')",
                            "rille.default_device('cpu:2')", "rille.tensor({1}, {device='cpu:2'})",
                            "rille.nn.Linear(2, 2):to('cpu:2')", "rille.device('cpu:2')"}) {
    const Error e = error_of_run(lua, std::string("local rille = require 'rille'\n") + reach);
    CHECK(e.code == "E_SANDBOX");
    CHECK(e.message == "the device 'cpu:2' is not granted to this script");
    CHECK(e.hint == "granted: cpu:1, cpu");
  }
}

TEST_CASE("a stop that comes early stops the next run, once", "[limits]") {
  Interpreter lua;
  lua.interrupt();
  CHECK(error_of_run(lua, "while true do end").code == "E_INTERRUPTED");
  must_run(lua, "for i = 1, 1e5 do end function f() return 1 end");
  lua.interrupt();
  CHECK(error_of_run(lua, "y = 1").code == "E_INTERRUPTED");  // however short it is
  lua.interrupt();
  lua.set("z", 1);  // no run
  CHECK(lua.get("y").is_nil());
  CHECK(lua.call("f").error().code == "E_INTERRUPTED");
  CHECK(lua.call("f").value().as<int>() == 1);
}

TEST_CASE("what is only interruptible is not limited otherwise", "[limits]") {
  Interpreter lua;
  must_run(lua, R"(
    assert(#("x"):rep(80 * 2^20 // 1) == 80 * 2^20)
    assert(load(("x = 1 "):rep(300000)))
  )");
}
