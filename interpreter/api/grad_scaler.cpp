// GradScaler of grad_scaler.hpp: the engine decides (amp/grad_scaler.h), the optimizer's step is
// called here.
#include "rille/grad_scaler.hpp"

#include <fmt/format.h>

#include "amp/grad_scaler.h"
#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/optimizer_state.h"
#include "interpreter/api/schedule_state.h"

namespace rille::v1::amp {

struct GradScalerState {
  rille::amp::GradScaler scaler;
};

namespace {

using api::guarded, api::guarded_around_host, api::handle_of;
using optim::OptimizerState;

rille::amp::GradScalerOptions engine_options(const GradScalerOptions& o) {
  return {.device = o.device ? to_string(*o.device) : std::string(),
          .init_scale = o.init_scale,
          .growth_factor = o.growth_factor,
          .backoff_factor = o.backoff_factor,
          .growth_interval = o.growth_interval,
          .enabled = o.enabled,
          .dynamic = o.dynamic,
          .min_scale = o.min_scale,
          .max_scale = o.max_scale,
          .hysteresis = o.hysteresis,
          .force = o.force,
          .allow_empty = o.allow_empty,
          .group = o.group};
}

// An optimizer as the engine's scaler sees it; parameters count over the groups, from 0.
struct Described {
  explicit Described(const OptimizerState& s) {
    for (const optim::Group& g : s.groups)
      for (const optim::Held& h : g.held)
        params.push_back({h.param, fmt::format("parameter {}", params.size()), g.master_weights});
    optimizer = {reinterpret_cast<uint64_t>(&s), s.kind, params};
  }
  std::vector<rille::amp::ScaledParam> params;
  rille::amp::ScaledOptimizer optimizer;
};

void warn_of(rille::amp::GradScaler& scaler) {
  if (const std::string text = scaler.take_warning(); !text.empty()) api::warn(text);
}

rille::Tensor number_tensor(double value) { return rille::Tensor::of({&value, 1}, {}, DType::f64); }

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options)
    : state_(guarded("GradScaler", [&] {
        auto made = std::make_unique<GradScalerState>(
            GradScalerState{rille::amp::GradScaler(engine_options(options))});
        warn_of(made->scaler);
        return made;
      })) {}
GradScaler::GradScaler(GradScaler&&) noexcept = default;
GradScaler& GradScaler::operator=(GradScaler&&) noexcept = default;
GradScaler::~GradScaler() = default;

GradScalerState& GradScaler::state() const {
  if (!state_) throw Error(ErrorKind::state, "E_STATE", "the scaler was moved to another variable");
  return *state_;
}

Tensor GradScaler::scale(const Tensor& loss) {
  if (!is_enabled()) return loss;
  return guarded("GradScaler.scale", [&] {
    const rille::Tensor scaled = state().scaler.scale(api::tensor_of(loss));
    warn_of(state().scaler);
    return handle_of(scaled);
  });
}

std::vector<Tensor> GradScaler::scale(const std::vector<Tensor>& losses) {
  std::vector<Tensor> out;
  for (const Tensor& loss : losses) out.push_back(scale(loss));
  return out;
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!is_enabled()) return;
  guarded_around_host("GradScaler.unscale_", [&] {
    const Described d(*optim::lr::optimizer_state(optimizer));
    state().scaler.unscale(d.optimizer);
  });
}

bool GradScaler::step(optim::Optimizer& optimizer) {
  if (!is_enabled()) {
    optimizer.step();
    return true;
  }
  return guarded_around_host("GradScaler.step", [&] {
    OptimizerState& stepped = *optim::lr::optimizer_state(optimizer);
    const Described d(stepped);
    stepped.scaled = true;
    const bool finite = state().scaler.step(d.optimizer);
    if (finite) optimizer.step();
    state().scaler.stepped(d.optimizer.id);
    return finite;
  });
}

void GradScaler::update(std::optional<double> scale) {
  guarded("GradScaler.update", [&] { state().scaler.update(scale); });
}

bool GradScaler::is_enabled() const { return state().scaler.enabled(); }
double GradScaler::get_scale() const { return state().scaler.scale(); }
int64_t GradScaler::get_growth_tracker() const { return state().scaler.growth_tracker(); }
double GradScaler::get_growth_factor() const { return state().scaler.growth_factor(); }
void GradScaler::set_growth_factor(double factor) {
  guarded("GradScaler.set_growth_factor", [&] { state().scaler.set_growth_factor(factor); });
}
double GradScaler::get_backoff_factor() const { return state().scaler.backoff_factor(); }
void GradScaler::set_backoff_factor(double factor) {
  guarded("GradScaler.set_backoff_factor", [&] { state().scaler.set_backoff_factor(factor); });
}
int64_t GradScaler::get_growth_interval() const { return state().scaler.growth_interval(); }
void GradScaler::set_growth_interval(int64_t interval) {
  guarded("GradScaler.set_growth_interval", [&] { state().scaler.set_growth_interval(interval); });
}

StateDict GradScaler::state_dict() const {
  if (!is_enabled()) return {};
  return guarded("GradScaler.state_dict", [&] {
    const rille::amp::GradScalerState s = state().scaler.state();
    StateDict out{{"scale", handle_of(number_tensor(s.scale))},
                  {"growth_factor", handle_of(number_tensor(s.growth_factor))},
                  {"backoff_factor", handle_of(number_tensor(s.backoff_factor))},
                  {"growth_interval", handle_of(optim::count_tensor(s.growth_interval))},
                  {"_growth_tracker", handle_of(optim::count_tensor(s.growth_tracker))}};
    if (state().scaler.options().hysteresis > 1)
      out.emplace_back("_overflow_tracker", handle_of(optim::count_tensor(s.overflow_tracker)));
    return out;
  });
}

void GradScaler::load_state_dict(const StateDict& dict) {
  if (!is_enabled()) return;
  guarded("GradScaler.load_state_dict", [&] {
    if (dict.empty())
      throw fail(Kind::state, "E_SCALER_EMPTY_STATE",
                 "the state is empty: it was saved from a disabled scaler")
          .hint("make this one with enabled = false, or load no state");
    const bool tracks = state().scaler.options().hysteresis > 1;
    const optim::lr::StateFields s(
        dict, {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker",
               tracks ? "_overflow_tracker" : "_growth_tracker"});
    state().scaler.load({s.number("scale"), s.number("growth_factor"), s.number("backoff_factor"),
                         s.count("growth_interval"), s.count("_growth_tracker"),
                         tracks ? s.count("_overflow_tracker") : 0});
  });
}

}  // namespace rille::v1::amp
