#include "interpreter/shell/session.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string_view>

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

constexpr int64_t kSecond = 1'000'000'000;
std::atomic<int64_t> came_at{0};  // when the last SIGINT came to a shell; 0: none since it waited

int64_t nanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

// Of a script, the second signal ends the program. A shell has more to lose than what runs: there
// it is a SIGINT within a second of another.
bool next_one_ends(int signal) {
  return signal != SIGINT || !interruptible || !interruptible->policy.interactive;
}
bool ends(int signal) {
  if (next_one_ends(signal)) return false;
  const int64_t now = nanoseconds(), before = came_at.exchange(now);
  return before != 0 && now - before < kSecond;
}

// It stops the script in order. The system may hand a signal to any thread of the pool, and Lua may
// be touched by the script's alone.
void on_signal(int signal) {
  if (!pthread_equal(pthread_self(), script_thread)) {
    pthread_kill(script_thread, signal);
    return;
  }
  const bool now = ends(signal);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  if (now || next_one_ends(signal)) sigaction(signal, &usual, nullptr);
  if (now) raise(signal);  // it is held back until this function is left
  if (interruptible) lua::interrupt(*interruptible, signal);
}

// No SA_RESTART: a script that waits for input must stop waiting.
void handle(int signal, void (*handler)(int), struct sigaction& before) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, &before);
}

}  // namespace

Interruptible::Interruptible(lua::Interpreter& in) : ops_(in) {
  interruptible = &in;
  script_thread = pthread_self();
  came_at = 0;
  handle(SIGINT, on_signal, interrupt_);
  handle(SIGTERM, on_signal, terminate_);
}
Interruptible::~Interruptible() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
  interruptible = nullptr;
}

Session::Session(const lua::Policy& policy, void (*bind)(lua::Interpreter&)) {
  in_.policy = policy;
  in_.stress = stress_wanted();
  lua::open_state(in_, bind);
}

Session::Opened::~Opened() {
  lua::close_state(in);
  if (in.stress.failures > 0)
    complain(fmt::format("rille: {} Lua allocations failed on purpose\n", in.stress.failures));
}

}  // namespace rille::shell
