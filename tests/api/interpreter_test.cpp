// Running scripts from C++: values in and out, functions both ways, output, files, the end.
#include "rille/interpreter.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "api/hosts.h"

using namespace rille;
using namespace rille::test;

namespace {

// Sets `x`, lets the script look at it with `check`, reads it back.
template <class T>
T round_trip(Interpreter& lua, const T& value, const std::string& check) {
  lua.set("x", value);
  must_run(lua, "y = x; assert(" + check + ", math.type(x) or type(x))");
  return lua.get<T>("y");
}

}  // namespace

TEST_CASE("each kind of value makes the round trip", "[interpreter]") {
  Interpreter lua;
  CHECK(round_trip(lua, true, "x == true"));
  CHECK_FALSE(round_trip(lua, false, "x == false"));
  CHECK(round_trip(lua, 42, "x == 42 and math.type(x) == 'integer'") == 42);
  constexpr auto least = std::numeric_limits<int64_t>::min();
  CHECK(round_trip(lua, least, "x == math.mininteger") == least);
  CHECK(round_trip(lua, uint8_t{255}, "x == 255") == 255);
  CHECK(round_trip(lua, 0.5, "x == 0.5") == 0.5);
  CHECK(round_trip(lua, 0.5f, "x == 0.5") == 0.5f);
  CHECK(std::isnan(round_trip(lua, std::nan(""), "x ~= x")));
  CHECK(round_trip(lua, std::string("a\0b", 3), "#x == 3 and x == 'a\\0b'") ==
        std::string("a\0b", 3));
  CHECK(round_trip(lua, std::vector<double>{1, 2.5}, "#x == 2 and x[2] == 2.5") ==
        std::vector<double>{1, 2.5});
  const std::map<std::string, int> fields{{"a", 1}, {"b", 2}};
  CHECK(round_trip(lua, fields, "x.a == 1 and x.b == 2") == fields);
  CHECK(round_trip(lua, std::optional<int>(7), "x == 7") == 7);
  CHECK_FALSE(round_trip(lua, std::optional<int>(), "x == nil").has_value());
  const std::vector<std::vector<int>> nested{{1}, {}, {2, 3}};
  CHECK(round_trip(lua, nested, "#x == 3 and x[3][2] == 3") == nested);
}

