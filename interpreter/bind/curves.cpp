#include "interpreter/bind/curves.h"

#include <cmath>

#include "core/fail.h"
#include "interpreter/bind/given_options.h"
#include "optim/curves.h"
#include "optim/plateau.h"

namespace rille::bind {
namespace {

using namespace optim::curves;
using lua::Call;
using Curve =
    std::variant<Step, MultiStep, Constant, Linear, LinearWarmup, Exponential, Polynomial, Cosine,
                 CosineRestarts, OneCycle, Cyclic, WarmupCosine, WarmupStableDecay>;
using Given = const GivenOptions&;

Curve one_cycle(Given o) {
  return OneCycle{.max_lr = o.number("max_lr"),
                  .steps = o.number("steps"),
                  .pct_start = o.number("pct_start"),
                  .linear = o.text("anneal") == "linear",
                  .div = o.number("div"),
                  .final_div = o.number("final_div"),
                  .three_phase = o.flag("three_phase"),
                  .cycle_momentum = o.flag("cycle_momentum"),
                  .base_momentum = o.number("base_momentum"),
                  .max_momentum = o.number("max_momentum")};
}

Curve cyclic(Given o) {
  const std::string mode = o.text("mode");
  return Cyclic{.base_lr = o.number("base_lr"),
                .max_lr = o.number("max_lr"),
                .up = o.number("up"),
                .down = o.maybe_number("down"),
                .mode = mode == "triangular2" ? Cyclic::Mode::triangular2
                        : mode == "exp_range" ? Cyclic::Mode::exp_range
                                              : Cyclic::Mode::triangular,
                .gamma = o.number("gamma")};
}

struct Reader {
  std::string_view name;
  Curve (*read)(Given);
};

constexpr Reader kReaders[] = {
    {"Step",
     [](Given o) -> Curve {
       return Step{o.number("size"), o.number("gamma")};
     }},
    {"MultiStep",
     [](Given o) -> Curve {
       return MultiStep{o.numbers("milestones"), o.number("gamma")};
     }},
    {"Constant",
     [](Given o) -> Curve {
       return Constant{o.number("factor"), o.number("steps")};
     }},
    {"Linear",
     [](Given o) -> Curve {
       return Linear{o.number("start"), o.number("stop"), o.number("steps")};
     }},
    {"LinearWarmup",
     [](Given o) -> Curve {
       return LinearWarmup{o.number("steps"), o.maybe_number("start")};
     }},
    {"Exponential", [](Given o) -> Curve { return Exponential{o.number("gamma")}; }},
    {"Polynomial",
     [](Given o) -> Curve {
       return Polynomial{o.number("steps"), o.number("power")};
     }},
    {"Cosine",
     [](Given o) -> Curve {
       return Cosine{o.number("steps"), o.number("min_lr"), o.flag("periodic")};
     }},
    {"CosineRestarts",
     [](Given o) -> Curve {
       return CosineRestarts{o.number("steps"), o.number("mult"), o.number("min_lr")};
     }},
    {"OneCycle", one_cycle},
    {"Cyclic", cyclic},
    {"WarmupCosine",
     [](Given o) -> Curve {
       return WarmupCosine{o.number("warmup"), o.number("steps"), o.number("min_lr")};
     }},
    {"WarmupStableDecay",
     [](Given o) -> Curve {
       return WarmupStableDecay{o.number("warmup"), o.number("stable"), o.number("decay"),
                                o.number("min_lr")};
     }},
};

Curve curve_of(Call& c) {
  const std::string name = c.string(1, "name");
  for (const Reader& reader : kReaders)
    if (reader.name == name) return reader.read({c, 2});
  throw arg_error("there is no curve '{}'", name);
}

optim::Plateau plateau_of(Call& c) {
  const GivenOptions o(c, 1);
  return {.least = o.text("mode") == "min",
          .factor = o.number("factor"),
          .patience = o.number("patience"),
          .threshold = o.number("threshold"),
          .relative = o.text("threshold_mode") == "rel",
          .cooldown = o.number("cooldown"),
          .min_lr = o.number("min_lr"),
          .eps = o.number("eps")};
}

}  // namespace

void curve(Call& c) {
  const double step = c.number(3, "step"), base = c.number(4, "base");
  const Rate rate = std::visit([&](const auto& one) { return one.rate(step, base); }, curve_of(c));
  c.give(rate.lr);
  c.give(rate.momentum ? lua::Value(*rate.momentum) : lua::Value());
}

void curve_length(Call& c) {
  const double length = std::visit([](const auto& one) { return length_of(one); }, curve_of(c));
  if (length == kEndless)
    c.give({});
  else if (length == std::floor(length) && std::abs(length) < 0x1p53)
    c.give(static_cast<int64_t>(length));  // steps stay integers where they are counted from it
  else
    c.give(length);
}

void plateau(Call& c) {
  optim::PlateauState state{
      .best = c.number(2, "best"), .bad = c.integer(3, "bad"), .resting = c.number(4, "resting")};
  const bool lower = optim::take(plateau_of(c), state, c.number(5, "metric"));
  c.give(state.best);
  c.give(state.bad);
  c.give(state.resting);
  c.give(lower);
}

void plateau_rate(Call& c) { c.give(optim::lowered(plateau_of(c), c.number(2, "lr"))); }

}  // namespace rille::bind
