// Every op there is, on values at the edges and on random bits, in f32, bf16 and f16 against f64.
// RILLE_OP=name[,name] limits the walk, RILLE_VALUES_ROUNDS=1000 makes it longer,
// RILLE_VALUES_SEED=7 makes it another one, RILLE_VALUES_TABLE=1 prints the worst error of each.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "ops/values.h"
#include "ops/values_bounds.h"

namespace rille::values {
namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::atoll(text) : otherwise;
}

bool is_chosen(std::string_view op) {
  const char* only = std::getenv("RILLE_OP");
  if (!only || !*only) return true;
  std::istringstream names(only);
  for (std::string name; std::getline(names, name, ',');)
    if (name == op) return true;
  return false;
}

void sweep_all(DType d) {
  const int rounds = static_cast<int>(setting("RILLE_VALUES_ROUNDS", 40));
  const auto seed = static_cast<uint64_t>(setting("RILLE_VALUES_SEED", 1));
  const bool table = setting("RILLE_VALUES_TABLE", 0) != 0;
  int ops = 0, failed = 0;
  int64_t cases = 0;
  double worst = 0;
  for (const OpInfo* op : all_ops()) {
    if (!is_chosen(op->name)) continue;
    const Bound* bound = bound_of(*op, d);
    if (!bound) continue;
    const auto found = sweep(*op, d, *bound, rounds, seed);
    if (!found) continue;
    ++ops;
    cases += found->cases;
    const bool value = found->value.ulps <= bound->value,
               gradient = found->gradient.ulps <= bound->gradient;
    failed += !value || !gradient;
    worst = std::max({worst, found->value.ulps, found->gradient.ulps});
    if (table)
      std::printf("%-28s %-14s %-4s %8lld  %10.3g %10.3g%s%s | %s | %s\n",
                  std::string(op->name).c_str(), std::string(op->family).c_str(),
                  std::string(name(d)).c_str(), static_cast<long long>(found->cases),
                  found->value.ulps, found->gradient.ulps, value ? "" : " VALUE",
                  gradient ? "" : " GRADIENT", found->value.where.c_str(),
                  found->gradient.where.c_str());
    if (!value)
      FAIL_CHECK(op->name << ": " << found->value.ulps << " ulps, " << found->value.where);
    if (!gradient)
      FAIL_CHECK(op->name << ", gradient: " << found->gradient.ulps << " ulps, "
                          << found->gradient.where);
  }
  std::printf("%s: %d ops, %lld cases, worst error %.3g ulps, %d ops failed\n",
              std::string(name(d)).c_str(), ops, static_cast<long long>(cases), worst, failed);
  CHECK((ops > 0 || std::getenv("RILLE_OP")));
}

TEST_CASE("values at the edges in f32") { sweep_all(DType::f32); }
TEST_CASE("values at the edges in bf16") { sweep_all(DType::bf16); }
TEST_CASE("values at the edges in f16") { sweep_all(DType::f16); }

}  // namespace
}  // namespace rille::values
