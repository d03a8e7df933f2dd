// interrupt() from signal handlers: of the thread that runs, in Lua and in a long op.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "api/c_owned.h"
#include "api/thrown.h"

namespace {

using namespace rille;

Interpreter* to_stop = nullptr;
rille_interpreter* to_stop_in_c = nullptr;

extern "C" void stop(int) {
  if (to_stop) to_stop->interrupt();
  rille_interrupt(to_stop_in_c);
}

// Takes SIGUSR1 for a scope.
class Handler {
 public:
  Handler() {
    struct sigaction ours = {};
    ours.sa_handler = stop;
    sigaction(SIGUSR1, &ours, &before_);
  }
  ~Handler() {
    sigaction(SIGUSR1, &before_, nullptr);
    to_stop = nullptr;
    to_stop_in_c = nullptr;
  }

 private:
  struct sigaction before_ = {};
};

}  // namespace

TEST_CASE("a signal handler stops what runs, the next run goes on") {
  const Handler handler;
  Interpreter lua;
  to_stop = &lua;
  lua.bind("poke", [] { std::raise(SIGUSR1); });
  for (int i = 0; i < 20; ++i) {
    const Error e = lua.run_string("poke() while true do end").error();
    REQUIRE(e.code == "E_INTERRUPTED");
    REQUIRE(lua.run_string("x = (x or 0) + 1"));
  }
  CHECK(lua.get<int>("x") == 20);
}

TEST_CASE("a signal that meets the running thread anywhere stops it in time") {
  const Handler handler;
  Interpreter lua;
  to_stop = &lua;
  std::atomic<bool> inside{false};
  lua.bind("begun", [&] { inside = true; });
  const pthread_t runner = pthread_self();
  const char* const loops[] = {
      "begun() while true do end",
      "local s = ('x'):rep(1000) begun() while true do s = s:sub(2) .. 'y' end",
      "local rille = require 'rille' local t = rille.ones(64) begun() while true do t = t + 1 end",
      "local rille = require 'rille' local t = rille.rand(64, 64) begun()"
      " while true do t = t:matmul(t):softmax(2) end"};
  for (const char* loop : loops) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point sent;
    inside = false;
    std::thread other([&] {
      while (!inside) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      sent = Clock::now();
      pthread_kill(runner, SIGUSR1);
    });
    const Result<void> result = lua.run_string(loop);
    const std::chrono::duration<double> late = Clock::now() - sent;
    other.join();
    CHECK(result.error().code == "E_INTERRUPTED");
    CHECK(late.count() < 2);  // seconds, on a machine that is busy
  }
}

TEST_CASE("rille_interrupt is for signal handlers, too", "[c]") {
  const Handler handler;
  rille_c::ErrorPlace e;
  rille_interpreter* made = nullptr;
  REQUIRE(rille_open(nullptr, &made, e) == RILLE_OK);
  const auto in = rille_c::owned(made);
  to_stop_in_c = made;
  const auto poke = [](void*, const rille_value* const*, size_t, rille_results*,
                       rille_error**) -> rille_status {
    std::raise(SIGUSR1);
    return RILLE_OK;
  };
  REQUIRE(rille_bind(made, "poke", poke, nullptr, nullptr, e) == RILLE_OK);
  CHECK(rille_run_string(made, "poke() while true do end", 24, "test", e) == RILLE_ERROR_INTERRUPT);
  CHECK(e.code() == "E_INTERRUPTED");
}
