#include "interpreter/shell/commands.h"

namespace rille::shell {
namespace {

// The files that tell an editor what `rille` has.
int write_annotations(const std::string& folder) {
  return run_text(
      "local n = require 'rille.annotations'.write(arg[1])\n"
      "print(('%d files in %s'):format(n, arg[1]))",
      "=help", {folder});
}

// What a name of the library does and takes.
int explain(const std::string& name) {
  return run_text(
      "local text, problem = require 'rille.annotations.help'(arg[1])\n"
      "if text then return print(text) end\n"
      "io.stderr:write('rille help: ', problem, '\\n')\n"
      "require 'rille.fail'.exit(2)",
      "=help", {name});
}

}  // namespace

int help_command(const Words& words) {
  if (words[0] != "--luacats") return explain(words[0]);
  if (words.size() == 2) return write_annotations(words[1]);
  complain("usage: rille help --luacats DIR\n");
  return 2;
}

}  // namespace rille::shell
