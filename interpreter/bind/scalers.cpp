// What amp.GradScaler asks of the engine: an object that scripts hold, which decides; the
// optimizer's step is called in Lua (stdlib/rille/amp/grad_scaler.lua).
#include "amp/grad_scaler.h"

#include "autograd/node.h"
#include "autograd/scaled.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/bind/given_options.h"
#include "interpreter/bind/named.h"

namespace rille::bind {
namespace {

class ScalerObject final : public lua::Object {
 public:
  static constexpr std::string_view kWhat = "a GradScaler";
  explicit ScalerObject(amp::GradScalerOptions options) : scaler(std::move(options)) {}
  std::string_view type() const override { return "rille.native.GradScaler"; }
  amp::GradScaler scaler;
};

amp::GradScaler& self(Call& c) { return c.object<ScalerObject>(1, "self")->scaler; }

std::function<bool(bool)> group_from(const lua::Value& given) {
  const auto* f = given.get<lua::CallbackRef>();
  if (!f) return {};
  return [call = *f](bool found) {
    const std::vector<Value> answer = (*call)({found});
    const bool* any = answer.empty() ? nullptr : answer[0].get<bool>();
    if (!any) throw type_error("'group' must return whether a rank found one, a boolean");
    return *any;
  };
}

// native.grad_scaler(options)
void grad_scaler(Call& c) {
  named("GradScaler", [&] {
    const GivenOptions o(c, 1);
    c.give(lua::ObjectRef(std::make_shared<ScalerObject>(
        amp::GradScalerOptions{.device = o.text("device"),
                               .init_scale = o.number("init_scale"),
                               .growth_factor = o.number("growth_factor"),
                               .backoff_factor = o.number("backoff_factor"),
                               .growth_interval = static_cast<int64_t>(o.number("growth_interval")),
                               .enabled = o.flag("enabled"),
                               .dynamic = o.flag("dynamic"),
                               .min_scale = o.number("min_scale"),
                               .max_scale = o.maybe_number("max_scale"),
                               .hysteresis = static_cast<int64_t>(o.number("hysteresis")),
                               .force = o.flag("force"),
                               .allow_empty = o.flag("allow_empty"),
                               .group = group_from(c.option(1, "group"))})));
  });
}

void scale(Call& c) {
  named("GradScaler.scale", [&] { c.give(self(c).scale(c.tensor(2, "x"))); });
}

// The arguments of unscale and step: id, name, parameters, their names, which have master copies.
std::vector<amp::ScaledParam> params_of(Call& c) {
  const std::vector<Tensor> params = c.tensors(4, "params");
  const Value names = c.value(5), masters = c.value(6);
  std::vector<amp::ScaledParam> out(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    out[i].param = params[i];
    out[i].name = *names.table()->list.at(i).get<std::string>();
    out[i].master = *masters.table()->list.at(i).get<bool>();
  }
  return out;
}

uint64_t id_of(Call& c) { return static_cast<uint64_t>(c.integer(2, "id")); }

// scaler:unscale(id, name, params, names, masters)
void unscale(Call& c) {
  named("GradScaler.unscale_", [&] {
    const std::vector<amp::ScaledParam> params = params_of(c);
    self(c).unscale({id_of(c), c.string(3, "name"), params});
  });
}

// scaler:step(id, name, params, names, masters) -> whether the optimizer may step
void step(Call& c) {
  named("GradScaler.step", [&] {
    const std::vector<amp::ScaledParam> params = params_of(c);
    c.give(self(c).step({id_of(c), c.string(3, "name"), params}));
  });
}

// scaler:stepped(id)
void stepped(Call& c) { self(c).stepped(id_of(c)); }

// scaler:update([scale])
void update(Call& c) {
  named("GradScaler.update",
        [&] { self(c).update(c.has(2) ? std::optional(c.number(2, "scale")) : std::nullopt); });
}

// scaler:take_warning() -> text or nil
void take_warning(Call& c) {
  if (const std::string text = self(c).take_warning(); !text.empty()) c.give(text);
}

void enabled(Call& c) { c.give(self(c).enabled()); }
void get_scale(Call& c) { c.give(self(c).scale()); }
void growth_tracker(Call& c) { c.give(self(c).growth_tracker()); }
void growth_factor(Call& c) { c.give(self(c).growth_factor()); }
void backoff_factor(Call& c) { c.give(self(c).backoff_factor()); }
void growth_interval(Call& c) { c.give(self(c).growth_interval()); }
void set_growth_factor(Call& c) {
  named("GradScaler.set_growth_factor", [&] { self(c).set_growth_factor(c.number(2, "factor")); });
}
void set_backoff_factor(Call& c) {
  named("GradScaler.set_backoff_factor",
        [&] { self(c).set_backoff_factor(c.number(2, "factor")); });
}
void set_growth_interval(Call& c) {
  named("GradScaler.set_growth_interval",
        [&] { self(c).set_growth_interval(c.integer(2, "interval")); });
}

// scaler:state() -> a table under PyTorch's names
void state(Call& c) {
  named("GradScaler.state_dict", [&] {
    const amp::GradScalerState s = self(c).state();
    Table out;
    out.named["scale"] = s.scale;
    out.named["growth_factor"] = s.growth_factor;
    out.named["backoff_factor"] = s.backoff_factor;
    out.named["growth_interval"] = s.growth_interval;
    out.named["_growth_tracker"] = s.growth_tracker;
    if (self(c).options().hysteresis > 1) out.named["_overflow_tracker"] = s.overflow_tracker;
    c.give(std::move(out));
  });
}

// scaler:load(state): its fields are numbers
void load(Call& c) {
  named("GradScaler.load_state_dict", [&] {
    const GivenOptions s(c, 2);
    self(c).load({s.number("scale"), s.number("growth_factor"), s.number("backoff_factor"),
                  static_cast<int64_t>(s.number("growth_interval")),
                  static_cast<int64_t>(s.number("_growth_tracker")),
                  static_cast<int64_t>(s.maybe_number("_overflow_tracker").value_or(0))});
  });
}

// native.has_scaled_grad(t)
void has_scaled_grad(Call& c) {
  c.give(autograd::scaled_at(autograd::grad_of(c.tensor(1, "t"))).has_value());
}

}  // namespace

void bind_scalers(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"grad_scaler", grad_scaler},
                                            {"has_scaled_grad", has_scaled_grad}};
  lua::define_functions(in, "rille.native", natives);
  static constexpr NativeEntry methods[] = {{"scale", scale},
                                            {"unscale", unscale},
                                            {"step", step},
                                            {"stepped", stepped},
                                            {"update", update},
                                            {"take_warning", take_warning},
                                            {"enabled", enabled},
                                            {"get_scale", get_scale},
                                            {"growth_tracker", growth_tracker},
                                            {"growth_factor", growth_factor},
                                            {"backoff_factor", backoff_factor},
                                            {"growth_interval", growth_interval},
                                            {"set_growth_factor", set_growth_factor},
                                            {"set_backoff_factor", set_backoff_factor},
                                            {"set_growth_interval", set_growth_interval},
                                            {"state", state},
                                            {"load", load}};
  lua::define_class(in, "rille.native.GradScaler", methods);
}

}  // namespace rille::bind
