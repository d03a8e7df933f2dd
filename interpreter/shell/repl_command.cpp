// rille repl: the terminal's side of the interactive shell; what inputs mean is in
// stdlib/rille/repl.
#include <fmt/format.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "core/threads.h"
#include "interpreter/lua/interrupt.h"
#include "interpreter/lua/open.h"
#include "interpreter/lua/printable.h"
#include "interpreter/shell/commands.h"
#include "interpreter/shell/line_editor.h"
#include "interpreter/shell/session.h"
#include "io/file.h"

namespace rille::shell {
namespace {

using lua::Call;
using lua::CallbackRef;
using lua::Interpreter;
using lua::Value;

// What the variable says; an empty one names no folder, lest it be the root.
std::string folder_named(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

// Where the state of programs belongs; empty where there is no home, or it can't be written to.
std::string history_path() {
  if (const char* own = std::getenv("RILLE_HISTORY")) return own;
  const std::string state = folder_named("XDG_STATE_HOME"), home = folder_named("HOME");
  if (state.empty() && home.empty()) return {};
  const std::string folder = (state.empty() ? home + "/.local/state" : state) + "/rille";
  try {
    io::make_dirs(folder);
  } catch (const Error&) {
    return {};
  }
  return folder + "/history";
}

// A key that is meant for what runs may come when that has just ended. Programs are started while
// an input runs, so they inherit none of this.
class DeafBetweenInputs {
 public:
  DeafBetweenInputs() : before_(std::signal(SIGINT, SIG_IGN)) {}
  ~DeafBetweenInputs() { std::signal(SIGINT, before_); }
  DeafBetweenInputs(const DeafBetweenInputs&) = delete;
  DeafBetweenInputs& operator=(const DeafBetweenInputs&) = delete;

 private:
  void (*before_)(int);
};

// ---- the loop ---------------------------------------------------------------------------------

class Loop {
 public:
  Loop(Interpreter& in, CallbackRef feed, CallbackRef complete, CallbackRef abandon)
      : in_(in),
        feed_(std::move(feed)),
        complete_(std::move(complete)),
        abandon_(std::move(abandon)),
        editor_([this](std::string_view text) { return completions(text); }, history_path()) {}

  /// `first` are inputs as if typed.
  void run(const std::vector<std::string>& first) {
    for (const std::string& input : first) {
      const std::string came = feed(input);
      if (came == "over") return;
      if (came == "more") input_ = input;
    }
    for (std::string line; in_.signal != SIGTERM;) {
      std::fflush(stdout);
      switch (editor_.read(input_.empty() ? "> " : ">> ", line)) {
        case LineEditor::Read::end: std::fputc('\n', stdout); return;
        case LineEditor::Read::given_up:
          (*abandon_)({});
          input_.clear();
          continue;
        case LineEditor::Read::line: break;
      }
      input_ += (input_.empty() ? "" : "\n") + line;
      const std::string came = feed(line);
      if (came == "more") continue;
      if (input_.find_first_not_of(" \n\t") != input_.npos) editor_.remember(input_);
      input_.clear();
      if (came == "over") return;
    }
  }

 private:
  // An error that reaches this place came between two instructions of the shell's own.
  std::string feed(const std::string& line) {
    std::string came;
    try {
      const Interruptible now(in_);
      const std::vector<Value> result = (*feed_)({line});
      if (!result.empty() && result[0].get<std::string>()) came = *result[0].get<std::string>();
    } catch (const std::exception& e) {
      std::fflush(stdout);
      complain(fmt::format("{}\n", lua::reported(e.what())));
    }
    if (in_.signal == SIGINT) lua::forget_interrupt(in_);
    return came;
  }

  Completions completions(std::string_view text) {
    Completions found;
    const std::vector<Value> result = (*complete_)({text});
    const lua::Table* list = result.size() == 2 ? result[0].table() : nullptr;
    if (!list) return found;
    for (const Value& v : list->list)
      if (const std::string* s = v.get<std::string>()) found.candidates.push_back(*s);
    if (const int64_t* n = result[1].get<int64_t>()) found.replaced = static_cast<size_t>(*n);
    return found;
  }

  Interpreter& in_;
  CallbackRef feed_, complete_, abandon_;
  std::string input_;
  DeafBetweenInputs deaf_;
  LineEditor editor_;
};

// native.read_lines(feed, complete, abandon, first): until the user leaves
void read_lines(Call& c) {
  Loop loop(c.interpreter(), c.function(1, "feed"), c.function(2, "complete"),
            c.function(3, "abandon"));
  std::vector<std::string> first;
  const Value given = c.value(4);
  for (const Value& v : given.table()->list) first.push_back(*v.get<std::string>());
  loop.run(first);
}

void bind_shell(Interpreter& in) {
  bind::bind_all(in);
  static constexpr lua::NativeEntry natives[] = {{"read_lines", read_lines}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace

int explore(const Words& chunks, const Words& words) {
  std::setlocale(LC_CTYPE, "");
  Session session({.interactive = true}, bind_shell);
  fmt::print("rille {}, {}, {} thread{}; .help lists what the shell knows\n", version(),
             lua::lua_version(), threads(), threads() == 1 ? "" : "s");
  Words given{std::to_string(chunks.size())};
  given.insert(given.end(), chunks.begin(), chunks.end());
  given.insert(given.end(), words.begin(), words.end());
  const lua::Outcome out =
      lua::run_text(session.interpreter(), "require 'rille.repl' (...)", "@rille:repl", given);
  if (!out.error.empty()) complain(fmt::format("{}\n", out.error));
  const int signal = session.interpreter().signal;
  return signal ? 128 + signal : out.status;
}

int repl_command(const Words& words) {
  if (words.size() > 1 || (!words.empty() && words[0].starts_with("-"))) {
    complain("usage: rille repl [FILE]\n");
    return 2;
  }
  if (isatty(STDIN_FILENO) == 0) return run_command(words.empty() ? Words{"-"} : words);
  return explore({}, words);
}

}  // namespace rille::shell
