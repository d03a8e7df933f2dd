// misuse_ops [--seed N|clock] [--calls N] [--seconds S] [--only N] [--op NAME] [--verbose]: calls
// of every op, internal ones and forms in place included, with arguments that nobody means. A call
// must give results or an error with a code: no crash, no writing where it has no business, no call
// of more than two seconds. Half of the calls start from one of the op's own samples, so that they
// get past the first check. Call N depends on the seed and N alone: `--seed S --only N` runs it
// again. A crash names the call it happened in. Status 1 where anything was wrong.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "core/allocator.h"
#include "core/budget.h"
#include "core/error.h"
#include "fuzz/misuse_arguments.h"
#include "ops/op.h"

namespace rille::misuse {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  uint64_t seed = 1;
  int64_t calls = 3000, only = -1;
  double seconds = 0;
  const OpInfo* op = nullptr;
  bool verbose = false;
};

// ---- the call under way, as a crash or the watchdog names it
// ---------------------------------------

#if defined(__SANITIZE_ADDRESS__)
constexpr double kSlow = 10, kStuck = 100;
#else
constexpr double kSlow = 2, kStuck = 20;  // seconds
#endif

char under_way[1 << 16];
std::atomic<int64_t> began_at{0};  // in ns of the clock; 0 between calls

void set_under_way(const std::string& text) {
  const size_t n = std::min(text.size(), sizeof under_way - 2);
  std::memcpy(under_way, text.data(), n);
  under_way[n] = '\n';
  under_way[n + 1] = 0;
}

void tell_crash(int signal) {
  constexpr char what[] = "crashed: ";
  (void)!write(2, what, sizeof what - 1);
  (void)!write(2, under_way, std::strlen(under_way));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int64_t now() { return Clock::now().time_since_epoch().count(); }

// Ends the process where a call does not return.
void watch() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const int64_t since = began_at;
    if (since == 0 || now() - since < static_cast<int64_t>(kStuck * 1e9)) continue;
    constexpr char what[] = "does not return: ";
    (void)!write(2, what, sizeof what - 1);
    (void)!write(2, under_way, std::strlen(under_way));
    std::_Exit(1);
  }
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// ---- one call
// --------------------------------------------------------------------------------------

std::vector<Tensor> leaves_of(const ArgBlock& args) {
  std::vector<Tensor> out;
  each_tensor(args.op(), args.get(), [&](size_t, Tensor& t) {
    if (autograd::requires_grad(t)) out.push_back(t);
  });
  return out;
}

constexpr int64_t kMostSeeds = 1 << 20;  // an expanded result may name more than memory holds

// Gradients of what has one, from seeds that mostly fit; those of these, too, at times.
void differentiate(std::vector<Tensor> ends, const std::vector<Tensor>& leaves, Dice& dice,
                   Walled& memory) {
  for (int order = 0; order < 2; ++order) {
    std::vector<Tensor> roots, seeds;
    for (const Tensor& t : ends) {
      if (!t || !t.is_float() || !t.needs_grad() || t.numel() > kMostSeeds) continue;
      roots.push_back(t);
      if (t.is_meta())
        seeds.push_back(Tensor::empty(t.meta()));
      else
        seeds.push_back(dice.one_in(12) ? any_tensor(dice, memory)
                                        : memory.tensor(t.shape(), t.dtype(), dice));
    }
    if (roots.empty() || leaves.empty()) return;
    const bool again = order == 0 && dice.one_in(2);
    ends = autograd::grad(roots, leaves, seeds, {.create_graph = again, .allow_unused = true});
    if (!again) return;
  }
}

struct Counts {
  int64_t calls = 0, results = 0, errors = 0, wrong = 0;
  std::map<std::string, int64_t> codes;
  double slowest = 0;
};

class Caller {
 public:
  explicit Caller(const Options& o) : o_(o) {
    const auto limited = [&](double seconds) {
      const Limits limits{.memory = int64_t{64} << 20, .seconds = seconds};
      return std::make_shared<Budget>(limits, stop_, Context::current());
    };
    plain_ = limited(0), timed_ = limited(1);
  }

