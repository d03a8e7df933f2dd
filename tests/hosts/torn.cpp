// Stops scripts at many moments of their optimizer's steps: afterwards every element of every
// parameter has taken the same steps, none is in the middle of one.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include "rille/rille.hpp"

using namespace rille;

namespace {

constexpr int kTries = 20;

constexpr const char* kSetup = R"(
  local rille = require "rille"
  local n, ps = 1 << 19, {}
  for i = 1, 8 do ps[i] = rille.zeros(n, { requires_grad = true }) end
  local opt, g = rille.optim.AdamW(ps, { lr = 0.1, weight_decay = 0 }), rille.ones(n)
  function prepare() for _, p in ipairs(ps) do p.grad = g:clone() end end
  function steps()
    while true do
      prepare()
      began()
      opt:step()
      rille.nn.clip_grad_value_(ps, 0.5)
    end
  end
  function values()                       -- the ends of all parameters, and of their gradients
    local out = {}
    for _, p in ipairs(ps) do
      out[#out + 1] = p[1]:item()
      out[#out + 1] = p[n]:item()
      out[#out + 1] = p[n // 2]:item()
    end
    return out
  end)";

bool whole(Interpreter& lua) {
  const auto v = lua.call("values").value().as<std::vector<double>>();
  for (const double x : v)
    if (x != v[0]) return false;
  return true;
}

// What the setup takes here, in seconds: a limit must leave it room on a slow or busy machine.
double seconds_of_setup() {
  Interpreter lua(InterpreterOptions{.threads = 1});
  lua.bind("began", [] {});
  const auto before = std::chrono::steady_clock::now();
  lua.run_string(kSetup).value();
  lua.run_string("prepare()").value();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

}  // namespace

int main(int argc, char** argv) {
  const bool by_limit = argc > 1 && std::string_view(argv[1]) == "limit";
  const double least = by_limit ? 0.1 + 10 * seconds_of_setup() : 0;
  int stopped = 0, torn = 0;
  std::string log;
  for (int k = 0; k < kTries; ++k) {
    InterpreterOptions options;
    options.threads = 1;
    options.time_limit = by_limit ? least + 0.003 * k : 0;
    options.on_log = [&log](std::string_view text) { log += text; };
    Interpreter lua(options);
    std::atomic<int> begun{0};
    lua.bind("began", [&begun] { ++begun; });
    lua.run_string(kSetup).value();
    std::thread other;
    if (!by_limit)
      other = std::thread([&] {
        while (begun < 3) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(200 * k));
        lua.interrupt();
      });
    const auto result = lua.call("steps");
    if (other.joinable()) other.join();
    stopped += !result;
    torn += !whole(lua);
    lua.run_string("collectgarbage()").value();
  }
  if (stopped == kTries && torn == 0 && log.empty()) return 0;
  std::printf("%d of %d stopped, %d torn; said: %s\n", stopped, kTries, torn, log.c_str());
  return 1;
}
