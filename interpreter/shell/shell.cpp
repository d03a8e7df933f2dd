#include "interpreter/shell/shell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "core/error.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/printable.h"
#include "interpreter/shell/commands.h"

namespace rille::shell {
namespace {

struct Command {
  std::string_view name, usage, summary;
  int (*run)(const Words& words);
  std::string_view details = {};  // for rille help NAME
};

int help(const Words& words);

// The one list of commands: help, errors and what runs come from it.
constexpr Command kCommands[] = {
    {"run", "run [options] FILE [flags]",
     "run a script or a recipe; - reads standard input, -e CODE a chunk", run_command,
     "Words after FILE belong to the script: they are its `arg` and `...`. A file that returns a\n"
     "recipe is carried out; rille run FILE --help lists its flags. The first SIGINT or SIGTERM\n"
     "stops a script with an error (a recipe saves first), the second ends the program.\n"
     "\n"
     "Options, before FILE:\n"
     "  -l NAME, -l GLOBAL=NAME  require a module and make it a global, as `lua` does\n"
     "  -e CODE                  run a chunk in the place of FILE; also several, in order\n"
     "  -i                       the interactive shell afterwards; the script's locals are its "
     "own.\n"
     "                           Where the input is no terminal, that is run as a script then\n"
     "\n"
     "For scripts of strangers (docs/sandbox.md):\n"
     "  --sandbox                no files, processes, environment or addresses\n"
     "  --max-instructions N     Lua instructions\n"
     "  --max-seconds S          time\n"
     "  --max-memory SIZE        Lua's memory and tensors together, such as 64MiB\n"
     "  --max-lua-memory SIZE, --max-tensor-memory SIZE\n"
     "                           each alone\n"
     "A script that has used up one of them stops with an error and status 3.\n"},
    {"plan", "plan [options] FILE [flags]",
     "what a recipe's step takes of memory and work, by precision; nothing is computed",
     plan_command,
     "FILE returns a recipe; flags are those of rille run FILE. The recipe's setup runs, with "
     "modules\n"
     "on meta, then its first steps; data are read as in a run. One line for each setting: bytes "
     "of\n"
     "parameters, gradients, optimizer state, buffers, data (a batch, and what setup has read),\n"
     "activations (what forward leaves for backward), the peak of a step, operations a step\n"
     "(additions and multiplications), and how many more than without checkpoint blocks. The\n"
     "setting of rille run is marked. Evaluation and saves are not counted.\n"
     "\n"
     "  --memory SIZE              such as 8GiB: names the setting that fits with the fewest\n"
     "                             operations; status 1 where none fits\n"
     "  --amp PRECISION            only this one\n"
     "  --checkpoint-blocks POLICY only this one, and none\n"
     "  --nproc N                  figures of each of N processes of distributed data parallel: "
     "the\n"
     "                             recipe's batch in each, and a copy of the gradients to send.\n"
     "                             Optimizer state is not split\n"
     "  --json                     one JSON object a line, sizes in bytes\n"
     "\n"
     "Where the recipe has a flag of one of these names, ours goes before FILE.\n"},
    {"check", "check FILE [flags]", "find mistakes in a script before it runs; nothing is computed",
     check_command,
     "Syntax; names that `rille` and its tables don't have, and globals that nothing defines. "
     "Then,\n"
     "where FILE returns a recipe: flags, setup, a step and an evaluation on meta, which find\n"
     "unknown options, wrong shapes and dtypes. Flags are those of rille run FILE. `sample` and "
     "the\n"
     "functions of `on` are not called. Any other script is not run.\n"
     "Status 0 where nothing is wrong, 1 where something is, 2 for wrong usage.\n"},
    {"repl", "repl [FILE]", "explore: type a line, see its value; also without any command",
     repl_command,
     "History, completion by Tab, input of several lines; locals stay from input to input. .help\n"
     "lists the shell's own commands. FILE is run first. Where the input is no terminal, it is "
     "run\n"
     "as a script.\n"},
    {"help", "help [NAME]", "this list, or what a command or a name of `rille` does and takes",
     help,
     "NAME as in a script (matmul, nn.Linear) or its last part (AdamW).\n"
     "rille help --luacats DIR writes what is in `rille`, with types and defaults, as LuaCATS "
     "files\n"
     "for editors (docs/stock-lua.md).\n"},
    {"info", "info", "versions, devices, libraries and kernels in use", info_command},
    {"selftest", "selftest [OP...] [flags]",
     "check every op on this machine against its definition", selftest_command,
     "Each op's kernel is compared with its composed definition on the op's own samples.\n"
     "Status 1 where a check fails.\n"
     "\n"
     "  --grad      its gradients are compared with finite differences, too\n"
     "  --perf      then how long the ops take, as rille bench tells it\n"
     "  --device D  where: cpu\n"},
    {"bench", "bench [NAME...]", "how long ops take here, one JSON object a line", bench_command,
     "Each line has name, shape, threads, median_ns (of one call from Lua) and repetitions. "
     "Without\n"
     "a NAME a list picked by hand is run; NAME may be one of its names, or any op of one or two\n"
     "tensors. OMP_NUM_THREADS sets the threads.\n"},
};

void print_usage(std::FILE* to) {
  fmt::print(to, "usage: rille COMMAND ...\n\n");
  for (const Command& c : kCommands) fmt::print(to, "  rille {:<28} {}\n", c.usage, c.summary);
  fmt::print(
      to,
      "\n  rille FILE and rille -e CODE are rille run. rille run FILE --help lists a recipe's "
      "flags.\n"
      "\nexit status: 0 done, 1 the script raised an error, 2 wrong usage, 3 a limit was met,\n"
      "             4 no usable checkpoint, 5 another run holds the folder, 70 a fault of Rille,\n"
      "             130 and 143 stopped by a signal after saving\n");
}

int help(const Words& words) {
  if (words.size() > 1 && words[0] != "--luacats") {
    complain("usage: rille help [NAME]\n");
    return 2;
  }
  for (const Command& c : kCommands)
    if (!words.empty() && c.name == words[0]) {
      fmt::print("usage: rille {}\n\n{}\n", c.usage, c.summary);
      if (!c.details.empty()) fmt::print("\n{}", c.details);
      return 0;
    }
  if (!words.empty()) return help_command(words);
  print_usage(stdout);
  return 0;
}

// A word that is no command is a script, unless it only looks like a command.
bool names_a_script(const std::string& word) {
  return word == "-" || word == "-e" || word == "-i" || word == "-l" ||
         word.find('.') != word.npos || word.find('/') != word.npos;
}

int no_such_command(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Command& c : kCommands) names.push_back(c.name);
  const std::string near = lua::nearest(word, names);
  complain(fmt::format("rille: there is no command and no script '{}'{}\n", lua::reported(word),
                       near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
  return 2;
}

int dispatch(const Words& words) {
  if (words.empty()) return repl_command(words);
  const auto asks_for_help = [](const std::string& w) { return w == "--help" || w == "-h"; };
  const std::string& first = words[0];
  if (asks_for_help(first)) return help({});
  if (first == "--version" || first == "-v") {
    fmt::print("rille {}\n", version());
    return 0;
  }
  for (const Command& c : kCommands)
    if (c.name == first)
      return words.size() > 1 && asks_for_help(words[1]) ? help({first})
                                                         : c.run({words.begin() + 1, words.end()});
  return names_a_script(first) ? run_command(words) : no_such_command(first);
}

}  // namespace

namespace {

// A reader that went away, or a limit on file sizes, is an error of the write that met it. Not
// SIG_IGN, which the programs that a script starts would inherit.
void signals_as_errors() {
  const auto nothing = [](int) {};
  std::signal(SIGPIPE, nothing);
  std::signal(SIGXFSZ, nothing);
}

// A program may be started without standard streams; a file that it opens must not become one of
// them. In their places stands what fails at every read, or write, as they would.
void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int held = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest
    if (held >= 0 && held != fd) ::close(held);
  }
}

int failed(const char* what, int status) {
  complain(fmt::format("rille: {}\n", lua::reported(what)));
  return status;
}

int run_caught(int argc, char** argv) {
  try {
    return dispatch({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    return failed("out of memory", 3);
  } catch (const std::system_error& e) {  // of printing
    std::clearerr(stdout);
    return failed(fmt::format("can't write to the standard output: {}", e.code().message()).c_str(),
                  1);
  } catch (const std::exception& e) {
    return failed(e.what(), 70);
  }
}

}  // namespace

void complain(const std::string& text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int run(int argc, char** argv) {
  hold_standard_streams();
  signals_as_errors();
  const int status = run_caught(argc, argv);
  errno = 0;
  const bool unwritten = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!unwritten || status != 0) return status;
  const char* reason = errno ? std::strerror(errno) : "an earlier write failed";
  return failed(fmt::format("can't write to the standard output: {}", reason).c_str(), 1);
}

}  // namespace rille::shell
