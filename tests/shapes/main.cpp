// rille_shapes FAMILY [--seconds N] [--seed S|clock] [--only TRIAL] [--case K]: the family's
// trials, as often as each says or for so many seconds. The last line is "N cases, M wrong"; the
// status is 1 where M is not 0.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

std::vector<Family*>& families() {
  static std::vector<Family*> all;
  return all;
}

// A round is a tenth of the cases, so that a long run sees all trials from the start. Under
// AddressSanitizer, where each takes several times as long, three are a short run.
#if defined(__SANITIZE_ADDRESS__)
constexpr int64_t kRounds = 3;
#else
constexpr int64_t kRounds = 10;
#endif

struct Options {
  const char* only = nullptr;
  int64_t only_case = -1;
  double seconds = 0;
  uint64_t seed = 1;
};

struct Counts {
  int64_t cases = 0, wrong = 0;
};

void run_case(const Trial& trial, int64_t number, const Options& o, Counts& counts) {
  Dice dice((o.seed * 1000003 + static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15u);
  Outcome outcome;
  try {
    outcome = trial.run(dice);
  } catch (const std::exception& e) {
    outcome.wrong = e.what();
  }
  ++counts.cases;
  if (outcome.wrong.empty()) return;
  if (++counts.wrong <= 20)
    std::printf("%s, case %lld of seed %llu: %s\n  %s\n", trial.name,
                static_cast<long long>(number), static_cast<unsigned long long>(o.seed),
                outcome.what.c_str(), outcome.wrong.c_str());
}

Counts run(const Family& family, const Options& o) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(o.seconds);
  Counts counts;
  int64_t round = 0;
  do {
    for (const Trial& trial : family.trials) {
      if (o.only && std::strcmp(o.only, trial.name) != 0) continue;
      if (o.only_case >= 0) {
        run_case(trial, o.only_case, o, counts);
        continue;
      }
      const int64_t each = (trial.cases + 9) / 10;
      for (int64_t i = round * each; i < (round + 1) * each; ++i) run_case(trial, i, o, counts);
    }
    ++round;
  } while (o.only_case < 0 && (o.seconds > 0 ? Clock::now() < end : round < kRounds));
  return counts;
}

int usage() {
  std::fprintf(stderr,
               "usage: rille_shapes FAMILY [--seconds N] [--seed S|clock] [--only TRIAL] "
               "[--case K]\nfamilies:");
  for (const Family* f : families()) std::fprintf(stderr, " %s", f->name);
  std::fprintf(stderr, "\n");
  return 2;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) return usage();
  Options o;
  for (int i = 2; i < argc; i += 2) {
    const std::string_view flag = argv[i];
    const char* value = argv[i + 1];
    if (flag == "--only")
      o.only = value;
    else if (flag == "--case")
      o.only_case = std::atoll(value);
    else if (flag == "--seconds")
      o.seconds = std::atof(value);
    else if (flag == "--seed" && std::string_view(value) == "clock")
      o.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    else if (flag == "--seed")
      o.seed = std::strtoull(value, nullptr, 10);
    else
      return usage();
  }
  for (const Family* f : families())
    if (std::strcmp(f->name, argv[1]) == 0) {
      const Counts counts = run(*f, o);
      std::printf("%s, seed %llu: %lld cases, %lld wrong\n", f->name,
                  static_cast<unsigned long long>(o.seed), static_cast<long long>(counts.cases),
                  static_cast<long long>(counts.wrong));
      return counts.wrong || counts.cases == 0 ? 1 : 0;
    }
  return usage();
}

}  // namespace

Family::Family(const char* n, std::vector<Trial> t) : name(n), trials(std::move(t)) {
  families().push_back(this);
}

}  // namespace rille::shapes

int main(int argc, char** argv) { return rille::shapes::main(argc, argv); }
