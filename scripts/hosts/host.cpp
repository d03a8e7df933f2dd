// A C++ program that trains by a script: the interpreter as a library.
//   find_package(rille REQUIRED)   target_link_libraries(host PRIVATE rille::rille)
#include <cstdio>
#include <rille/rille.hpp>
#include <vector>

int main() {
  std::vector<float> samples(64 * 8, 0.5f);  // outlives the interpreter that borrows it
  rille::Interpreter lua{{
      .sandbox = rille::Sandbox::recipe,  // no io, os.execute, bytecode, debug
      .memory_limit = 512u << 20,         // Lua and tensors together
      .instruction_limit = 500'000'000,
  }};
  lua.set("samples", rille::borrow(samples.data(), {64, 8}));  // shared, not copied
  lua.set("report", [](double step, double loss) { std::printf("%g %g\n", step, loss); });
  rille::Result result = lua.run_file("fit.lua");
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    return 1;
  }
  // get and function throw rille::Error; run_* and call return a Result
  rille::Tensor weights = lua.get<rille::Tensor>("weights");
  auto predict = lua.function<rille::Tensor(rille::Tensor)>("predict");
  return predict(weights).dim() == 2 ? 0 : 2;
}
