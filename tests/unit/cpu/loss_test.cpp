#include <limits>

#include "cpu/rows.h"
#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;

namespace {

struct Case {
  int64_t rows, classes;
  bool weighted;
  double smoothing;
};
const Case kCases[] = {{4, 5, false, 0}, {4, 5, true, 0}, {4, 5, false, .1}, {3, 37, true, .2}};

struct Problem {
  explicit Problem(const Case& c)
      : logits(spread(c.rows * c.classes, 1, -4, 4)),
        weight(spread(c.classes, 2, .5, 2)),
        scale(spread(c.rows, 3, .1, 1)) {
    for (int64_t r = 0; r < c.rows; ++r) targets.push_back(r == 1 ? -100 : (r * 3) % c.classes);
  }
  Values logits, weight, scale;
  std::vector<int64_t> targets;
};

// The definition, class by class (PyTorch's, with weights and smoothing together).
Values loss_oracle(const Case& c, const Problem& p, const Values& logits) {
  Values loss;
  for (size_t r = 0; r < p.targets.size(); ++r) {
    const double* x = logits.data() + r * static_cast<size_t>(c.classes);
    const size_t n = static_cast<size_t>(c.classes);
    double sum = 0, total = 0;
    for (size_t i = 0; i < n; ++i) sum += std::exp(x[i]);
    for (size_t i = 0; i < n && p.targets[r] >= 0; ++i) {
      const double q = (static_cast<int64_t>(i) == p.targets[r] ? 1 - c.smoothing : 0) +
                       c.smoothing / static_cast<double>(c.classes);
      total -= q * (c.weighted ? p.weight[i] : 1) * (x[i] - std::log(sum));
    }
    loss.push_back(total);
  }
  return loss;
}

cpu::CrossEntropy args_of(const Case& c, const Problem& p, const Buffer& weight) {
  return {c.rows, c.classes,  p.targets.data(), c.weighted ? weight.data() : nullptr,
          -100,   c.smoothing};
}

}  // namespace

TEST_CASE("cross_entropy follows its definition, forward and backward", "[rows]") {
  for (const Case& c : kCases) {
    const Problem p(c);
    const Values want_slopes =
        slopes([&](const Values& v) { return dot(loss_oracle(c, p, v), p.scale); }, p.logits);
    for (const DType d : kFloats) {
      const DType acc = accumulator(d);
      Buffer logits(d, p.logits), weight(acc, p.weight), scale(acc, p.scale);
      Buffer loss(acc, c.rows), lse(acc, 2 * c.rows);
      const cpu::CrossEntropy args = args_of(c, p, weight);
      const auto totals = cpu::cross_entropy(d, logits.data(), args, loss.data(), lse.data());
      CHECK(totals.bad_row == -1);
      CHECK(totals.counted == c.rows - 1);
      double sum = 0;
      for (const int64_t t : p.targets)
        if (t >= 0) sum += c.weighted ? p.weight[static_cast<size_t>(t)] : 1;
      CHECK(totals.weight == Approx(sum).epsilon(1e-6));
      require_close(loss.values(), loss_oracle(c, p, logits.values()),
                    d == DType::f64 ? 1e-12 : 2e-6);
      cpu::cross_entropy_backward(d, logits.data(), args, lse.data(), scale.data(), 1,
                                  logits.data());
      require_close(logits.values(), want_slopes, d == DType::f64 ? 1e-8 : 2 * tolerance(d));
    }
  }
}

TEST_CASE("cross_entropy: the value that PyTorch gives with smoothing", "[rows]") {
  const float logits[] = {1, 2, 3};
  const int64_t target = 0;
  float loss = 0;
  cpu::cross_entropy(DType::f32, logits, {1, 3, &target, nullptr, -100, .1}, &loss, nullptr);
  CHECK(static_cast<double>(loss) == Approx(2.3076059818).epsilon(1e-6));
}

TEST_CASE("cross_entropy reports targets that are no class", "[rows]") {
  const float logits[6] = {};
  const int64_t targets[] = {0, -100, 3};
  CHECK(cpu::cross_entropy(DType::f32, logits, {3, 2, targets}, nullptr, nullptr).bad_row == 2);
  const int64_t negative[] = {-1, 0, 0};
  CHECK(cpu::cross_entropy(DType::f32, logits, {3, 2, negative}, nullptr, nullptr).bad_row == 0);
}

TEST_CASE("cross_entropy with impossible classes", "[rows]") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float logits[] = {0, -inf, 0, 0, -inf, 0};
  const int64_t targets[] = {0, 1};
  float loss[2], lse[4], dx[6];
  const float scale = 1;
  const cpu::CrossEntropy args{2, 3, targets};
  cpu::cross_entropy(DType::f32, logits, args, loss, lse);
  CHECK(loss[0] == Approx(std::log(2.0f)));
  CHECK(loss[1] == inf);
  cpu::cross_entropy_backward(DType::f32, logits, args, lse, &scale, 0, dx);
  CHECK(dx[0] == Approx(-.5f));
  CHECK(dx[1] == 0);
  CHECK(dx[2] == Approx(.5f));
}

// The logarithm of four would be lost beside a maximum of 1e8.
TEST_CASE("cross_entropy of equal large logits", "[rows]") {
  for (const float large : {1e5f, 1e8f, 3e38f}) {
    const float logits[] = {large, large, large, large};
    const int64_t target = 0;
    const float scale = 1;
    float loss = 0, lse[2], dx[4];
    const cpu::CrossEntropy args{1, 4, &target};
    cpu::cross_entropy(DType::f32, logits, args, &loss, lse);
    CHECK(loss == Approx(std::log(4.0f)));
    cpu::cross_entropy_backward(DType::f32, logits, args, lse, &scale, 0, dx);
    CHECK(dx[0] == Approx(-.75f));
    for (const int k : {1, 2, 3}) CHECK(dx[k] == Approx(.25f));
  }
}
