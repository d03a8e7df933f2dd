// The scaler of the C++ interface: a loop as scripts write it, what it refuses, what it saves.
#include <cmath>
#include <limits>

#include "api/hosts.h"
#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Loop {
  Tensor p = Tensor::of({1, -2}).requires_grad_();
  optim::SGD opt{{p}, {.lr = 0.125}};
  amp::GradScaler scaler;

  explicit Loop(amp::GradScalerOptions options = {.init_scale = 4, .growth_interval = 2})
      : scaler(options) {}
  void backward(double slope = 1) { scaler.scale((p * slope).sum()).backward(); }
  bool go(double slope = 1) {
    opt.zero_grad();
    backward(slope);
    const bool stepped = scaler.step(opt);
    scaler.update();
    return stepped;
  }
};

}  // namespace

TEST_CASE("a scaler grows after clean updates, falls after an overflow, and skips that step") {
  Loop l;
  optim::lr::Step aware(l.opt, {.size = 1, .gamma = 0.5}), always(l.opt, {.size = 1, .gamma = 1});
  always.set_skip_aware(false);
  CHECK(l.go());
  CHECK(l.scaler.get_scale() == 4);
  CHECK(l.scaler.get_growth_tracker() == 1);
  CHECK(l.go());
  CHECK(l.scaler.get_scale() == 8);
  CHECK(list(l.p) == std::vector<double>{0.75, -2.25});
  CHECK(aware.step());
  CHECK_FALSE(l.go(kInfinity));
  CHECK(l.scaler.get_scale() == 4);
  CHECK(list(l.p) == std::vector<double>{0.75, -2.25});
  CHECK(l.opt.step_count() == 2);
  CHECK_FALSE(aware.step());
  CHECK(always.step());
}

TEST_CASE("unscale_, clip, step") {
  Loop l({.init_scale = 1024});
  l.backward();
  CHECK(list(l.p.grad()) == std::vector<double>{1024, 1024});
  l.scaler.unscale_(l.opt);
  CHECK(list(l.p.grad()) == std::vector<double>{1, 1});
  nn::clip_grad_norm_({l.p}, 0.5);
  CHECK(l.scaler.step(l.opt));
  CHECK(list(l.p)[0] == Approx(1 - 0.125 * 0.5 / std::sqrt(2.0)).epsilon(1e-6));
}

TEST_CASE("a scaler's errors") {
  Loop l;
  CHECK(code_of([&] { l.scaler.unscale_(l.opt); }) == "E_SCALER_NOT_SCALED");
  CHECK(code_of([&] { l.scaler.step(l.opt); }) == "E_SCALER_NOT_SCALED");
  CHECK(code_of([&] { l.scaler.update(); }) == "E_SCALER_NOT_SCALED");
  l.backward();
  CHECK(code_of([&] { l.scaler.update(); }) == "E_SCALER_NO_CHECKS");
  l.scaler.unscale_(l.opt);
  CHECK(code_of([&] { l.scaler.unscale_(l.opt); }) == "E_SCALER_UNSCALE_TWICE");
  CHECK(code_of([&] { l.scaler.state_dict(); }) == "E_SCALER_MID_STEP");
  l.scaler.step(l.opt);
  CHECK(code_of([&] { l.scaler.step(l.opt); }) == "E_SCALER_STEP_TWICE");
  CHECK(code_of([&] { l.scaler.unscale_(l.opt); }) == "E_SCALER_UNSCALE_AFTER_STEP");
  l.scaler.update();
  l.opt.zero_grad();
  const Error none = refused([&] { l.scaler.step(l.opt); });
  CHECK(none.code == "E_SCALER_NO_GRADS");
  CHECK(none.facts.at(0) == "parameter 0  backward of a scaled loss has not run");
  CHECK(code_of([] { amp::GradScaler({.backoff_factor = 1}); }) == "E_SCALER_ARG");
  CHECK(code_of([&] { l.scaler.load_state_dict({}); }) == "E_SCALER_EMPTY_STATE");
}

