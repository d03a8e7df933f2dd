// Schedules from C++: the sequences of PyTorch's schedulers, the bits of scripts, and what a
// schedule does with its optimizer.
#include "api/schedules.h"

using namespace rille;
using namespace rille::test;

namespace lr = optim::lr;

namespace {

optim::SGD optimizer(double rate = 1) {
  return optim::SGD({Tensor::of({1, -2}, Dtype::f64).requires_grad_()}, {.lr = rate});
}

std::vector<double> rates(const lr::Schedule& schedule, size_t count) {
  std::vector<double> out;
  for (size_t step = 0; step < count; ++step)
    out.push_back(schedule.at(static_cast<int64_t>(step)));
  return out;
}

void check_near(const std::vector<double>& got, const std::vector<double>& wanted, double margin) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).margin(margin));
}

// What the script's schedule of that name and options gives, at as many steps.
class Script {
 public:
  Script() {
    must_run(lua_, R"(
      local optim = require "rille".optim
      function rates(name, options, base, count)
        local opt = { groups = { { lr = base, betas = { 0.9, 0.999 } } }, step_count = 0 }
        local make = name == "warmup_cosine" and optim.warmup_cosine or optim.lr[name]
        local schedule, list = make(opt, options), {}
        for step = 0, count - 1 do list[step + 1] = schedule:at(step) end
        return list
      end)");
  }
  std::vector<double> rates(const std::string& name, const std::string& options, double base,
                            size_t count) {
    must_run(lua_, "options = " + options);
    return lua_.call("rates", name, lua_.get_value("options"), base, count)
        .value()
        .as<std::vector<double>>();
  }

 private:
  Interpreter lua_;
};

}  // namespace

TEST_CASE("schedules give the sequences of PyTorch's", "[schedules]") {
  optim::SGD opt = optimizer();
  std::vector<std::pair<std::string, lr::Schedule>> made;
  made.emplace_back("Step", lr::Step(opt, {.size = 3}));
  made.emplace_back("MultiStep", lr::MultiStep(opt, {.milestones = {2, 5}}));
  made.emplace_back("Constant", lr::Constant(opt));
  made.emplace_back("Linear", lr::Linear(opt));
  made.emplace_back("Exponential", lr::Exponential(opt, {.gamma = 0.5}));
  made.emplace_back("Polynomial", lr::Polynomial(opt));
  made.emplace_back("Cosine", lr::Cosine(opt, {.steps = 5}));
  made.emplace_back("Cosine", lr::Cosine(opt, {.steps = 5, .periodic = true}));
  made.emplace_back("CosineRestarts", lr::CosineRestarts(opt, {.steps = 3, .mult = 2}));
  made.emplace_back("OneCycle", lr::OneCycle(opt, {.max_lr = 1, .steps = 10}));
  made.emplace_back("OneCycle", lr::OneCycle(opt, {.max_lr = 1, .steps = 10, .anneal = "linear"}));
  made.emplace_back("OneCycle", lr::OneCycle(opt, {.max_lr = 1, .steps = 10, .three_phase = true}));
  made.emplace_back("Cyclic", lr::Cyclic(opt, {.base_lr = 0.1, .max_lr = 1, .up = 3}));
  made.emplace_back("LinearWarmup", lr::LinearWarmup(opt, {.steps = 4}));
  const std::vector<Sequence> wanted = sequences();
  REQUIRE(made.size() == wanted.size());
  for (size_t i = 0; i < made.size(); ++i) {
    INFO(wanted[i].name);
    CHECK(made[i].first == wanted[i].name);
    check_near(rates(made[i].second, wanted[i].values.size()), wanted[i].values, 2e-6);
  }
}

