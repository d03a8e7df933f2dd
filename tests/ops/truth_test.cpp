// The pointwise ops in f64 against values worked out with 60 digits and more (truth.py). What the
// sweep over values compares with f64 rests on this.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "ops/op.h"
#include "ops/values.h"
#include "ops/values_bounds.h"

namespace rille::values {
namespace {

using Column = std::vector<double>;

// Of one op: arguments, values, and slopes that are nan where none is told.
struct Truth {
  std::vector<Column> arguments, slopes;
  Column values;
};

std::map<std::string, Truth> read_truths() {
  std::ifstream file(RILLE_TEST_DIR "/ops/truth.txt");
  std::map<std::string, Truth> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string op, word;
    words >> op;
    Column numbers;
    while (words >> word)
      numbers.push_back(word == "-" ? std::nan("") : std::strtod(word.c_str(), nullptr));
    Truth& t = out[op];
    const size_t n = (numbers.size() - 1) / 2;  // arguments, value, a slope for each argument
    t.arguments.resize(n), t.slopes.resize(n);
    for (size_t i = 0; i < n; ++i) {
      t.arguments[i].push_back(numbers[i]);
      t.slopes[i].push_back(numbers[n + 1 + i]);
    }
    t.values.push_back(numbers[n]);
  }
  return out;
}

std::string arguments_text(const Truth& t, size_t i) {
  std::ostringstream text;
  text.precision(17);
  for (const Column& a : t.arguments) text << " " << a[i];
  return text.str();
}

double worst_of(const Column& got, const Column& want, const Truth& t, std::string& where) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) continue;
    const double error = ulps(DType::f64, got[i], want[i]);
    if (error <= worst) continue;
    worst = error;
    std::ostringstream text;
    text.precision(17);
    text << "at" << arguments_text(t, i) << ": " << got[i] << ", want " << want[i];
    where = text.str();
  }
  return worst;
}

void check_op(const std::string& name, const Truth& t) {
  const OpInfo* op = find_op(name);
  REQUIRE(op);
  ArgBlock args(*op);
  std::vector<Tensor> leaves;
  const auto n = static_cast<int64_t>(t.values.size());
  for (size_t i = 0; i < t.arguments.size(); ++i) {
    leaves.push_back(Tensor::of(t.arguments[i], {n}, DType::f64));
    autograd::set_requires_grad(leaves.back(), true);
    args.at<Tensor>(op->fields[i]) = leaves.back();
  }
  Results results;
  call_erased(*op, args.get(), results);
  const TruthBound bound = truth_bound(name);
  std::string where;
  const double value = worst_of(results[0].to_vector(), t.values, t, where);
  if (value > bound.value) FAIL_CHECK(name << ": " << value << " ulps " << where);
  const std::vector<Tensor> seeds{Tensor::of(Column(t.values.size(), 1.0), {n}, DType::f64)};
  const std::vector<Tensor> ends{results[0]};
  const std::vector<Tensor> slopes = autograd::grad(ends, leaves, seeds, {.allow_unused = true});
  double slope = 0;
  for (size_t k = 0; k < slopes.size(); ++k) {
    if (!slopes[k]) continue;
    const double off = worst_of(slopes[k].to_vector(), t.slopes[k], t, where);
    if (off > bound.gradient)
      FAIL_CHECK(name << ", slope " << k + 1 << ": " << off << " ulps " << where);
    slope = std::max(slope, off);
  }
  if (std::getenv("RILLE_VALUES_TABLE"))
    std::printf("%-28s f64  %6lld  %10.3g %10.3g\n", name.c_str(), static_cast<long long>(n), value,
                slope);
}

TEST_CASE("pointwise ops in f64 against many digits") {
  const auto truths = read_truths();
  CHECK(truths.size() >= 40);
  for (const auto& [name, truth] : truths) check_op(name, truth);
}

}  // namespace
}  // namespace rille::values
