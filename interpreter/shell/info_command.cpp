#include <fmt/format.h>

#include <fstream>

#include "core/threads.h"
#include "cpu/dnn.h"
#include "interpreter/lua/open.h"
#include "interpreter/shell/commands.h"
#include "ops/op_info.h"

namespace rille::shell {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown";
}

std::string instruction_set() {
  if (__builtin_cpu_supports("x86-64-v4")) return "AVX-512";
  if (__builtin_cpu_supports("x86-64-v3")) return "AVX2";
  return "baseline";
}

void line(std::string_view key, const std::string& value) { fmt::print("{:<14} {}\n", key, value); }

}  // namespace

std::string_view version() { return RILLE_VERSION; }

int info_command(const Words&) {
  line("rille", std::string(version()));
  line("lua", std::string(lua::lua_version()));
  line("compiler", __VERSION__);
  line("processor", processor());
  line("kernels", instruction_set());
  line("threads", fmt::format("{}", threads()));
  line("devices", "cpu, cpu:N (logical), meta");
  line("products", cpu::dnn_state());
  line("ops", fmt::format("{}", all_ops().size()));
  return 0;
}

}  // namespace rille::shell