  void call(int64_t number) {
    Dice dice((o_.seed * 1000003 + static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15u);
    const auto ops = all_ops();
    const OpInfo& op = o_.op ? *o_.op : *ops[dice.word() % ops.size()];
    set_under_way(fmt::format("call {} of seed {}: {}", number, o_.seed, op.name));
    const std::string wrong = run(op, number, dice);
    ++counts_.calls;
    if (wrong.empty()) return;
    if (++counts_.wrong <= 50) std::printf("%s: %s", wrong.c_str(), under_way);
    std::fflush(stdout);
  }

  const Counts& counts() const { return counts_; }

 private:
  std::string run(const OpInfo& op, int64_t number, Dice& dice) {
    Walled memory;
    Context& context = Context::current();
    context.generator = {o_.seed, 0};
    std::string wrong;
    double took = 0;
    {
      ArgBlock args = drawn(op, dice, memory);
      const bool in_place = op.in_place && dice.one_in(3);
      set_under_way(fmt::format("call {} of seed {}: {}{}", number, o_.seed,
                                in_place ? "in place: " : "", described(args)));
      if (o_.verbose) std::fputs(under_way, stdout), std::fflush(stdout);
      const std::shared_ptr<Budget>& budget = dice.one_in(2) ? plain_ : timed_;
      const Spending spending(budget.get());
      budget->begin_run();
      began_at = now();
      const double before = cpu_seconds();
      const auto start = Clock::now();
      wrong = outcome(args, in_place, dice, memory);
      // Not the time that other programs take, nor that of each thread.
      const std::chrono::duration<double> passed = Clock::now() - start;
      took = std::min(cpu_seconds() - before, passed.count());
      began_at = 0;
      budget->end_run();
    }
    counts_.slowest = std::max(counts_.slowest, took);
    if (took > kSlow) wrong += fmt::format("took {:.1f} s; ", took);
    if (!memory.whole()) wrong += "wrote outside of an argument; ";
    if (!canaries_.whole()) wrong += "wrote outside of its memory; ", canaries_ = Canaries();
    return wrong;
  }

  ArgBlock drawn(const OpInfo& op, Dice& dice, Walled& memory) {
    SampleList& samples = samples_[&op];
    if (samples.empty()) op.samples(samples);
    const bool from_sample = !samples.empty() && dice.one_in(2);
    ArgBlock args = from_sample ? samples[dice.word() % samples.size()].args.clone() : ArgBlock(op);
    for (const FieldInfo& f : op.fields)
      if (f.kind == ArgKind::draw) args.at<Draw>(f) = {7, 7, true};
    if (from_sample)
      bend(args, dice, memory);
    else
      fill(args, dice, memory);
    return args;
  }

  // What is wrong with how the call ended; empty where it ended as a call may.
  std::string outcome(const ArgBlock& args, bool in_place, Dice& dice, Walled& memory) {
    const uint32_t unusual =
        dice.one_in(6) ? dice.any_of<uint32_t>({kInference, kDeterministic}) : 0;
    const FlagScope flags(unusual, true);
    const FlagScope quiet(kGrad, !dice.one_in(4));
    try {
      const std::vector<Tensor> leaves = leaves_of(args);
      Results results;
      if (in_place)
        results.push_back(call_in_place(args.op(), args.get()));
      else
        call_erased(args.op(), args.get(), results);
      ++counts_.results;
      differentiate({results.begin(), results.end()}, leaves, dice, memory);
    } catch (const Error& e) {
      ++counts_.errors;
      ++counts_.codes[e.code()];
      if (o_.verbose) std::printf("  %s %s\n", e.code().c_str(), e.what());
      if (!e.code().starts_with("E_") || e.code() == "E_INTERNAL" || e.text().empty())
        return fmt::format("{} {}; ", e.code(), e.what());
    } catch (const std::exception& e) {
      return fmt::format("an error without a code: {}; ", e.what());
    } catch (...) {
      return "something else was thrown; ";
    }
    return {};
  }

  const Options o_;
  std::atomic<bool> stop_{false};
  std::shared_ptr<Budget> plain_, timed_;
  std::map<const OpInfo*, SampleList> samples_;
  Canaries canaries_;
  Counts counts_;
};

// ---- the command line
// -----------------------------------------------------------------------------

int usage() {
  std::fprintf(stderr,
               "usage: misuse_ops [--seed N|clock] [--calls N] [--seconds S] [--only N] "
               "[--op NAME] [--verbose]\n");
  return 2;
}

bool read(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--verbose") {
      o.verbose = true;
      continue;
    }
    if (++i == argc) return false;
    const std::string_view value = argv[i];
    if (flag == "--calls")
      o.calls = std::atoll(argv[i]);
    else if (flag == "--seconds")
      o.seconds = std::atof(argv[i]);
    else if (flag == "--only")
      o.only = std::atoll(argv[i]);
    else if (flag == "--op" && find_op(value))
      o.op = find_op(value);
    else if (flag == "--seed" && value == "clock")
      o.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    else if (flag == "--seed")
      o.seed = std::strtoull(argv[i], nullptr, 10);
    else
      return false;
  }
  return true;
}

int main(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) return usage();
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(s, tell_crash);
  std::thread(watch).detach();
  memory::set_limit(int64_t{1} << 30);
  Caller caller(o);
  const auto end = Clock::now() + std::chrono::duration<double>(o.seconds);
  if (o.only >= 0)
    caller.call(o.only);
  else
    for (int64_t i = 0; o.seconds > 0 ? Clock::now() < end : i < o.calls; ++i) caller.call(i);
  const Counts& c = caller.counts();
  std::printf("seed %llu: %lld calls, %lld with results, %lld errors, slowest %.2f s, %lld wrong\n",
              static_cast<unsigned long long>(o.seed), static_cast<long long>(c.calls),
              static_cast<long long>(c.results), static_cast<long long>(c.errors), c.slowest,
              static_cast<long long>(c.wrong));
  for (const auto& [code, n] : c.codes)
    std::printf("  %-20s %lld\n", code.c_str(), static_cast<long long>(n));
  std::fflush(stdout);
  std::_Exit(c.wrong ? 1 : 0);  // the watchdog never ends
}

}  // namespace
}  // namespace rille::misuse

int main(int argc, char** argv) { return rille::misuse::main(argc, argv); }
