// What the standard library needs of the terminal, of texts that go there and of signals. A signal
// that arrives is only noted; the training loop asks for it at the end of a step. A second one ends
// the program.
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "interpreter/bind/bind.h"
#include "interpreter/bind/terminal.h"
#include "interpreter/lua/printable.h"
#include "io/utf8.h"

namespace rille::bind {

int columns_of(int descriptor) {
  winsize w{};
  return ioctl(descriptor, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}
namespace {

std::atomic<int> arrived{0};

void note(int signal) {
  if (arrived.exchange(signal) != 0) _exit(128 + signal);
}

// What SIGINT and SIGTERM did before they were watched.
struct sigaction before[2];
std::atomic<bool> watching{false};

// native.watch_signals(): from now on the first SIGINT or SIGTERM waits to be asked for. In a
// host's process they are the host's, which has an interrupt of its own.
void watch_signals(Call& c) {
  if (c.interpreter().hosted || watching.exchange(true)) return;
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &before[0]);
  sigaction(SIGTERM, &action, &before[1]);
}

// native.release_signals(): they do again what they did, and one that came is forgotten.
void release_signals(Call&) {
  if (!watching.exchange(false)) return;
  sigaction(SIGINT, &before[0], nullptr);
  sigaction(SIGTERM, &before[1], nullptr);
  arrived = 0;
}

// native.signal() -> nil, "SIGINT" or "SIGTERM"
void signal_arrived(Call& c) {
  if (c.interpreter().hosted) return c.give({});
  watch_signals(c);
  const int s = arrived.load();
  if (s == 0) return c.give({});
  c.give(s == SIGINT ? "SIGINT" : "SIGTERM");
}

void is_a_terminal(Call& c) {
  const auto descriptor = static_cast<int>(c.integer(1, "descriptor"));
  const Interpreter& in = c.interpreter();
  const bool elsewhere = descriptor == STDERR_FILENO ? in.log != stderr : in.out != stdout;
  c.give(!elsewhere && isatty(descriptor) == 1);
}

void terminal_width(Call& c) { c.give(columns_of(STDERR_FILENO)); }

// native.shown(name) -> a name out of a file or of a stranger's, fit for a terminal and in one line
void shown(Call& c) { c.give(io::shown(c.string(1, "name"))); }

// native.reported(text) -> an error's text as the program shows it
void reported(Call& c) { c.give(lua::reported(c.string(1, "text"))); }

void step(Call&) {}

}  // namespace

void bind_system(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"isatty", is_a_terminal},
                                            {"terminal_width", terminal_width},
                                            {"shown", shown},
                                            {"reported", reported},
                                            {"step", step}};
  lua::define_functions(in, "rille.native", natives);
  static constexpr NativeEntry of_process[] = {{"signal", signal_arrived},
                                               {"watch_signals", watch_signals},
                                               {"release_signals", release_signals}};
  lua::define_outside(in, "rille.native", of_process);
}

}  // namespace rille::bind