TEST_CASE("a chain and nanoGPT's schedule", "[schedules]") {
  optim::SGD opt = optimizer();
  const lr::LinearWarmup warmup(opt, {.steps = 3, .start = 0.1});
  const lr::Schedule chain = lr::chain(warmup, lr::Cosine(opt, {.steps = 5}));
  check_near(rates(chain, 9), {.1, .4, .7, 1, .904508, .654508, .345492, .095492, 0}, 2e-6);
  CHECK(opt.lr() == Approx(0.1));
  const double half = 0.1 + 0.45 * (1 + std::cos(std::acos(-1.0) / 4));
  const lr::Schedule nano = optim::warmup_cosine(opt, {.warmup = 3, .steps = 7, .min_lr = 0.1});
  check_near(rates(nano, 9), {.25, .5, .75, 1, half, .55, 1.1 - half, .1, .1}, 1e-9);
}

TEST_CASE("scripts' schedules give the same bits", "[schedules]") {
  constexpr size_t kSteps = 1500;
  constexpr double kBase = 0.3;
  Script script;
  optim::SGD opt = optimizer(kBase);
  const auto same = [&](const lr::Schedule& schedule, const char* name, const char* options) {
    INFO(name << " " << options);
    CHECK(rates(schedule, kSteps) == script.rates(name, options, kBase, kSteps));
  };
  same(lr::Step(opt, {.size = 7}), "Step", "{ size = 7 }");
  same(lr::Step(opt, {.size = 90, .gamma = 0.7}), "Step", "{ size = 90, gamma = 0.7 }");
  same(lr::MultiStep(opt, {.milestones = {3, 700}}), "MultiStep", "{ milestones = { 3, 700 } }");
  same(lr::Constant(opt, {.steps = 100}), "Constant", "{ steps = 100 }");
  same(lr::Linear(opt, {.stop = 0.1, .steps = 901}), "Linear", "{ stop = 0.1, steps = 901 }");
  same(lr::LinearWarmup(opt, {.steps = 501}), "LinearWarmup", "{ steps = 501 }");
  same(lr::Exponential(opt, {.gamma = 0.999}), "Exponential", "{ gamma = 0.999 }");
  same(lr::Polynomial(opt, {.steps = 1234, .power = 2}), "Polynomial",
       "{ steps = 1234, power = 2 }");
  same(lr::Cosine(opt, {.steps = 999}), "Cosine", "{ steps = 999 }");
  same(lr::CosineRestarts(opt, {.steps = 11, .mult = 1.5, .min_lr = 0.01}), "CosineRestarts",
       "{ steps = 11, mult = 1.5, min_lr = 0.01 }");
  same(lr::CosineRestarts(opt, {.steps = 11}), "CosineRestarts", "{ steps = 11 }");
  same(lr::OneCycle(opt, {.max_lr = 0.7, .steps = 1301}), "OneCycle",
       "{ max_lr = 0.7, steps = 1301 }");
  same(lr::OneCycle(opt, {.max_lr = 0.7, .steps = 999, .pct_start = 0.4, .anneal = "linear"}),
       "OneCycle", "{ max_lr = 0.7, steps = 999, pct_start = 0.4, anneal = 'linear' }");
  same(lr::Cyclic(opt, {.base_lr = 0.1, .max_lr = 0.3}), "Cyclic",
       "{ base_lr = 0.1, max_lr = 0.3 }");
  same(
      lr::Cyclic(opt, {.base_lr = 0.1, .max_lr = 0.3, .up = 40, .down = 70, .mode = "triangular2"}),
      "Cyclic", "{ base_lr = 0.1, max_lr = 0.3, up = 40, down = 70, mode = 'triangular2' }");
  same(lr::Cyclic(opt,
                  {.base_lr = 0.1, .max_lr = 0.3, .up = 40, .mode = "exp_range", .gamma = 0.99}),
       "Cyclic", "{ base_lr = 0.1, max_lr = 0.3, up = 40, mode = 'exp_range', gamma = 0.99 }");
  same(lr::WarmupCosine(opt, {.warmup = 100, .steps = 1400}), "WarmupCosine",
       "{ warmup = 100, steps = 1400 }");
  same(optim::warmup_cosine(opt, {.warmup = 9, .steps = 1400, .min_lr = 1e-3}), "warmup_cosine",
       "{ warmup = 9, steps = 1400, min_lr = 1e-3 }");
  same(lr::WarmupStableDecay(opt, {.warmup = 50, .stable = 600, .decay = 777}), "WarmupStableDecay",
       "{ warmup = 50, stable = 600, decay = 777 }");
  same(lr::Lambda(opt, [](int64_t step) { return 1.0 / static_cast<double>(step + 1); }), "Lambda",
       "{ factor = function(step) return 1 / (step + 1) end }");
}

