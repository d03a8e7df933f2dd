// Optimizers against the rules of their papers, written out in plain C++.
#include <cmath>
#include <map>

#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

namespace {

// Gradients of step s: anything that is not constant.
std::vector<double> gradient(int s) { return {std::sin(s + 1.0), 0.5 * std::cos(2.0 * s)}; }

// Runs `steps` steps and compares with `rule`, which updates plain numbers.
template <class Optimizer, class Rule>
void compare(Optimizer& opt, const Tensor& p, int steps, Rule&& rule) {
  std::vector<double> w = list(p);
  for (int s = 0; s < steps; ++s) {
    const std::vector<double> g = gradient(s);
    p.set_grad(Tensor::of(g));
    opt.step();
    for (size_t i = 0; i < w.size(); ++i) rule(s + 1, i, w[i], g[i]);
  }
  for (size_t i = 0; i < w.size(); ++i) CHECK(list(p)[i] == Approx(w[i]).epsilon(1e-12));
}

Tensor parameter() { return Tensor::of({1, -2}, Dtype::f64).requires_grad_(); }

}  // namespace

TEST_CASE("SGD with momentum, weight decay and Nesterov's look ahead") {
  for (const bool nesterov : {false, true}) {
    const Tensor p = parameter();
    optim::SGD opt({p}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov});
    std::vector<double> m(2, 0);
    compare(opt, p, 5, [&](int, size_t i, double& w, double g) {
      g += 0.01 * w;
      m[i] = 0.9 * m[i] + g;
      w -= 0.1 * (nesterov ? g + 0.9 * m[i] : m[i]);
    });
    CHECK(opt.step_count() == 5);
  }
}

TEST_CASE("Adam and AdamW") {
  const auto run = [](auto&& opt, const Tensor& p, double decay, bool decoupled) {
    std::vector<double> m(2, 0), v(2, 0);
    compare(opt, p, 6, [&](int t, size_t i, double& w, double g) {
      if (decoupled)
        w -= 0.01 * decay * w;
      else
        g += decay * w;
      m[i] = 0.8 * m[i] + 0.2 * g;
      v[i] = 0.9 * v[i] + 0.1 * g * g;
      const double mh = m[i] / (1 - std::pow(0.8, t)), vh = v[i] / (1 - std::pow(0.9, t));
      w -= 0.01 * mh / (std::sqrt(vh) + 1e-6);
    });
  };
  const Tensor a = parameter(), b = parameter();
  run(optim::Adam({a}, {.lr = 0.01, .betas = {0.8, 0.9}, .eps = 1e-6, .weight_decay = 0.1}), a, 0.1,
      false);
  run(optim::AdamW({b}, {.lr = 0.01, .betas = {0.8, 0.9}, .eps = 1e-6, .weight_decay = 0.1}), b,
      0.1, true);
}

TEST_CASE("groups have options of their own") {
  const Tensor a = parameter(), b = parameter();
  optim::SGD opt({a}, {.lr = 1});
  opt.add_group({b}, {.lr = 0.5});
  for (const Tensor& p : {a, b}) p.set_grad(ones({2}, {.dtype = Dtype::f64}));
  opt.step();
  CHECK(list(a) == std::vector<double>{0, -3});
  CHECK(list(b) == std::vector<double>{0.5, -2.5});
  CHECK(opt.groups() == 2);
  opt.set_lr(1, 2);
  CHECK(opt.lr(1) == 2);
  CHECK(opt.lr() == 1);
  opt.step();
  CHECK(list(b) == std::vector<double>{-1.5, -4.5});
}

TEST_CASE("a parameter without a gradient is left alone") {
  const Tensor a = parameter(), b = parameter();
  optim::AdamW opt({a, b}, {.lr = 0.1});
  a.set_grad(ones({2}, {.dtype = Dtype::f64}));
  opt.step();
  CHECK(list(b) == std::vector<double>{1, -2});
  CHECK(list(a) != list(b));
  opt.zero_grad();
  CHECK_FALSE(a.grad());
}

TEST_CASE("a closure runs with gradients on") {
  const Tensor p = parameter();
  optim::SGD opt({p}, {.lr = 0.5});
  const NoGrad outside;
  const Tensor loss = opt.step([&] {
    const Tensor l = (p * p).sum();
    l.backward();
    return l;
  });
  CHECK(loss.item<double>() == 5);
  CHECK(list(p) == std::vector<double>{0, 0});
}

