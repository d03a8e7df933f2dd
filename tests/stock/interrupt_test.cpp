// Ctrl-C as the stock interpreter has it: a signal handler sets a hook, which raises. However it
// falls, the script gets the error and the engine stays in order.
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "stock/host.h"

using Catch::Matchers::Contains;
using rille::test::Host;

namespace {

lua_State* interrupted = nullptr;

void stop(lua_State* L, lua_Debug*) {
  lua_sethook(L, nullptr, 0, 0);
  luaL_error(L, "interrupted!");
}

void on_signal(int) {
  lua_sethook(interrupted, stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

// Sends the thread that made it a signal after so many microseconds.
class Alarm {
 public:
  explicit Alarm(int microseconds)
      : thread_([target = pthread_self(), microseconds] {
          std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
          pthread_kill(target, SIGUSR1);
        }) {}
  ~Alarm() { thread_.join(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  std::thread thread_;
};

constexpr const char* kSetUp = R"(
  rille = require "rille"
  model = rille.nn.Sequential(rille.nn.Linear(4, 8), rille.nn.ReLU(), rille.nn.Linear(8, 1))
  opt = rille.optim.AdamW(model:parameters(), { lr = 0.01 })
  x, y = rille.randn(8, 4), rille.randn(8, 1)
  function train()
    while true do
      opt:zero_grad()
      local h = model(x)
      h:register_hook(function(g) return rille.no_grad(function() return g * 1 end) end)
      rille.mse_loss(h, y):backward()
      opt:step()
      coroutine.wrap(function() rille.no_grad(function() return x + 1 end) end)()
      rille.tensor({ { 1, 2 }, { 3, 4 } }):sum():item()
    end
  end)";

}  // namespace

TEST_CASE("a hook of the host stops training at any point, and all is in order") {
  Host host;
  interrupted = host.L;
  struct sigaction action {
  }, before{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGUSR1, &action, &before);
  host.run(kSetUp);
  int stopped = 0;
  for (int i = 0; i < 150; ++i) {
    std::string why;
    {
      const Alarm alarm(200 + 137 * i % 2000);
      try {
        host.run("train()");
      } catch (const std::runtime_error& e) {
        why = e.what();
      }
    }
    INFO(i);
    CHECK_THAT(why, Contains("interrupted!"));
    stopped += why.find("interrupted!") != std::string::npos;
    lua_sethook(host.L, nullptr, 0, 0);
    host.run("collectgarbage()");  // a scope that was stopped in its __close is closed by this
    CHECK(host.run("return rille.is_grad_enabled()") == "true");
    CHECK(host.run("local w = rille.tensor({ 3.0 }, { requires_grad = true }) "
                   "; (w * w):sum():backward() return w.grad:item()") == "6.0");
  }
  CHECK(stopped == 150);
  sigaction(SIGUSR1, &before, nullptr);
  host.close();
  CHECK(host.heap.bytes == 0);
}