TEST_CASE("a schedule moves only after a step of its optimizer", "[schedules]") {
  optim::SGD opt = optimizer();
  lr::Exponential schedule(opt, {.gamma = 0.5});
  CHECK_FALSE(schedule.step());
  CHECK(opt.lr() == 1);
  for (const bool stepped : {true, true, false, true, true}) {
    if (stepped) opt.step();
    CHECK(schedule.step() == stepped);
  }
  CHECK(schedule.step_count() == 4);
  CHECK(schedule.last_lr() == std::vector<double>{0.0625});
  CHECK(opt.lr() == 0.0625);
}

TEST_CASE("each group has a rate of its own, and keeps its first one", "[schedules]") {
  optim::SGD opt = optimizer();
  opt.add_group({Tensor::of({1}, Dtype::f64).requires_grad_()}, {.lr = 8});
  lr::Exponential schedule(opt, {.gamma = 0.5});
  opt.step();
  schedule.step();
  CHECK(schedule.last_lr() == std::vector<double>{0.5, 4});
  CHECK(schedule.at(3, 1) == 1);
  opt.add_group({Tensor::of({1}, Dtype::f64).requires_grad_()}, {.lr = 7});
  opt.step();
  schedule.step();
  CHECK(schedule.last_lr() == std::vector<double>{0.25, 2, 7});
  const lr::Step next(opt, {.size = 1});  // starts from where the first one started
  CHECK(next.last_lr() == std::vector<double>{1, 8, 7});
}

TEST_CASE("OneCycle moves the momentum the other way", "[schedules]") {
  optim::SGD sgd = optimizer();
  optim::AdamW adam({Tensor::of({1}).requires_grad_()});
  lr::OneCycle first(sgd, {.max_lr = 1, .steps = 10}), second(adam, {.max_lr = 1, .steps = 10});
  for (optim::Optimizer* opt :
       {static_cast<optim::Optimizer*>(&sgd), static_cast<optim::Optimizer*>(&adam)})
    CHECK(opt->momentum() == Approx(0.95));
  for (int i = 0; i < 2; ++i) {
    sgd.step(), first.step();
    adam.step(), second.step();
  }
  CHECK(sgd.momentum() == Approx(0.85));
  CHECK(adam.momentum() == Approx(0.85));
  optim::AdamW other({Tensor::of({1}).requires_grad_()});
  const lr::OneCycle still(other, {.max_lr = 1, .steps = 10, .cycle_momentum = false});
  CHECK(other.momentum() == 0.9);
}

TEST_CASE("a schedule's state is its step", "[schedules]") {
  optim::SGD opt = optimizer(), other = optimizer();
  lr::Cosine schedule(opt, {.steps = 9}), resumed(other, {.steps = 9});
  for (int i = 0; i < 4; ++i) opt.step(), schedule.step();
  const StateDict state = schedule.state_dict();
  REQUIRE(state.size() == 1);
  CHECK(state[0].first == "step");
  CHECK(state[0].second.item<int64_t>() == 4);
  resumed.load_state_dict(state);
  CHECK(resumed.step_count() == 4);
  CHECK(other.lr() == opt.lr());
  CHECK_FALSE(resumed.step());
  const auto message = [&](const StateDict& wrong) {
    const Error e = refused([&] { resumed.load_state_dict(wrong); });
    CHECK(e.code == "E_STATE");
    CHECK(e.op == "Cosine.load_state_dict");
    return e.message;
  };
  const auto count = [](int64_t n) { return Tensor::of(std::vector<int64_t>{n}); };
  CHECK(message({}) == "'step' is missing");
  CHECK(message({{"step", Tensor::of({4})}}) == "'step' must be one integer");
  CHECK(message({{"step", count(-3)}}) == "'step' must be at least 0, got -3");
  CHECK(message({{"step", count(3)}, {"more", count(3)}}) == "state of what is not here: 'more'");
  CHECK(resumed.step_count() == 4);
}

