// The host's allocator fails at one place after the other: an error may come of it, nothing worse,
// and the state is as good as before.
#include <catch2/catch.hpp>

#include "stock/host.h"

using rille::test::Host;

namespace {

constexpr const char* kWork = R"(
  local rille = require "rille"
  local w = rille.tensor({ 1.0, 2.0 }, { requires_grad = true })
  local co = coroutine.wrap(function()
    local quiet <close> = rille.no_grad()
    return (w * 2):tolist()
  end)
  co()
  local model = rille.nn.Linear(2, 2)
  model(w):sum():backward()
  pcall(rille.matmul, w, rille.ones(3, 3))
  w:register_hook(function(g) return g end)
  ;(w * w):sum():backward()
  return "done")";

// How the work ends where the k-th allocation fails. The state is used again afterwards.
void starve(long k, bool& failed) {
  INFO("allocation " << k);
  Host host;
  host.heap.until_fail = k + 1;
  std::string said = "done";
  try {
    said = host.run(kWork);
  } catch (const std::runtime_error&) {
    CHECK(host.heap.failed);
  }
  CHECK(said == "done");
  failed = host.heap.failed;
  host.heap.until_fail = 0;
  CHECK(host.run(kWork) == "done");
  CHECK(host.run("return require 'rille'.is_grad_enabled()") == "true");
  host.close();
  CHECK(host.heap.bytes == 0);
}

// From the first allocation to the last, a step more for each of those before.
long sweep(double growth) {
  long places = 0;
  bool failed = true;
  for (long k = 1; failed; k += 1 + static_cast<long>(static_cast<double>(k) * growth)) {
    starve(k, failed);
    ++places;
  }
  return places;
}

}  // namespace

TEST_CASE("every stage of require and of training survives a failed allocation") {
  CHECK(sweep(0.01) > 100);
}

TEST_CASE("each single allocation of require and of training may fail", "[slow]") {
  CHECK(sweep(0) > 1000);
}
