// Two interpreters in two threads at once: they share nothing, and the same seed gives both the
// same losses, bit for bit.
#include <cstdio>
#include <rille/rille.hpp>
#include <thread>
#include <vector>

const char* const recipe = R"(
  local rille = require "rille"
  local model = rille.nn.Sequential(rille.nn.Linear(4, 8), rille.nn.Tanh(), rille.nn.Linear(8, 1))
  local optimizer = rille.optim.AdamW(model:parameters(), { lr = 0.01 })
  local x, y = rille.randn(32, 4), rille.randn(32, 1)
  losses = {}
  for step = 1, 20 do
    optimizer:zero_grad()
    local loss = rille.mse_loss(model(x), y)
    loss:backward()
    optimizer:step()
    losses[step] = loss:item()
  end
)";

std::vector<double> train(uint64_t seed) {
  rille::Interpreter lua{{.seed = seed}};
  lua.run_string(recipe, "recipe").value();  // throws where it failed
  return lua.get<std::vector<double>>("losses");
}

int main() {
  std::vector<double> a, b, c;
  std::thread first([&] { a = train(1); }), second([&] { b = train(1); });
  first.join();
  second.join();
  c = train(2);
  std::printf("the same seed: %s\n", a == b && a.size() == 20 ? "equal losses" : "a difference");
  std::printf("another seed: %s\n", a != c ? "other losses" : "no difference");
  std::printf("trained: %s\n", a.back() < a.front() ? "yes" : "no");
}
