#include <fmt/format.h>

#include <map>
#include <optional>

#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/printable.h"
#include "interpreter/shell/commands.h"
#include "ops/selftest.h"

namespace rille::shell {
namespace {

struct Count {
  int passed = 0, failed = 0;
};

// The ops that the words name; all of them where they name none. Empty where a name is unknown.
std::vector<const OpInfo*> chosen(const Words& names) {
  if (names.empty()) return {all_ops().begin(), all_ops().end()};
  std::vector<const OpInfo*> out;
  for (const std::string& n : names) {
    const OpInfo* op = find_op(n);
    if (!op) {
      complain(fmt::format("rille selftest: there is no op '{}'\n", n));
      return {};
    }
    out.push_back(op);
  }
  return out;
}

constexpr const char* kUsage = "usage: rille selftest [OP...] [--device D] [--grad] [--perf]\n";

struct Asked {
  SelftestOptions options{.gradients = false};
  bool perf = false;
  Words names;
};

// What the words ask for, or nothing once it was said what is wrong with them.
std::optional<Asked> read(const Words& words) {
  Asked asked;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (w == "--grad") {
      asked.options.gradients = true;
    } else if (w == "--perf") {
      asked.perf = true;
    } else if (w == "--device") {
      const std::string device = i + 1 < words.size() ? words[++i] : "";
      if (device == "cpu") continue;
      complain(
          fmt::format("rille selftest: --device takes 'cpu', got '{}'\n", lua::reported(device)));
      return {};
    } else if (w.starts_with("-")) {
      complain(
          fmt::format("rille selftest: there is no option '{}'\n{}", lua::reported(w), kUsage));
      return {};
    } else {
      asked.names.push_back(w);
    }
  }
  return asked;
}

}  // namespace

int selftest_command(const Words& words) {
  const std::optional<Asked> asked = read(words);
  if (!asked) return 2;
  const auto& [options, perf, names] = *asked;
  const std::vector<const OpInfo*> ops = chosen(names);
  if (ops.empty()) return 2;
  std::map<std::string_view, Count> by_check;
  Count all;
  for (const OpInfo* op : ops)
    for (const SelftestResult& r : selftest(*op, options)) {
      ++(r.passed ? by_check[r.check].passed : by_check[r.check].failed);
      ++(r.passed ? all.passed : all.failed);
      if (!r.passed) fmt::print("{} sample {}: {}: {}\n", r.op, r.sample, r.check, r.message);
    }
  for (const auto& [check, n] : by_check)
    fmt::print("{:<16} {:>6} passed {:>4} failed\n", check, n.passed, n.failed);
  fmt::print("{} ops\n{} passed, {} failed\n", ops.size(), all.passed, all.failed);
  if (all.failed != 0) return 1;
  return perf ? bench_command(names) : 0;
}

}  // namespace rille::shell
