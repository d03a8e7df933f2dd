#include "interpreter/shell/commands.h"

namespace rille::shell {
namespace {

// How many of the words are options: those before the script, with their values.
size_t options_before(const Words& words) {
  size_t n = 0;
  while (n < words.size() && words[n].starts_with("--"))
    n += words[n] == "--json" || words[n].find('=') != std::string::npos ? 1 : 2;
  return n;
}

}  // namespace

int plan_command(const Words& words) {
  const size_t n = options_before(words);
  if (n >= words.size() || words[n].starts_with("-")) {
    complain("usage: rille plan [options] FILE [flags]; rille help plan lists the options\n");
    return 2;
  }
  const auto file = words.begin() + static_cast<Words::difference_type>(n);
  return run_instead("plan", {words.begin(), file}, {file, words.end()});
}

}  // namespace rille::shell