TEST_CASE("errors show lines of the latest texts, places of all", "[interpreter]") {
  Interpreter lua;
  const std::string text =
      "function fail()\n  return require('rille').ones(2):reshape(3)  -- here\nend\n"
      "function text() return tostring(select(2, pcall(fail))) end";
  const auto report_of = [&] { return lua.call("text").value().as<std::string>(); };
  REQUIRE(lua.run_string(text, "early"));
  CHECK(report_of().find("-- here") != std::string::npos);
  const std::string padding = "--" + std::string(10'000, 'x');
  for (int i = 0; i < 200; ++i) REQUIRE(lua.run_string(padding, "run " + std::to_string(i)));
  CHECK(report_of().find("early:2") != std::string::npos);
  CHECK(report_of().find("-- here") == std::string::npos);
}

TEST_CASE("tensors are shared, not copied", "[interpreter]") {
  Interpreter lua;
  std::vector<float> memory{1, 2, 3, 4};
  lua.set("x", borrow(memory.data(), {2, 2}));
  must_run(lua, "x:add_(1) view = x[2]");
  CHECK(memory == std::vector<float>{2, 3, 4, 5});
  CHECK(lua.get<Tensor>("x").data<float>() == memory.data());
  CHECK(lua.get<Tensor>("view").data<float>() == memory.data() + 2);
  const float* only = memory.data();
  lua.set("x", borrow(only, {4}));
  CHECK(error_of_run(lua, "x:add_(1)").code == "E_READONLY");
  CHECK(memory[0] == 2);
  lua.set("x", Tensor());
  CHECK(lua.get_value("x").is_nil());
}

TEST_CASE("a table can be walked as a Value", "[interpreter]") {
  Interpreter lua;
  must_run(lua,
           "config = { 'first', lr = 0.1, layers = { 3, 4 }, act = function(x) return -x end }");
  const Value config = lua.get("config");
  CHECK(config.type() == Value::Type::table);
  CHECK(config.at(1).as<std::string>() == "first");
  CHECK(config["lr"].as<double>() == 0.1);
  CHECK(config["layers"].as<std::vector<int>>() == std::vector<int>{3, 4});
  CHECK(config["act"].as<std::function<int(int)>>()(5) == -5);
  CHECK(config["nothing"]["at all"].is_nil());
  lua.set("copy", config);
  must_run(lua, "assert(copy.layers[2] == 4 and copy[1] == 'first' and copy.act == config.act)");
}

TEST_CASE("values of the wrong kind are errors that say what came", "[interpreter]") {
  Interpreter lua;
  must_run(lua, "text, list, frac, big = 'x', { 1, 'b' }, 1.5, 300");
  Error e = refused([&] { lua.get<double>("text"); });
  CHECK(e.code == "E_TYPE");
  CHECK(e.message == "'text' must be a number, got a string");
  e = refused([&] { lua.get<std::vector<int>>("list"); });
  CHECK(e.message == "position 2 of 'list' must be an integer, got a string");
  CHECK(refused([&] { lua.get<int>("frac"); }).code == "E_TYPE");
  CHECK(refused([&] { lua.get<uint8_t>("big"); }).code == "E_ARG");
  CHECK(refused([&] { lua.get<Tensor>("missing"); }).code == "E_TYPE");
  CHECK(refused([&] { lua.set("x", std::numeric_limits<uint64_t>::max()); }).code == "E_ARG");
  CHECK(refused([&] { lua.function<int(int)>("missing"); }).code == "E_TYPE");
  must_run(lua, "co = coroutine.create(print) odd = { [2.5] = 1 } deep = {} deep[1] = deep");
  CHECK(refused([&] { lua.get("co"); }).code == "E_TYPE");
  CHECK(refused([&] { lua.get("odd"); }).code == "E_TYPE");
  CHECK(refused([&] { lua.get("deep"); }).code == "E_ARG");
  Value tower;
  for (int i = 0; i < 1000; ++i) {
    Table t;
    t.list.push_back(std::move(tower));
    tower = std::move(t);
  }
  CHECK(refused([&] { lua.set("tower", tower); }).code == "E_ARG");
}

TEST_CASE("dotted names make tables and find what is in them", "[interpreter]") {
  Interpreter lua;
  lua.set("game.players.best", 3);
  lua.bind("game.score", [](int a, int b) { return a * b; });
  must_run(lua, "result = game.score(game.players.best, 7)");
  CHECK(lua.get<int>("result") == 21);
  CHECK(lua.get<int>("game.players.best") == 3);
  CHECK(lua.call("game.score", 2, 5).value().as<int>() == 10);
  CHECK(lua.get("nothing.at.all").is_nil());
  lua.set("number", 1);
  CHECK(refused([&] { lua.set("number.x", 1); }).code == "E_TYPE");
  must_run(lua, "engine = require 'rille'");
  CHECK(refused([&] { lua.set("engine.of_mine", 1); }).code == "E_ARG");  // a read-only table
  for (const char* bad : {"", ".", "a.", ".a", "a..b"})
    CHECK(refused([&] { lua.set(bad, 1); }).code == "E_ARG");
}

namespace {

int twice(int n) { return 2 * n; }
struct Account {
  double balance = 0;
  void pay(double amount) { balance += amount; }
  double get() const noexcept { return balance; }
};

}  // namespace

TEST_CASE("any callable can be bound", "[interpreter]") {
  Interpreter lua;
  Account account;
  lua.bind("twice", twice);
  lua.bind("twice_too", &twice);
  lua.bind("length", [](std::string_view s) { return s.size(); });
  lua.bind("join", [](const std::vector<std::string>& parts, std::optional<std::string> glue) {
    std::string out;
    for (const std::string& p : parts) out += (out.empty() ? "" : glue.value_or(",")) + p;
    return out;
  });
  lua.bind("pay", &Account::pay, &account);
  lua.bind("balance", &Account::get, &account);
  lua.bind("divmod", [](int a, int b) { return std::tuple(a / b, a % b); });
  lua.bind("count", [](std::span<const Value> all) { return all.size(); });
  lua.bind("rest", [](int, std::span<const Value> others) { return others.size(); });
  lua.bind("reversed", [](std::span<const Value> all) {
    return Results{{all.rbegin(), all.rend()}};
  });
  lua.bind("total", [](const std::map<std::string, double>& m) {
    double sum = 0;
    for (const auto& [key, n] : m) sum += n;
    return sum;
  });
  lua.bind("both", [](const Tensor& a, Tensor b) { return a + b; });
  int counter = 0;
  lua.bind("next", [counter]() mutable { return ++counter; });
  lua.bind("each", std::function<void(Function)>([](Function f) { f(1), f(2); }));
  lua.bind("maybe", [](bool yes) { return yes ? std::optional<int>(1) : std::nullopt; });
  must_run(lua, R"(
    local rille = require "rille"
    assert(twice(4) == 8 and twice_too(5.0) == 10)
    assert(length "abc" == 3)
    assert(join({ "a", "b" }) == "a,b" and join({ "a", "b" }, "-") == "a-b")
    pay(2.5) pay(1) assert(balance() == 3.5)
    local q, r = divmod(17, 5) assert(q == 3 and r == 2)
    assert(count() == 0 and count(nil, nil) == 2 and rest(1, 2, 3) == 2 and rest(1) == 0)
    local a, b, c = reversed(1, nil, "x") assert(a == "x" and b == nil and c == 1)
    assert(select("#", reversed(nil)) == 1)
    assert(total { a = 1, b = 2.5 } == 3.5)
    assert(both(rille.ones(2), rille.ones(2)):sum():item() == 4)
    assert(next() == 1 and next() == 2)
    local sum = 0
    each(function(n) sum = sum + n end)
    assert(sum == 3)
    assert(maybe(true) == 1 and maybe(false) == nil)
  )");
  CHECK(account.balance == 3.5);
}

TEST_CASE("arguments of the wrong kind name themselves in the script's error", "[interpreter]") {
  Interpreter lua;
  lua.bind("score", [](int, double) { return 0; });
  Error e = error_of_run(lua, "local x = 1\nscore(x, 'y')");
  CHECK(e.code == "E_TYPE");
  CHECK(e.op == "score");
  CHECK(e.message == "argument 2 must be a number, got a string");
  CHECK(e.where == "test:2");
  CHECK(error_of_run(lua, "score(1)").message == "argument 2 must be a number, got nil");
  CHECK(error_of_run(lua, "score(1, 2, 3)").code == "E_ARG");
  CHECK(error_of_run(lua, "score(io.stdout, 2)").code == "E_TYPE");
}

TEST_CASE("scripts' functions are C++ functions", "[interpreter]") {
  Interpreter lua;
  must_run(lua, R"(
    local rille = require "rille"
    function area(w, h) return w * h, 2 * (w + h) end
    function double(t) return t * 2 end
    function nothing() end
    function make(n) return function(x) return x + n end end
  )");
  const auto area = lua.function<std::tuple<double, double>(double, double)>("area");
  CHECK(area(2, 3) == std::tuple(6.0, 10.0));
  const auto first = lua.function<int(int, int)>("area");
  CHECK(first(4, 5) == 20);
  const auto twice_of = lua.function<Tensor(Tensor)>("double");
  CHECK(twice_of(Tensor::of({1, 2})).to_vector<double>() == std::vector<double>{2, 4});
  lua.function<void()>("nothing")();
  CHECK(refused([&] { lua.function<int()>("nothing")(); }).message ==
        "result 1 must be an integer, got nil");
  const auto add2 = lua.call("make", 2).value().as<std::function<int(int)>>();
  CHECK(add2(40) == 42);
  CHECK(lua.call("area", 6, 7).value().as<int>() == 42);
  CHECK(lua.call("nothing").value().is_nil());
  CHECK(lua.call("no_such").error().code == "E_TYPE");
}

TEST_CASE("files run with their arguments, beside their modules", "[interpreter]") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("rille_host_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "helper.lua") << "return { seven = 7 }";
  std::ofstream(folder / "main.lua") << "#!/usr/bin/env rille\n"
                                        "local a, b = ...\n"
                                        "got = { a, b, arg[2], require('helper').seven }\n"
                                        "if b == 'fail' then error('on purpose') end";
  Interpreter lua;
  const std::string path = folder / "main.lua";
  CHECK(lua.run_file(path, {"x", "y"}));
  const Value got = lua.get("got");
  CHECK(got.at(1).as<std::string>() == "x");
  CHECK(got.at(3).as<std::string>() == "y");
  CHECK(got.at(4).as<int>() == 7);
  const Result<void> failed = lua.run_file(path, {"x", "fail"});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().where == path + ":4");
  const Result<void> missing = lua.run_file(folder / "none.lua");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == "E_IO");
  std::filesystem::remove_all(folder);
}

