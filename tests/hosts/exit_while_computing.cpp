// main returns while a detached thread is inside of the library, which must not find that anything
// it uses is gone.
#include <chrono>
#include <string_view>
#include <thread>

#include "rille/rille.hpp"

using namespace rille;

int main(int argc, char** argv) {
  const bool script = argc > 1 && std::string_view(argv[1]) == "script";
  if (script) {
    auto* lua = new Interpreter;
    std::thread([lua] {
      (void)!bool(lua->run_string(R"(
        local rille = require "rille"
        local a = rille.randn(128, 128)
        while true do a = a:matmul(a):tanh() end)"));
    }).detach();
  } else {
    std::thread([] {
      for (Tensor a = randn({128, 128});;) a = tanh(matmul(a, a));
    }).detach();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  return 0;
}
