#include <fmt/format.h>

#include <map>

#include "interpreter/lua/diagnose.h"
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
      fmt::print(stderr, "rille selftest: there is no op '{}'\n", n);
      return {};
    }
    out.push_back(op);
  }
  return out;
}

}  // namespace

int selftest_command(const Words& words) {
  SelftestOptions options;
  options.gradients = false;
  Words names;
  for (const std::string& w : words) {
    if (w == "--grad")
      options.gradients = true;
    else if (w.starts_with("-")) {
      fmt::print(stderr, "usage: rille selftest [OP...] [--grad]\n");
      return 2;
    } else
      names.push_back(w);
  }
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
  return all.failed == 0 ? 0 : 1;
}

}  // namespace rille::shell
