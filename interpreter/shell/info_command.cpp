#include <fmt/format.h>

#include "interpreter/bind/info.h"
#include "interpreter/shell/commands.h"

namespace rille::shell {

std::string_view version() { return RILLE_VERSION; }

int info_command(const Words& words) {
  if (!words.empty()) {
    complain("usage: rille info\n");
    return 2;
  }
  for (const auto& [name, value] : bind::info()) fmt::print("{:<14} {}\n", name, value);
  return 0;
}

}  // namespace rille::shell
