// What rille.optim and nn.clip_grad_norm_ ask of the engine: fused steps, clipping, and the rates
// of schedules (curves.h).
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/bind/curves.h"
#include "interpreter/bind/given_options.h"
#include "optim/clip.h"
#include "optim/flushed.h"
#include "optim/scaled_state.h"
#include "optim/step.h"

namespace rille::bind {
namespace {

// Names of the states in the order of StepItem (stdlib/rille/optim/kinds.lua has them, too).
int state_index(std::string_view key) {
  if (key == "momentum_buffer" || key == "exp_avg") return 0;
  if (key == "exp_avg_sq") return 1;
  if (key == "max_exp_avg_sq") return 2;
  return -1;
}

// "exp_avg_scale" are the scales of "exp_avg".
constexpr std::string_view kScales = "_scale";

std::vector<optim::StepItem> items_of(Call& c) {
  std::vector<Tensor> params = c.tensors(2, "params"), grads = c.tensors(3, "grads");
  if (params.size() != grads.size())
    throw arg_error("{} parameters, but {} gradients", params.size(), grads.size());
  std::vector<optim::StepItem> items(params.size());
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].param = std::move(params[i]);
    items[i].grad = std::move(grads[i]);
  }
  for (lua::TensorField& f : c.tensor_fields(4, "states")) {
    if (f.position >= items.size()) throw arg_error("more states than parameters");
    const bool scale = f.key.ends_with(kScales);
    const std::string_view key =
        std::string_view(f.key).substr(0, f.key.size() - (scale ? kScales.size() : 0));
    if (const int k = state_index(key); k >= 0)
      (scale ? items[f.position].scale : items[f.position].state)[k] = std::move(f.tensor);
    else if (f.key == "master")
      items[f.position].master = std::move(f.tensor);
  }
  return items;
}

optim::Sgd sgd_options(const GivenOptions& g) {
  return {.lr = g.number("lr"),
          .momentum = g.number("momentum"),
          .dampening = g.number("dampening"),
          .weight_decay = g.number("weight_decay"),
          .nesterov = g.flag("nesterov"),
          .maximize = g.flag("maximize")};
}
optim::Adam adam_options(const GivenOptions& g, bool decoupled) {
  return {.lr = g.number("lr"),
          .beta1 = g.listed("betas", 0),
          .beta2 = g.listed("betas", 1),
          .eps = g.number("eps"),
          .weight_decay = g.number("weight_decay"),
          .decoupled = decoupled,
          .amsgrad = g.flag("amsgrad"),
          .maximize = g.flag("maximize")};
}

// native.optimizer_step(kind, params, grads, states, group, step) -> where the group has `stats`,
// the squares of the updates, those of the parameters, and the updates that were lost
void optimizer_step(Call& c) {
  const std::string kind = c.string(1, "kind");
  try {
    const std::vector<optim::StepItem> items = items_of(c);
    const GivenOptions group(c, 5);
    const int64_t step = c.integer(6, "step");
    const optim::StepHow how{.stochastic = group.flag("stochastic_rounding"),
                             .measure = group.flag("stats")};
    optim::StepChange change;
    if (kind == "SGD")
      change = optim::sgd_step(items, sgd_options(group), step, how);
    else if (kind == "Adam" || kind == "AdamW")
      change = optim::adam_step(items, adam_options(group, kind == "AdamW"), step, how);
    else
      throw arg_error("there is no optimizer '{}'", kind);
    if (!how.measure) return;
    c.give(change.update_squares);
    c.give(change.param_squares);
    c.give(change.lost);
  } catch (Error& e) {
    e.op(kind);
    throw;
  }
}

DType dtype_at(Call& c, int i) {
  const std::string text = c.string(i, "state_dtype");
  if (const auto d = parse_dtype(text)) return *d;
  throw option_error("there is no dtype '{}'", text);
}

// native.check_state_dtype(kind, dtype)
void check_state_dtype(Call& c) {
  try {
    optim::check_state_dtype(dtype_at(c, 2));
  } catch (Error& e) {
    e.op(c.string(1, "kind"));
    throw;
  }
}

// native.state_scales(n, dtype) -> the scales that n elements of state begin with, or nil
void state_scales(Call& c) {
  if (const Tensor t = optim::fresh_scales(c.integer(1, "n"), dtype_at(c, 2))) c.give(t);
}

// native.clip_norm(params, max, p, like_torch, strict) -> norm, warning or nil
void clip_norm(Call& c) {
  try {
    const optim::ToClip it =
        optim::gradients_to_clip("clip_grad_norm_", c.tensors(1, "params"), c.boolean(5, "strict"));
    c.give(optim::clip_norm(it.gradients, c.number(2, "max"), c.number(3, "p"),
                            c.boolean(4, "like_torch")));
    if (!it.warning.empty()) c.give(it.warning);
  } catch (Error& e) {
    e.op("clip_grad_norm_");
    throw;
  }
}

// native.gradients_to_clip(params, strict) -> list, warning or nil
void gradients_to_clip(Call& c) {
  try {
    optim::ToClip it = optim::gradients_to_clip("clip_grad_value_", c.tensors(1, "params"),
                                                c.boolean(2, "strict"));
    Table list;
    for (Tensor& g : it.gradients) list.list.emplace_back(std::move(g));
    c.give(std::move(list));
    if (!it.warning.empty()) c.give(it.warning);
  } catch (Error& e) {
    e.op("clip_grad_value_");
    throw;
  }
}

// native.lowered_to_f16() -> how often autocast did that so far
void lowered_to_f16(Call& c) { c.give(optim::lowered_to_f16()); }

// native.flushed(op, params, names) -> warning or nil
void flushed(Call& c) {
  std::vector<std::string> names;
  const Value given = c.value(3);
  for (const Value& name : given.table()->list) names.push_back(*name.get<std::string>());
  const std::string text = optim::flushed_warning(c.string(1, "op"), c.tensors(2, "params"), names);
  if (!text.empty()) c.give(text);
}

}  // namespace

void bind_optim(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"optimizer_step", optimizer_step},
                                            {"check_state_dtype", check_state_dtype},
                                            {"state_scales", state_scales},
                                            {"clip_norm", clip_norm},
                                            {"gradients_to_clip", gradients_to_clip},
                                            {"flushed", flushed},
                                            {"lowered_to_f16", lowered_to_f16},
                                            {"curve", curve},
                                            {"curve_length", curve_length},
                                            {"plateau", plateau},
                                            {"plateau_rate", plateau_rate}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
