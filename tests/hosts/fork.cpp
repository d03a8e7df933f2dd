// Uses the pool, forks, and uses everything again in the child: products, a script of the parent's
// interpreter, one of its own, a loader with workers. A child that waits for threads that it does
// not have is ended, and the test fails.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "rille/rille.hpp"

using namespace rille;

namespace {

constexpr unsigned kSeconds = 60;

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool close_to(const Tensor& a, const Tensor& b) { return abs(a - b).mean().item<float>() < 1e-3F; }

int in_child(Interpreter& lua, const Tensor& a, const Tensor& product, double sum) {
  alarm(kSeconds);
  if (!close_to(matmul(a, a), product)) return 3;
  const auto again = lua.call("total");
  if (!again || std::fabs(again.value().as<double>() - sum) > 1) return 4;
  Interpreter own;
  if (!own.run_string("local r = require 'rille' assert(r.ones(300, 300):sum():item() == 90000)"))
    return 5;
  data::Loader loader(data::TensorDataset({randn({100, 4})}), {.batch = 10, .workers = 2});
  int batches = 0;
  for (const auto& batch : loader) batches += batch.size() == 1;
  return batches == 10 ? 0 : 6;
}

}  // namespace

int main() {
  const Tensor a = randn({512, 512});
  const Tensor product = matmul(a, a);
  Interpreter lua;
  lua.run_string(R"(
    local x = require "rille".ones(512, 512)
    function total() return x:matmul(x):tanh():sum():item() end)")
      .value();
  const double sum = lua.call("total").value().as<double>();
  for (const bool leaves_by_exit : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      const int status = in_child(lua, a, product, sum);
      if (leaves_by_exit) std::exit(status);
      _exit(status);
    }
    if (const int status = status_of(child); status != 0) {
      std::printf("the child ended with %d\n", status);
      return 1;
    }
  }
  return close_to(matmul(a, a), product) ? 0 : 2;  // the parent has its threads
}
