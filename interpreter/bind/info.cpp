#include "interpreter/bind/info.h"

#include <fmt/format.h>

#include <fstream>

#include "core/threads.h"
#include "cpu/block_product.h"
#include "cpu/dnn.h"
#include "cpu/tiles.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/open.h"
#include "ops/op_info.h"

namespace rille::bind {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown";
}

std::string instruction_set() {
  if (cpu::has_tiles()) return "AVX-512, bf16 pairs, tiles";
  if (cpu::has_pair_products()) return "AVX-512, bf16 pairs";
  if (__builtin_cpu_supports("x86-64-v4")) return "AVX-512";
  if (__builtin_cpu_supports("x86-64-v3")) return "AVX2";
  return "baseline";
}

// rille.info() -> table of texts
void info_table(Call& c) {
  Table t;
  for (auto& [name, value] : info()) t.named.emplace(name, value);
  c.give(t);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> info() {
  return {{"rille", RILLE_VERSION},
          {"lua", std::string(lua::lua_version())},
          {"compiler", __VERSION__},
          {"processor", processor()},
          {"kernels", instruction_set()},
          {"threads", fmt::format("{}", threads())},
          {"devices", "cpu, cpu:N (logical), meta"},
          {"products", cpu::dnn_state()},
          {"ops", fmt::format("{}", public_ops().size())}};
}

void bind_info(Interpreter& in) {
  static constexpr NativeEntry functions[] = {{"info", info_table}};
  lua::define_functions(in, "rille", functions);
}

}  // namespace rille::bind
