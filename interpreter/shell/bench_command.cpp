#include "interpreter/shell/commands.h"

namespace rille::shell {

// The cases and the clock are Lua (stdlib/rille/bench.lua), so that what is timed is what a script
// pays.
int bench_command(const Words& words) {
  for (const std::string& w : words)
    if (w.starts_with("-")) {
      complain("usage: rille bench [NAME...]\n");
      return 2;
    }
  return run_text("require 'rille.bench'(...)", "=(bench)", words);
}

}  // namespace rille::shell