TEST_CASE("Plateau lowers the rate after patience", "[schedules]") {
  optim::SGD opt = optimizer(), other = optimizer();
  lr::Plateau plateau(opt, {.factor = 0.5, .patience = 1});
  std::vector<double> seen;
  StateDict kept;
  for (const double metric : {1.0, 0.5, 0.6, 0.6, 0.4, 0.4, 0.4, 0.4}) {
    const double before = opt.lr();
    const bool lowered = plateau.step(metric);
    CHECK(lowered == (opt.lr() < before));
    seen.push_back(opt.lr());
    if (seen.size() == 6) kept = plateau.state_dict();
  }
  CHECK(seen == std::vector<double>{1, 1, 1, .5, .5, .5, .25, .25});
  CHECK(plateau.last_lr() == std::vector<double>{0.25});
  lr::Plateau resumed(other, {.factor = 0.5, .patience = 1});
  resumed.load_state_dict(kept);
  CHECK(resumed.step(0.4));
  CHECK(code_of([&] { resumed.load_state_dict({}); }) == "E_STATE");
}

TEST_CASE("Plateau is that of scripts", "[schedules]") {
  Interpreter lua;
  const auto metrics = [](int i) { return std::fmod(i * 7919.0, 97) / (1 + i / 3); };
  const auto same = [&](const lr::PlateauOptions& options, const char* text) {
    optim::SGD opt = optimizer();
    lr::Plateau plateau(opt, options);
    must_run(lua, std::string("opt = { groups = { { lr = 1.0 } }, step_count = 0 }\n"
                              "plateau = require 'rille'.optim.lr.Plateau(opt, ") +
                      text + ")\nfunction step(m) return plateau:step(m), opt.groups[1].lr end");
    const auto step = lua.function<std::tuple<bool, double>(double)>("step");
    for (int i = 0; i < 200; ++i) {
      const bool lowered = plateau.step(metrics(i));
      CHECK(step(metrics(i)) == std::tuple(lowered, opt.lr()));
    }
    CHECK(opt.lr() < 1);
  };
  same({}, "{}");
  same({.mode = "max",
        .factor = 0.9,
        .patience = 2,
        .threshold = 0.1,
        .threshold_mode = "abs",
        .cooldown = 3,
        .min_lr = 1e-3},
       "{ mode = 'max', factor = 0.9, patience = 2, threshold = 0.1, threshold_mode = 'abs', "
       "cooldown = 3, min_lr = 1e-3 }");
}

