// require "rille" in states that a host opened: what it takes, and that everything is given back
// when the state closes, whatever it was doing.
#include <dlfcn.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "stock/host.h"
#include "support/temp_dir.h"

using Catch::Matchers::Contains;
using rille::test::Host;
using rille::test::TempDir;

namespace {

constexpr const char* kModule = RILLE_MODULE_DIR "/rille.so";

// Bytes of tensors that are alive in the whole process.
std::string bytes_alive() {
  Host fresh;
  return fresh.run("return require 'rille'.memory.allocated()");
}

// d(sum(w * w))/dw = 2 w
constexpr const char* kUsable = R"(
  local rille = require "rille"
  assert(rille.is_grad_enabled())
  local w = rille.tensor({ 1.0, 2.0 }, { requires_grad = true })
  ;(w * w):sum():backward()
  assert(w.grad[1]:item() == 2.0 and w.grad[2]:item() == 4.0)
  return "usable")";

}  // namespace

TEST_CASE("the module shows one symbol") {
  void* module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  INFO(dlerror());
  REQUIRE(module);
  CHECK(dlsym(module, "luaopen_rille"));
  Dl_info info{};
  REQUIRE(dladdr(dlsym(module, "luaopen_rille"), &info));
  CHECK(std::string(info.dli_fname).find("rille.so") != std::string::npos);
  CHECK(dlclose(module) == 0);
  CHECK(dladdr(info.dli_saddr, &info));  // its code stays mapped
}

TEST_CASE("a state gets one table, and its globals stay as they are") {
  Host host;
  host.run("before = {} for k, v in pairs(_G) do before[k] = v end before.before = before");
  CHECK(host.run("R = require 'rille' return R == require 'rille'") == "true");
  CHECK(host.run("for k, v in pairs(_G) do if k ~= 'R' then assert(before[k] == v, k) end end "
                 "return getmetatable(_G)") == "nil");
  CHECK(host.run("package.loaded.rille = nil return require 'rille' == R") == "true");
  CHECK(host.run("return require 'rille.nn' == R.nn") == "true");
  CHECK(host.run("return collectgarbage 'incremental'") == "incremental");
  CHECK(host.run("return tostring(R.is_tensor(R.ones(2)))") == "true");
}

TEST_CASE("states of one process know nothing of each other") {
  Host one, other;
  one.run("R = require 'rille' R.seed(1) R.default_dtype 'f64' x = R.ones(2)");
  other.run("R = require 'rille' R.seed(1)");
  CHECK(other.run("return R.ones(1).dtype") == "f32");
  const std::string drawn = one.run("return R.rand(1, { dtype = 'f64' }):item()");
  one.run("for _ = 1, 10 do R.rand(3) end");
  CHECK(other.run("return R.rand(1, { dtype = 'f64' }):item()") == drawn);
  one.close();
  CHECK(other.run(kUsable) == "usable");
}

TEST_CASE("states on threads of their own train side by side") {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&good] {
      Host host;
      const std::string loss = host.run(R"(
        local rille = require "rille"
        rille.seed(3)
        local model = rille.nn.Sequential(rille.nn.Linear(4, 8), rille.nn.Tanh(),
          rille.nn.Linear(8, 1))
        local opt = rille.optim.SGD(model:parameters(), { lr = 0.1 })
        local x = rille.randn(16, 4)
        local y = x:sum(2, { keepdim = true })
        local first, last
        for _ = 1, 50 do
          opt:zero_grad()
          local loss = rille.mse_loss(model(x), y)
          loss:backward()
          opt:step()
          first, last = first or loss:item(), loss:item()
        end
        return last < first / 2)");
      good += loss == "true";
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 4);
}

TEST_CASE("a closed state has given back all") {
  const std::string before = bytes_alive();
  for (int i = 0; i < 3; ++i) {
    Host host;
    host.run(R"(
      rille = require "rille"
      x = rille.ones(1000, { requires_grad = true })
      y = (x * 2):sum()
      y:register_hook(function() return x end)
      model = rille.nn.Linear(10, 10)
      generator = rille.generator(3)
      coroutine.wrap(function() local scope <close> = rille.no_grad() coroutine.yield() end)())");
    host.close();
    CHECK(host.heap.bytes == 0);
  }
  CHECK(bytes_alive() == before);
}