TEST_CASE("a scaler's state goes into another, which goes on with the same bits") {
  Loop first, second;
  first.go();
  second.scaler.load_state_dict(first.scaler.state_dict());
  CHECK(second.scaler.get_growth_tracker() == 1);
  CHECK(second.go());
  CHECK(second.scaler.get_scale() == 8);
  StateDict wrong = first.scaler.state_dict();
  wrong.pop_back();
  CHECK(code_of([&] { second.scaler.load_state_dict(wrong); }) == "E_STATE");
  CHECK(second.scaler.get_scale() == 8);
}

TEST_CASE("a disabled scaler steps and does nothing else") {
  Loop l({.enabled = false});
  const Tensor loss = l.p.sum();
  l.scaler.scale(loss).backward();
  CHECK(list(l.p.grad()) == std::vector<double>{1, 1});
  l.scaler.unscale_(l.opt);
  CHECK(l.scaler.step(l.opt));
  l.scaler.update();
  CHECK(l.scaler.get_scale() == 1);
  CHECK(l.scaler.state_dict().empty());
  CHECK(list(l.p) == std::vector<double>{0.875, -2.125});
  CHECK_FALSE(amp::GradScaler({.device = Device(Device::Type::cuda)}).is_enabled());
}

TEST_CASE("ranks decide together, and an exception of theirs passes") {
  Loop l({.group = [](bool) { return true; }});
  CHECK_FALSE(l.go());
  struct Lost {};
  Loop broken({.group = [](bool) -> bool { throw Lost(); }});
  CHECK_THROWS_AS(broken.go(), Lost);
}

TEST_CASE("a scaler can be moved") {
  Loop l;
  l.backward();
  amp::GradScaler other = std::move(l.scaler);
  CHECK(other.step(l.opt));
  CHECK(code_of([&] { l.scaler.get_scale(); }) == "E_STATE");
}

TEST_CASE("what a step did, and updates that bf16 loses") {
  const auto step = [](optim::SGDOptions options) {
    options.lr = 0x1p-9;
    options.stats = true;
    const Tensor p = Tensor::of({1, 1, 1}, Dtype::f32).to(Dtype::bf16).requires_grad_();
    optim::SGD opt({p}, options);
    p.set_grad(Tensor::of({-1, -1, 0}).to(Dtype::bf16));
    opt.step();
    return opt.stats();
  };
  CHECK(step({}).lost_updates == 2);
  CHECK(step({}).update_norm == 0);
  const optim::StepStats master = step({.master_weights = true});
  CHECK(master.lost_updates == 0);
  CHECK(master.update_norm == Approx(std::sqrt(2.0) * 0x1p-9));
  const Tensor p = Tensor::of({1}).requires_grad_();
  const optim::SGD silent({p});
  CHECK(code_of([&] { silent.stats(); }) == "E_STATE");
}

TEST_CASE("rounding by chance keeps small updates") {
  const std::vector<float> ones(10000, 1.0f), down(10000, -1.0f);
  const Tensor p = Tensor::of(ones).to(Dtype::bf16).requires_grad_();
  optim::SGD opt({p}, {.lr = 0x1p-7 / 20, .stochastic_rounding = true});
  p.set_grad(Tensor::of(down).to(Dtype::bf16));
  for (int i = 0; i < 100; ++i) opt.step();
  const double moved = (p.detach().to(Dtype::f64).mean().item<double>() - 1) / 0x1p-7;
  CHECK(moved == Approx(5).margin(0.1));
}

TEST_CASE("interpreters have scalers of their own, and one that the host has is another") {
  Interpreter first, second;
  for (Interpreter* lua : {&first, &second})
    must_run(*lua, R"(
      local rille = require "rille"
      local p = rille.ones(1, { requires_grad = true })
      local opt = rille.optim.SGD({ p }, { lr = 0.5 })
      local scaler = rille.amp.GradScaler { init_scale = 4, growth_interval = 1 }
      function go(slope)
        opt:zero_grad()
        scaler:scale((p * slope):sum()):backward()
        scaler:step(opt)
        scaler:update()
        return scaler:get_scale()
      end
    )");
  Loop l;
  const auto go = [](Interpreter& lua, double slope) {
    return lua.call("go", slope).value().as<double>();
  };
  CHECK(go(first, 1) == 8);
  CHECK(l.go());
  CHECK(go(second, kInfinity) == 2);
  CHECK(l.go());
  CHECK(go(first, 1) == 16);
  CHECK(l.scaler.get_scale() == 8);
}