TEST_CASE("options of schedules are checked, with the texts of scripts", "[schedules]") {
  optim::SGD opt = optimizer();
  const auto text = [](auto&& make) {
    const Error e = refused(make);
    CHECK(e.code == (e.message.find("got string") == std::string::npos ? "E_ARG" : "E_TYPE"));
    return e.op + ": " + e.message;
  };
  CHECK(text([&] { lr::Cosine(opt, {}); }) == "Cosine: 'steps' is missing");
  CHECK(text([&] { lr::Cosine(opt, {.steps = 0}); }) ==
        "Cosine: 'steps' must be at least 1, got 0");
  CHECK(text([&] { lr::CosineRestarts(opt, {.steps = 5, .mult = 0.5}); }) ==
        "CosineRestarts: 'mult' must be at least 1, got 0.5");
  CHECK(text([&] { lr::Polynomial(opt, {.steps = 0}); }) ==
        "Polynomial: 'steps' must be at least 1, got 0");
  CHECK(text([&] { lr::Linear(opt, {.steps = 0}); }) ==
        "Linear: 'steps' must be at least 1, got 0");
  CHECK(text([&] { lr::LinearWarmup(opt, {.steps = -1}); }) ==
        "LinearWarmup: 'steps' must be at least 0, got -1");
  CHECK(text([&] { lr::Step(opt, {.size = 0}); }) == "Step: 'size' must be above 0, got 0");
  CHECK(text([&] { lr::Step(opt, {}); }) == "Step: 'size' is missing");
  CHECK(text([&] { lr::Exponential(opt, {.gamma = std::nan("")}); }) ==
        "Exponential: 'gamma' must be at least 0, got nan");
  CHECK(text([&] { lr::OneCycle(opt, {.max_lr = 1, .steps = 3, .anneal = "sin"}); }) ==
        "OneCycle: 'anneal' must be 'cos' or 'linear', got string 'sin'");
  CHECK(text([&] { lr::OneCycle(opt, {.max_lr = 1, .steps = 3, .pct_start = 2}); }) ==
        "OneCycle: 'pct_start' must be at most 1, got 2");
  CHECK(text([&] { lr::Cyclic(opt, {.base_lr = 0, .max_lr = 1, .mode = "bogus"}); }) ==
        "Cyclic: 'mode' must be 'triangular', 'triangular2' or 'exp_range', got string 'bogus'");
  CHECK(text([&] { optim::warmup_cosine(opt, {.warmup = 2, .steps = 0}); }) ==
        "warmup_cosine: 'steps' must be at least 1, got 0");
  CHECK(text([&] { lr::Plateau(opt, {.mode = "mni"}); }) ==
        "Plateau: 'mode' must be 'min' or 'max', got string 'mni'");
  CHECK(text([&] { lr::Plateau(opt, {.factor = 1}); }) ==
        "Plateau: 'factor' must be below 1, got 1");
  CHECK(opt.lr() == 1);  // what was refused changed nothing
  const lr::Constant constant(opt);
  CHECK(text([&] { constant.at(-1); }) == "Constant.at: 'step' must be at least 0, got -1");
  CHECK(text([&] { lr::chain(constant); }) == "chain: needs two schedules or more, got 1");
  CHECK(text([&] { lr::chain(lr::Step(opt, {.size = 1}), constant); }) ==
        "chain: Step has no end, so it must be last");
  optim::SGD other = optimizer();
  CHECK(text([&] { lr::chain(constant, lr::Constant(other)); }) ==
        "chain: #2 is of another optimizer");
  const Error e = refused([&] { constant.at(0, 1); });
  CHECK(e.code == "E_INDEX");
  CHECK(e.message == "group 1, but there are 1");
}

TEST_CASE("a schedule follows its optimizer, and survives it", "[schedules]") {
  auto first = std::make_unique<optim::SGD>(optimizer());
  lr::Exponential schedule(*first, {.gamma = 0.5});
  auto second = std::make_unique<optim::SGD>(std::move(*first));
  CHECK(code_of([&] { lr::Step(*first, {.size = 1}); }) == "E_STATE");
  first.reset();
  second->step();
  CHECK(schedule.step());
  CHECK(second->lr() == 0.5);
  second.reset();
  CHECK(schedule.at(3) == 0.125);
  CHECK(schedule.state_dict().size() == 1);
  const Error e = refused([&] { schedule.step(); });
  CHECK(e.code == "E_STATE");
  CHECK(e.report() == "Exponential.step: the schedule's optimizer is gone");
  CHECK(code_of([&] { schedule.last_lr(); }) == "E_STATE");
  lr::Schedule moved = std::move(schedule);
  CHECK(moved.step_count() == 1);
  CHECK(code_of([&] { schedule.step(); }) == "E_STATE");  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("what the function of a Lambda throws passes, and nothing has moved", "[schedules]") {
  optim::SGD opt = optimizer();
  struct Mine {};
  lr::Lambda schedule(opt, [](int64_t step) {
    if (step == 1) throw Mine();
    return 0.5;
  });
  opt.step();
  CHECK_THROWS_AS(schedule.step(), Mine);
  CHECK(schedule.step_count() == 0);
  CHECK(opt.lr() == 0.5);
  CHECK(code_of([&] { lr::Lambda(opt, nullptr); }) == "E_TYPE");
}
