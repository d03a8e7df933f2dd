#include <cstdio>
#include <iostream>
#include <iterator>

#include "interpreter/bind/bind.h"
#include "interpreter/lua/open.h"
#include "interpreter/shell/commands.h"

namespace rille::shell {
namespace {

// Opens an interpreter for as long as a script runs, and closes it on every way out.
class Session {
 public:
  Session() {
    lua::open_state(in_);
    bind::bind_all(in_);
    lua::finish_state(in_);
  }
  ~Session() { lua::close_state(in_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  lua::Interpreter& interpreter() { return in_; }

 private:
  lua::Interpreter in_;
};

lua::Outcome run_words(lua::Interpreter& in, const Words& words) {
  if (words[0] == "-e")
    return lua::run_text(in, words[1], "=(command line)", {words.begin() + 2, words.end()});
  const Words arguments(words.begin() + 1, words.end());
  if (words[0] != "-") return lua::run_file(in, words[0], arguments);
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  return lua::run_text(in, text, "=stdin", arguments);
}

}  // namespace

int run_command(const Words& words) {
  if (words.empty() || (words[0] == "-e" && words.size() < 2)) {
    std::fprintf(
        stderr,
        "usage: rille run FILE [flags], rille run -e CODE [words] or rille run - [words]\n");
    return 2;
  }
  Session session;
  const lua::Outcome out = run_words(session.interpreter(), words);
  std::fflush(stdout);
  if (!out.error.empty()) std::fprintf(stderr, "%s\n", out.error.c_str());
  return out.status;
}

}  // namespace rille::shell
