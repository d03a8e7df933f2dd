// Walks every op there is: tests/ops knows no op by name, samples are part of the ops.
// RILLE_OP=name[,name] limits the walk.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "ops/op.h"
#include "ops/selftest.h"

namespace rille {
namespace {

// One of the names in RILLE_OP, or any where it is not set.
bool is_chosen(std::string_view op) {
  const char* only = std::getenv("RILLE_OP");
  if (!only || !*only) return true;
  std::string_view rest = only;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == op) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

std::string described(const SelftestResult& r) {
  std::ostringstream text;
  text << r.op << ", sample " << r.sample << ", " << r.check << ": " << r.message;
  return text.str();
}

TEST_CASE("every op keeps its promises on its samples") {
  std::map<std::string_view, int> checks;
  int ops = 0, samples = 0;
  for (const OpInfo* op : all_ops()) {
    if (!is_chosen(op->name)) continue;
    ++ops;
    for (const SelftestResult& r : selftest(*op)) {
      samples += r.check == "runs";
      ++checks[r.check];
      if (!r.passed) FAIL_CHECK(described(r));
    }
  }
  std::printf("%d ops, %d samples, %d gradient checks, %d second gradient checks\n", ops, samples,
              checks["gradient"], checks["second gradient"]);
  CHECK(ops > 0);
}

TEST_CASE("names, docs and signatures of the ops") {
  std::set<std::string_view> seen;
  for (const OpInfo* op : all_ops()) {
    INFO(op->name);
    CHECK(seen.insert(op->name).second);
    CHECK_FALSE(op->doc.empty());
    CHECK_FALSE(signature(*op).empty());
    for (const FieldInfo& f : op->fields) CHECK_FALSE(f.doc.empty());
  }
}

}  // namespace
}  // namespace rille
