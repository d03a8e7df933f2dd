#include "interpreter/shell/commands.h"

namespace rille::shell {

int check_command(const Words& words) {
  if (words.empty() || words[0].starts_with("-")) {
    complain("usage: rille check FILE [flags]; rille help check says what it finds\n");
    return 2;
  }
  return run_instead("check", {}, words);
}

}  // namespace rille::shell
