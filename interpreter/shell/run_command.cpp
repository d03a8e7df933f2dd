#include <fmt/format.h>
#include <pthread.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <system_error>

#include "interpreter/bind/bind.h"
#include "interpreter/lua/interrupt.h"
#include "interpreter/lua/open.h"
#include "interpreter/shell/commands.h"

namespace rille::shell {
namespace {

// ---- what tests ask for: RILLE_GC_STRESS=1, RILLE_FAIL_ALLOC=n, =@n or =@n+count
// (docs/testing.md)
// -----------------------------------------------------------------------------------------

lua::Stress stress_wanted() {
  lua::Stress s;
  const char* collect = std::getenv("RILLE_GC_STRESS");
  s.collect = collect && *collect && *collect != '0';
  const char* fail = std::getenv("RILLE_FAIL_ALLOC");
  if (!fail) return s;
  std::string_view text(fail);
  s.repeat = !text.starts_with('@');
  s.fail_count = s.repeat ? 2 : 1;
  if (!s.repeat) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto at = std::from_chars(text.data(), end, s.fail_at);
  if (at.ptr < end && *at.ptr == '+') std::from_chars(at.ptr + 1, end, s.fail_count);
  return s;
}

// ---- signals
// -------------------------------------------------------------------------------------

lua::Interpreter* interruptible = nullptr;
pthread_t script_thread;

// The first one stops the script in order; the second does what signals do. The system may hand a
// signal to any thread of the pool, and Lua may be touched by the script's alone.
void on_signal(int signal) {
  if (!pthread_equal(pthread_self(), script_thread)) {
    pthread_kill(script_thread, signal);
    return;
  }
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  if (interruptible) lua::interrupt(*interruptible, signal);
}

// No SA_RESTART: a script that waits for input must stop waiting.
void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// Lets signals interrupt a script for as long as it runs.
class Interruptible {
 public:
  explicit Interruptible(lua::Interpreter& in) {
    interruptible = &in;
    script_thread = pthread_self();
    handle(SIGINT, on_signal);
    handle(SIGTERM, on_signal);
  }
  ~Interruptible() { interruptible = nullptr; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
};

// ---- running
// -------------------------------------------------------------------------------------

// An interpreter for as long as a script runs, closed on every way out.
class Session {
 public:
  Session() {
    in_.stress = stress_wanted();
    lua::open_state(in_, bind::bind_all);
  }
  ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  lua::Interpreter& interpreter() { return in_; }

 private:
  // A member of its own, so that the state is closed where the constructor throws, too.
  struct Opened {
    lua::Interpreter in;
    ~Opened() {
      lua::close_state(in);
      if (in.stress.failures > 0)
        fmt::print(stderr, "rille: {} Lua allocations failed on purpose\n", in.stress.failures);
    }
  };
  Opened opened_;
  lua::Interpreter& in_ = opened_.in;
};

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

int run_command(const Words& words) {
  if (words.empty() || (words[0] == "-e" && words.size() < 2)) {
    fmt::print(stderr,
               "usage: rille run FILE [flags], rille run -e CODE [words] or rille run - [words]\n");
    return 2;
  }
  Session session;
  return finish(session, run_words(session.interpreter(), words));
}

}  // namespace rille::shell
