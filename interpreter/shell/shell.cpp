#include "interpreter/shell/shell.h"

#include <cstdio>
#include <iostream>
#include <iterator>

#include "core/error.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/open.h"

namespace rille::shell {
namespace {

using Words = std::vector<std::string>;

int run_script(const Words& words) {
  if (words.empty()) {
    std::fprintf(stderr, "usage: rille run FILE [flags]   or   rille run -e CODE [arguments]\n");
    return 2;
  }
  lua::Interpreter in;
  lua::open_state(in);
  bind::bind_all(in);
  lua::finish_state(in);
  lua::Outcome out;
  if (words[0] == "-e") {
    if (words.size() < 2) {
      std::fprintf(stderr, "rille: -e needs a chunk of Lua\n");
      return 2;
    }
    out = lua::run_text(in, words[1], "=(command line)", {words.begin() + 2, words.end()});
  } else if (words[0] == "-") {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    out = lua::run_text(in, text, "=stdin", {words.begin() + 1, words.end()});
  } else {
    out = lua::run_file(in, words[0], {words.begin() + 1, words.end()});
  }
  std::fflush(stdout);
  if (!out.error.empty()) std::fprintf(stderr, "%s\n", out.error.c_str());
  lua::close_state(in);
  return out.status;
}

}  // namespace

int run(const std::vector<std::string>& words) {
  try {
    if (!words.empty() && words[0] == "run") return run_script({words.begin() + 1, words.end()});
    return run_script(words);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rille: %s\n", e.what());
    return 70;
  }
}

}  // namespace rille::shell
