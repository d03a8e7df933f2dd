// Runs attacks of scripts against the interpreter, each in one of its own: it must end as the
// corpus says, within its limits, without a word on standard error, and a harmless script that runs
// in the same interpreter afterwards must give its usual result.
// Those that are for memory run in processes of their own.
//   rille_attacks FILE [--update] [--only NAME] [--strict] [--here]
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <regex>
#include <thread>

#include "attacks/corpus.h"
#include "attacks/own_memory.h"
#include "core/allocator.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/open.h"

namespace rille::attacks {
namespace {

using Clock = std::chrono::steady_clock;

// What an attack may take beyond its limit: 50 ms is the promise on a machine of its own, to which
// --strict holds it. Tests run side by side on machines that do other things, and under sanitizers.
constexpr double kPromised = 0.05;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kTolerated = 6;
#else
constexpr double kTolerated = 1;
#endif

constexpr const char* kSentinel = R"(
  local rille = require "rille"
  assert(rille.is_grad_enabled(), "grad mode")
  local w = rille.tensor({ 1.0, 2.0 }, { requires_grad = true })
  ;(w * w):sum():backward()
  assert(w.grad[1]:item() == 2 and w.grad[2]:item() == 4, "a gradient")
  local p = rille.tensor({ { 1.0, 2.0 }, { 3.0, 4.0 } }):matmul(rille.ones(2, 1))
  assert(p[1]:item() == 3 and p[2]:item() == 7, "a product")
  local model = rille.nn.Linear(3, 2)
  assert(model(rille.ones(4, 3)):size(2) == 2, "a layer")
  assert(("a1b2"):gsub("%d", "%%") == "a%b%" and ("x"):rep(3) == "xxx", "strings")
  local list = { 3, 1, 2 }
  table.sort(list)
  assert(table.concat(list, ",") == "1,2,3", "tables")
  assert(not pcall(error, "x") and select(2, pcall(error, "x", 0)) == "x", "pcall")
  local co = coroutine.wrap(function(a) return a + coroutine.yield(a) end)
  assert(co(1) == 1 and co(2) == 3, "coroutines")
  assert(tostring(12) == "12" and type(print) == "function" and #{ 1, 2 } == 2, "globals")
)";

// What a file descriptor is written to, for as long as it lives.
class Captured {
 public:
  explicit Captured(int fd) : fd_(fd), before_(dup(fd)), file_(std::tmpfile()) {
    flush();
    dup2(fileno(file_), fd_);
  }
  ~Captured() { end(); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::string end() {
    if (before_ < 0) return {};
    flush();
    dup2(before_, fd_);
    close(before_);
    before_ = -1;
    std::string text;
    std::rewind(file_);
    char piece[4096];
    while (const size_t n = std::fread(piece, 1, sizeof piece, file_)) text.append(piece, n);
    std::fclose(file_);
    return text;
  }

 private:
  static void flush() {
    std::fflush(stdout);
    std::fflush(stderr);
  }
  int fd_, before_;
  std::FILE* file_;
};

// Closed on every way out.
struct Opened {
  lua::Interpreter in;
  explicit Opened(const lua::Policy& policy) {
    in.policy = policy;
    lua::open_state(in, bind::bind_all);
  }
  ~Opened() { close_state(in); }
};

std::string without_traceback(std::string text) {
  text.erase(std::min(text.size(), text.find("\nstack traceback:")));
  return text;
}

// The same character a hundred times and more in a row, as "x{4096}".
std::string shortened(const std::string& text) {
  std::string out;
  for (size_t i = 0, n = 0; i < text.size(); i += n) {
    n = text.find_first_not_of(text[i], i);
    n = (n == text.npos ? text.size() : n) - i;
    out += n < 100 ? text.substr(i, n) : fmt::format("{}{{{}}}", text[i], n);
  }
  return out;
}

// What differs from run to run and from machine to machine.
std::string comparable(std::string text) {
  static const std::regex used("used +[0-9.]+"),
      in_use("(in use|asking|for) +[0-9.]+ [KMG]?i?B?[a-z]*"), held("\n +held by [^\n]*");
  text = std::regex_replace(text, used, "used #");
  text = std::regex_replace(text, in_use, "$1 #");
  text = std::regex_replace(text, held, "");
  // Where the clock catches a script is chance.
  static const std::regex over(
      "attack:[0-9]+: ([A-Za-z0-9_.]+: )?((the run has used|stopped by).*)");
  const std::string line = text.substr(0, std::min<size_t>(text.find('\n'), 200));
  std::smatch found;
  if (std::regex_match(line, found, over)) return found[2];
  return shortened(text);
}

struct Seen {
  std::string kind, text, complaints;
  double seconds = 0;
  double beyond = 0;  // what it took more than its limit of memory, of that limit
};

// Asks a run to stop after a while, unless it has ended by then.
class Stopper {
 public:
  Stopper(lua::Interpreter& in, double after) {
    if (after <= 0) return;
    thread_ = std::thread([&in, after] {
      std::this_thread::sleep_for(std::chrono::duration<double>(after));
      lua::request_stop(in);
    });
  }
  ~Stopper() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

Seen run(const Attack& a) {
  Seen seen;
  Captured out(STDOUT_FILENO), err(STDERR_FILENO);
  {
    Opened opened(a.policy);
    const OwnMemory memory;
    const auto before = Clock::now();
    const auto outcome = [&] {
      const Stopper stopper(opened.in, a.stop_after);
      auto first = lua::run_text(opened.in, a.code, "=attack", {});
      if (a.next.empty() || !first.error.empty()) return first;
      return lua::run_text(opened.in, a.next, "=next", {});
    }();
    seen.seconds = std::chrono::duration<double>(Clock::now() - before).count();
    if (const int64_t limit = a.policy.memory_limit; limit > 0 && OwnMemory::measurable())
      seen.beyond = static_cast<double>(memory.most() - limit) / static_cast<double>(limit);
    if (a.wanted_kind == "prints") {
      seen.kind = outcome.error.empty() ? "prints" : "error";
      seen.text = outcome.error;
    } else if (outcome.error.empty()) {
      const auto value = lua::run_text(opened.in, "error(tostring(result), 0)", "=result", {});
      seen.kind = "result";
      seen.text = without_traceback(value.error);
    } else {
      seen.kind = "error";
      seen.text = comparable(without_traceback(outcome.error));
      if (outcome.status != 1 && outcome.status != lua::kLimitStatus)
        seen.complaints += fmt::format("status {}; ", outcome.status);
    }
    const auto after = lua::run_text(opened.in, kSentinel, "=sentinel", {});
    if (!after.error.empty()) seen.complaints += "afterwards: " + after.error + "; ";
  }
  if (const std::string text = err.end(); !text.empty())
    seen.complaints += "standard error: " + text + "; ";
  const std::string printed = out.end();
  if (seen.kind == "prints") seen.text = printed.substr(0, printed.find_last_not_of('\n') + 1);
  return seen;
}

double limit_of(const Attack& a) { return a.stop_after > 0 ? a.stop_after : a.policy.time_limit; }

// What went wrong, or nothing.
std::string verdict(const Attack& a, const Seen& seen, double tolerated) {
  std::string bad = seen.complaints;
  if (a.wanted_kind != "any" && (seen.kind != a.wanted_kind || seen.text != a.wanted))
    bad +=
        fmt::format("{}:\n{}\nbut wanted {}:\n{}\n", seen.kind, seen.text, a.wanted_kind, a.wanted);
  const double limit = limit_of(a);
  if (limit > 0 && seen.seconds > limit + tolerated) bad += "stopped too late";
  if (a.alone && seen.beyond > a.beyond) bad += "took too much memory";
  return bad;
}

struct Options {
  bool update = false, strict = false;
  bool here = false;  // in this process, which is the attack's own
  std::string only;
};

// One line of what a process printed that runs one attack, and how it ended.
struct Apart {
  std::string line;
  bool fine;
};

Apart run_apart(const std::string& path, const Attack& a, const Options& options) {
  const std::string command = fmt::format("'/proc/{}/exe' '{}' --only {} --here{}", getpid(), path,
                                          a.name, options.strict ? " --strict" : "");
  std::FILE* out = popen(command.c_str(), "r");
  if (!out) throw std::runtime_error("no process can be had");
  Apart apart;
  char piece[4096];
  while (std::fgets(piece, sizeof piece, out)) apart.line += piece;
  apart.fine = pclose(out) == 0;
  return apart;
}

// The attack that was furthest beyond its limit.
struct Furthest {
  double past = 0;
  std::string name;
  void see(double now, const std::string& who) {
    if (now > past) *this = {now, who};
  }
};

// What a line says of an attack: "ok, 3.1 ms after its limit, 4.2 % of memory beyond it".
std::string told(const Attack& a, const Seen& seen, const std::string& bad) {
  std::string line = bad.empty() ? "ok" : "NOT OK: " + bad;
  if (const double limit = limit_of(a); limit > 0)
    line += fmt::format(", {:.1f} ms after its limit", (seen.seconds - limit) * 1e3);
  if (a.alone && OwnMemory::measurable())
    line += fmt::format(", {:.1f} % of memory beyond its limit", seen.beyond * 100);
  return line;
}

// The number before `words` in a line that `told` made.
double number_before(const std::string& line, const std::string& words) {
  const size_t at = line.find(words);
  if (at == line.npos) return 0;
  return std::strtod(line.c_str() + line.rfind(' ', at - 1), nullptr);
}

int run_all(const std::string& path, const Options& options) {
  std::vector<Attack> all = read_corpus(path);
  int failed = 0, late = 0;
  Furthest latest, largest;
  for (Attack& a : all) {
    if (!options.only.empty() && a.name != options.only) continue;
    if (!options.here) fmt::print("{} ", a.name);
    std::fflush(stdout);  // a crash must not hide which it was
    std::string line;
    bool fine = false;
    if (a.alone && !options.here && !options.update) {
      const Apart apart = run_apart(path, a, options);
      line = apart.line.empty() ? "NOT OK: a crash\n" : apart.line, fine = apart.fine;
    } else {
      const Seen seen = run(a);
      const std::string bad = verdict(a, seen, options.strict ? kPromised : kTolerated);
      if (options.update && a.wanted_kind != "any") a.wanted_kind = seen.kind, a.wanted = seen.text;
      line = told(a, seen, bad) + "\n", fine = bad.empty();
    }
    fmt::print("{}", line);
    const double past = number_before(line, " ms after") / 1e3;
    latest.see(past, a.name);
    largest.see(number_before(line, " % of memory"), a.name);
    late += past > kPromised;
    failed += !fine;
  }
  if (options.here) return failed > 0;
  fmt::print("{} attacks, {} not ok; {} ended more than {} ms after their limit", all.size(),
             failed, late, kPromised * 1e3);
  if (!latest.name.empty())
    fmt::print(", the latest, {}, {:.1f} ms", latest.name, latest.past * 1e3);
  if (!largest.name.empty())
    fmt::print("; the largest, {}, took {:.1f} % beyond its limit", largest.name, largest.past);
  fmt::print("\n");
  if (options.update) write_corpus(path, all);
  return failed > 0;
}

}  // namespace
}  // namespace rille::attacks

int main(int argc, char** argv) {
  rille::attacks::Options options;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--update") == 0) options.update = true;
    if (std::strcmp(argv[i], "--strict") == 0) options.strict = true;
    if (std::strcmp(argv[i], "--here") == 0) options.here = true;
    if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) options.only = argv[++i];
  }
  try {
    return argc > 1 ? rille::attacks::run_all(argv[1], options) : 2;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