TEST_CASE("a recipe that a script returns is carried out", "[interpreter]") {
  Interpreter lua;
  std::string printed;
  const Result<void> usage = lua.run_string("os.exit(3)", "test");
  REQUIRE_FALSE(usage);
  CHECK(usage.error().code == "E_EXIT");
  CHECK(lua.run_string("os.exit(0)", "test"));
  CHECK(lua.run_string("os.exit(true)", "test"));
  must_run(lua, "alive = true");  // and the host is, too
}

TEST_CASE("output goes to the host that wants it", "[interpreter]") {
  std::string printed, logged;
  std::vector<std::string> pieces;
  {
    Interpreter lua{{.on_print =
                         [&](std::string_view s) {
                           printed += s;
                           pieces.emplace_back(s);
                         },
                     .on_log = [&](std::string_view s) { logged += s; }}};
    must_run(lua, "print('a', 1) io.write('b') io.stdout:write('c\\n') io.stderr:write('oops\\n')");
    CHECK(printed == "a\t1\nbc\n");
    CHECK(logged == "oops\n");
    CHECK(pieces.front() == "a\t1\n");
    must_run(lua, "io.write('no newline')");
    CHECK(printed == "a\t1\nbc\nno newline");
    must_run(lua, "assert(io.stdout:close() == nil) print('still open')");
    CHECK(printed.ends_with("still open\n"));
  }
  Interpreter other{{.on_print = [&](std::string_view) { throw std::runtime_error("full"); }}};
  CHECK(error_of_run(other, "print('x')").code == "E_LUA");
  Interpreter* back = nullptr;
  std::string code;
  Interpreter third{
      {.on_print = [&](std::string_view) { code = back->run_string("x = 1").error().code; }}};
  back = &third;
  must_run(third, "print('x')");
  CHECK(code == "E_BUSY");
}

TEST_CASE("options that make no sense are refused", "[interpreter]") {
  CHECK(refused([] { Interpreter lua({.memory_limit = -1}); }).code == "E_ARG");
  CHECK(refused([] { Interpreter lua({.time_limit = -0.5}); }).code == "E_ARG");
  CHECK(refused([] { Interpreter lua({.threads = -2}); }).code == "E_ARG");
}

TEST_CASE("the same seed gives the same numbers, another others", "[interpreter]") {
  const auto draw = [](uint64_t seed) {
    Interpreter lua({.seed = seed});
    must_run(lua, "x = require('rille').randn(16)");
    return lua.get<Tensor>("x").to_vector<double>();
  };
  CHECK(draw(1) == draw(1));
  CHECK(draw(1) != draw(2));
}