TEST_CASE("a state closes while its loader's workers are at work") {
  const std::string before = bytes_alive();
  Host host;
  host.run(R"(
    rille = require "rille"
    local set = {}
    for i = 1, 400 do set[i] = { x = rille.ones(100) * i } end
    local function slow(item)
      local x = item.x
      for _ = 1, 200 do x = x + 1 end
      return { x = x }
    end
    loader = rille.data.Loader(set, { batch = 4, workers = 2, transform = slow })
    next_batch = coroutine.wrap(function() for b in loader do coroutine.yield(b) end end)
    kept = next_batch())");
  host.close();
  CHECK(host.heap.bytes == 0);
  CHECK(bytes_alive() == before);
}

TEST_CASE("a state closes while a save runs in the background") {
  const TempDir folder;
  Host host;
  host.run("rille, native = require 'rille', require 'rille.native'");
  host.run("files = native.checkpoints('" + folder.path() +
           "', 3) "
           "files:save(1, { x = rille.ones(1000, 1000) }, true)");
  host.close();
  Host other;
  other.run("require 'rille'");
  CHECK(other.run("local files = require 'rille.native'.checkpoints('" + folder.path() +
                  "', 3) "
                  "local step = files:steps()[1] "
                  "return step == nil or require 'rille'.load(files:path(step)).x:sum():item() "
                  "== 1e6") == "true");
}

TEST_CASE("a finalizer that is older than Rille gets an error, not freed memory") {
  Host host;
  host.run(R"(
    failures = 0
    older = setmetatable({}, { __gc = function(o)
      for name, f in pairs(o.calls) do
        local fine, why = pcall(f)
        if fine then record(name .. " did not fail") else record(name .. ": " .. tostring(why)) end
      end
    end })
    local rille = require "rille"
    local x, model, loader = rille.ones(2), rille.nn.Linear(2, 2), rille.generator(1)
    local co = coroutine.wrap(function() return x + 1 end)
    older.calls = {
      op = function() return rille.ones(1) end, method = function() return x:sum() end,
      operator = function() return x + x end, field = function() return x.dtype end,
      index = function() return x[1] end, layer = function() return model(x) end,
      text = function() return tostring(x) end, coroutine = co,
      fail = function() return rille.nosuch end, seed = function() rille.seed(1) end,
      prelude = function() require "rille.native".install_prelude() end,
    }
    kept = { rille, x, model })");
  static std::vector<std::string> said;
  said.clear();
  lua_pushcfunction(host.L, [](lua_State* L) {
    said.emplace_back(luaL_checkstring(L, 1));
    return 0;
  });
  lua_setglobal(host.L, "record");
  host.close();
  CHECK(said.size() == 11);
  for (const std::string& line : said) CHECK_THAT(line, Contains("closed"));
  CHECK(host.heap.bytes == 0);
}

TEST_CASE("it is required inside a coroutine, too") {
  Host host;
  CHECK(host.run(R"(
    local co = coroutine.create(function()
      local rille = require "rille"
      coroutine.yield()
      return rille.ones(3):sum():item()
    end)
    assert(coroutine.resume(co))
    local _, sum = coroutine.resume(co)
    co = nil
    collectgarbage()
    return sum)") == "3.0");
  CHECK(host.run(kUsable) == "usable");
}

TEST_CASE("another Lua is refused by its number") {
  Host host;
  rille::test::pretended_version = 505;
  std::string why;
  try {
    host.run("require 'rille'");
  } catch (const std::runtime_error& e) {
    why = e.what();
  }
  rille::test::pretended_version = 0;
  CHECK_THAT(why, Contains("this module is for Lua 5.4, the program runs Lua 5.5"));
  CHECK(host.run(kUsable) == "usable");
}

TEST_CASE("a host without the package library is told so") {
  Host host;
  host.run("open = package.loadlib('" + std::string(kModule) + "', 'luaopen_rille') require = nil");
  CHECK_THROWS_WITH(host.run("open()"), Contains("has not opened Lua's package library"));
}

TEST_CASE("the prelude is that of rille run, where it is asked for") {
  Host host;
  host.run("rille = require 'rille' code = string.dump(function() return 1 end)");
  CHECK(host.run("return load(code)() == 1 and debug.sethook ~= nil") == "true");
  host.run("rille.prelude() rille.prelude()");
  CHECK(host.run("return load(code)") == "nil");
  CHECK(host.run("return debug.sethook == nil and package.cpath == nil") == "true");
  CHECK(host.run("return collectgarbage 'generational'") == "generational");
  CHECK(host.run(kUsable) == "usable");
}