TEST_CASE("a run goes on from its state, bit for bit") {
  const Tensor a = parameter(), b = parameter();
  optim::AdamW whole({a}, {.amsgrad = true}), first({b}, {.amsgrad = true});
  const auto steps = [](auto& opt, const Tensor& p, int from, int to) {
    for (int s = from; s < to; ++s) {
      p.set_grad(Tensor::of(gradient(s)));
      opt.step();
    }
  };
  steps(whole, a, 0, 6);
  steps(first, b, 0, 3);
  optim::AdamW second({b}, {.amsgrad = true});
  second.load_state_dict(first.state_dict());
  CHECK(second.step_count() == 3);
  steps(second, b, 3, 6);
  CHECK(equal(a, b));
}

TEST_CASE("state in eight bits brings its scales, and goes on bit for bit") {
  const auto make = [] { return zeros({300}).requires_grad_(); };
  const auto step = [](auto& opt, const Tensor& p, double value) {
    p.set_grad(full({300}, value));
    opt.step();
  };
  const Tensor a = make(), b = make();
  optim::Adam whole({a}, {.state_dtype = Dtype::f8_e4m3}),
      first({b}, {.state_dtype = Dtype::f8_e4m3});
  seed(5);
  step(whole, a, 0.3);
  step(whole, a, -0.1);
  seed(5);
  step(first, b, 0.3);
  std::map<std::string, Tensor> state;
  for (const auto& [name, t] : first.state_dict()) state.emplace(name, t);
  CHECK(state.at("0.exp_avg").dtype() == Dtype::f8_e4m3);
  CHECK(state.at("0.exp_avg_sq_scale").shape() == Shape{3});
  optim::Adam second({b}, {.state_dtype = Dtype::f8_e4m3});
  second.load_state_dict(first.state_dict());
  step(second, b, -0.1);
  CHECK(equal(a, b));
  optim::Adam wide({b});
  CHECK(code_of([&] { wide.load_state_dict(first.state_dict()); }) == "E_STATE");
  CHECK(code_of([&] { optim::Adam({b}, {.state_dtype = Dtype::f4_e2m1}); }) == "E_OPTION");
}

TEST_CASE("a state that does not fit changes nothing") {
  const Tensor a = parameter();
  optim::SGD opt({a}, {.momentum = 0.9});
  a.set_grad(ones({2}, {.dtype = Dtype::f64}));
  opt.step();
  const StateDict good = opt.state_dict();
  const auto code = [&](auto&& change) {
    StateDict dict = good;
    change(dict);
    return code_of([&] { opt.load_state_dict(dict); });
  };
  CHECK(code([](StateDict& d) { d.emplace_back("7.step", d[0].second); }) == "E_STATE");
  CHECK(code([](StateDict& d) { d.back().second = ones({3}); }) == "E_STATE");
  CHECK(code([](StateDict& d) { d.pop_back(); }) == "E_STATE");
  CHECK(opt.state_dict().size() == good.size());
  CHECK(equal(opt.state_dict().back().second, good.back().second));
}

TEST_CASE("options out of range are refused") {
  const Tensor p = parameter();
  CHECK(code_of([&] { optim::SGD({p}, {.lr = -1}); }) == "E_ARG");
  CHECK(code_of([&] { optim::SGD({p}, {.nesterov = true}); }) == "E_OPTION");
  CHECK(code_of([&] { optim::Adam({p}, {.betas = {0.9, 1}}); }) == "E_ARG");
  CHECK(code_of([&] { optim::Adam({p, p}); }) == "E_ARG");
  CHECK(code_of([&] { optim::Adam({p * 2}); }) == "E_ARG");
  CHECK(code_of([] { optim::Adam(std::vector<Tensor>{}); }) == "E_ARG");
}

TEST_CASE("an optimizer moves with its state") {
  const Tensor p = parameter();
  optim::SGD first({p}, {.lr = 1});
  optim::SGD second = std::move(first);
  p.set_grad(ones({2}, {.dtype = Dtype::f64}));
  second.step();
  CHECK(list(p) == std::vector<double>{0, -3});
  CHECK(code_of([&] { first.step(); }) == "E_STATE");  // NOLINT(bugprone-use-after-move)
}
