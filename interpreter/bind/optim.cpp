// What rille.optim and nn.clip_grad_norm_ ask of the engine: fused steps, clipping, and the rates
// of schedules (curves.h).
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/bind/curves.h"
#include "interpreter/bind/given_options.h"
#include "optim/clip.h"
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
    if (const int k = state_index(f.key); k >= 0)
      items[f.position].state[k] = std::move(f.tensor);
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

// native.optimizer_step(kind, params, grads, states, group, step)
void optimizer_step(Call& c) {
  const std::string kind = c.string(1, "kind");
  try {
    const std::vector<optim::StepItem> items = items_of(c);
    const GivenOptions group(c, 5);
    const int64_t step = c.integer(6, "step");
    if (kind == "SGD")
      optim::sgd_step(items, sgd_options(group), step);
    else if (kind == "Adam" || kind == "AdamW")
      optim::adam_step(items, adam_options(group, kind == "AdamW"), step);
    else
      throw arg_error("there is no optimizer '{}'", kind);
  } catch (Error& e) {
    e.op(kind);
    throw;
  }
}

// native.clip_norm(grads, max, p)
void clip_norm(Call& c) {
  try {
    c.give(optim::clip_norm(c.tensors(1, "grads"), c.number(2, "max"),
                            c.has(3) ? c.number(3, "p") : 2));
  } catch (Error& e) {
    e.op("clip_grad_norm_");
    throw;
  }
}

}  // namespace

void bind_optim(Interpreter& in) {
  static constexpr NativeEntry natives[] = {
      {"optimizer_step", optimizer_step}, {"clip_norm", clip_norm}, {"curve", curve},
      {"curve_length", curve_length},     {"plateau", plateau},     {"plateau_rate", plateau_rate}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
