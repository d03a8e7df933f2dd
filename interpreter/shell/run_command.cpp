#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <system_error>

#include "interpreter/lua/open.h"
#include "interpreter/shell/commands.h"
#include "interpreter/shell/policy_words.h"
#include "interpreter/shell/session.h"

namespace rille::shell {
namespace {

lua::Outcome run_words(lua::Interpreter& in, const Words& words) {
  if (words[0] == "-e") {
    const Interruptible now(in);
    return lua::run_text(in, words[1], "=(command line)", {words.begin() + 2, words.end()});
  }
  const Words arguments(words.begin() + 1, words.end());
  if (words[0] != "-") {
    const Interruptible now(in);
    return lua::run_file(in, words[0], arguments);
  }
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const Interruptible now(in);
  return lua::run_text(in, text, "=stdin", arguments);
}

// Prints the error, if any; gives the exit status.
int finish(Session& session, const lua::Outcome& out) {
  if (std::fflush(stdout) != 0 && out.status == 0)
    throw std::system_error(errno, std::generic_category());
  if (!out.error.empty()) std::fprintf(stderr, "%s\n", out.error.c_str());
  // What the signal broke off (a read, say) may have raised first.
  const int signal = session.interpreter().signal;
  return signal && out.status != 0 ? 128 + signal : out.status;
}

}  // namespace

int run_text(const std::string& text, const std::string& chunk, const Words& words) {
  Session session;
  const Interruptible now(session.interpreter());
  return finish(session, lua::run_text(session.interpreter(), text, chunk, words));
}

int run_command(const Words& given) {
  Words words = given;
  std::string problem;
  const auto policy = take_policy(words, problem);
  if (!policy) {
    fmt::print(stderr, "rille: {}\n", problem);
    return 2;
  }
  if (words.empty() || (words[0] == "-e" && words.size() < 2)) {
    fmt::print(stderr,
               "usage: rille run FILE [flags], rille run -e CODE [words] or rille run - [words]\n");
    return 2;
  }
  Session session(*policy);
  return finish(session, run_words(session.interpreter(), words));
}

}  // namespace rille::shell
