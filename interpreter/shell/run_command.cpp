#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <system_error>

#include "interpreter/lua/open.h"
#include "interpreter/lua/printable.h"
#include "interpreter/shell/commands.h"
#include "interpreter/shell/run_options.h"
#include "interpreter/shell/session.h"

namespace rille::shell {
namespace {

lua::Outcome run_words(lua::Interpreter& in, const Words& words) {
  const Words arguments(words.begin() + 1, words.end());
  if (words[0] != "-") {
    const Interruptible now(in);
    return lua::run_file(in, words[0], arguments);
  }
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const Interruptible now(in);
  return lua::run_text(in, text, "=stdin", arguments);
}

bool is_last(const lua::Outcome& out) { return out.status != 0 || out.exited; }

// The chunks of -l and -e, then the script or, behind -e, none; then what is piped in, if that
// takes the shell's place.
lua::Outcome run_all(lua::Interpreter& in, const RunOptions& options, const Words& words,
                     bool piped) {
  lua::Outcome out;
  for (const std::string& chunk : options.chunks) {
    const Interruptible now(in);
    out = lua::run_text(in, chunk, "=(command line)", options.code ? words : Words{});
    if (is_last(out)) return out;
  }
  if (!options.code && !words.empty()) out = run_words(in, words);
  return piped && !is_last(out) ? run_words(in, {"-"}) : out;
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

int run_instead(const std::string& command, const Words& options, const Words& words) {
  Session session;
  lua::Interpreter& in = session.interpreter();
  const Interruptible now(in);
  Words told{command, words[0]};
  told.insert(told.end(), options.begin(), options.end());
  lua::Outcome out =
      lua::run_text(in, "require 'rille.plan.instead'.begin(...)", "=" + command, told);
  if (!is_last(out)) out = lua::run_file(in, words[0], {words.begin() + 1, words.end()});
  if (!is_last(out))
    out = lua::run_text(in, "require 'rille.plan.instead'.finish(...)", "=" + command, {words[0]});
  return finish(session, out);
}

int run_command(const Words& given) {
  Words words = given;
  std::string problem;
  const auto options = take_options(words, problem);
  if (!options) {
    complain(fmt::format("rille: {}\n", lua::reported(problem)));
    return 2;
  }
  const bool nothing = words.empty() && !options->code;
  const bool shell = options->explore || (nothing && options->modules);
  if (shell && isatty(STDIN_FILENO) != 0) {
    if (options->code) words.insert(words.begin(), "-e");
    return explore(options->chunks, words);
  }
  if (nothing && !shell) {
    complain("usage: rille run FILE [flags], rille run -e CODE [words] or rille run - [words]\n");
    return 2;
  }
  Session session(options->policy);
  return finish(session, run_all(session.interpreter(), *options, words, shell));
}

}  // namespace rille::shell
