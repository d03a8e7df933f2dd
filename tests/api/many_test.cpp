// Many interpreters, one after the other, and interpreters that close in the middle of things.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "api/hosts.h"

using namespace rille;
using namespace rille::test;

namespace {

int64_t resident() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

void one_life() {
  Interpreter lua;
  lua.bind("f", [](double x) { return x + 1; });
  lua.set("x", Tensor::of({1, 2, 3}));
  must_run(lua, R"(
    local rille = require "rille"
    local w = rille.ones(3, { requires_grad = true })
    w:register_hook(function(g) return g * f(1) end)
    loss = (w * x):sum()
    loss:backward()
    cycle = { w, function() return cycle, w end }
    pcall(error, { cycle })
    coroutine.wrap(function() coroutine.yield(w) end)()
  )");
  const Function kept = lua.get<Function>("f");
  const Tensor loss = lua.get<Tensor>("loss");
  lua.interrupt();
}

// Bytes that the process grew by in `lives` lives, after it has warmed up.
int64_t growth(int warm, int lives) {
  for (int i = 0; i < warm; ++i) one_life();
  const int64_t before = resident();
  for (int i = 0; i < lives; ++i) one_life();
  return resident() - before;
}

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("rille_many_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

// A leak of one tensor, closure or thread a life would be more than this allows. A sanitizer keeps
// what is freed for a while; it looks for leaks itself.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("interpreters that are opened and closed leave no memory behind", "[many]") {
  CHECK(growth(30, 60) < int64_t{1} << 20);
}

TEST_CASE("two thousand interpreters leave no memory behind", "[many][slow]") {
  CHECK(growth(200, 2000) < int64_t{2} << 20);
}
#else
TEST_CASE("interpreters are opened and closed", "[many]") { CHECK_NOTHROW(growth(5, 40)); }

TEST_CASE("two thousand interpreters are opened and closed", "[many][slow]") {
  CHECK_NOTHROW(growth(5, 2000));
}
#endif

TEST_CASE("an interpreter closes while its workers load", "[many]") {
  for (int i = 0; i < 5; ++i) {
    Interpreter lua;
    must_run(lua, R"(
      local rille = require "rille"
      local loader = rille.data.Loader(rille.data.table { x = rille.ones(64, 4096) }, {
        batch = 2, workers = 3,
        transform = function(item)
          for _ = 1, 50 do item.x = item.x + 1 end
          return item
        end,
      })
      for batch in loader:iter(1) do
        first = batch.x
        break
      end
  )");
    CHECK(lua.get<Tensor>("first").size(0) == 2);
  }
}

TEST_CASE("an interpreter that closes waits for a save in the background", "[many]") {
  const Folder folder;
  for (int i = 1; i <= 3; ++i) {
    {
      Interpreter lua;
      lua.set("path", (folder.path() / std::to_string(i)).string());
      must_run(lua, R"(
        local native = require "rille.native"
        local rille = require "rille"
        saves = native.checkpoints(path, 2)
        where = saves:save(1, { w = rille.ones(1000, 1000) }, true)
      )");
    }
    Interpreter next;
    next.set("path", (folder.path() / std::to_string(i)).string());
    must_run(next, R"(
      local native = require "rille.native"
      local steps = native.checkpoints(path, 2):steps()
      assert(#steps == 1 and steps[1] == 1)
    )");
  }
}

TEST_CASE("tensors that a host's script drops are found in time", "[many]") {
  Interpreter lua;
  must_run(lua, R"(
    local rille = require "rille"
    rille.memory.reset_peak()
    local before = rille.memory.peak()
    for i = 1, 1000 do rille.empty(1 << 20) end
    dropped = rille.memory.peak() - before
  )");
  CHECK(lua.get<int64_t>("dropped") <= 64 << 20);
}

TEST_CASE("a recipe that keeps all it can is freed with its interpreter", "[many]") {
  Counted::alive = 0;
  {
    Interpreter lua;
    lua.bind("host", [held = Counted()](Function f) { return f; });
    must_run(lua, R"(
      local rille = require "rille"
      store = {}
      for i = 1, 100 do
        local t = rille.ones(10, { requires_grad = true })
        t:register_hook(function() return store end)
        store[i] = { t, host(function() return store end), coroutine.create(host) }
        coroutine.resume(store[i][3], function() end)
      end
      debug.traceback = host
      print, error, pcall, setmetatable = nil, nil, nil, nil
      string.format = host
      getmetatable("").__index = nil
    )");
    CHECK(lua.run_string("return store"));
  }
  CHECK(Counted::alive == 0);
}
