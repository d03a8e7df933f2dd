// Optimizers of optim.hpp and clipping: what is kept between steps. The arithmetic is the engine's
// (optim/step.h), the order of parameters the same as in scripts
// (stdlib/rille/optim/optimizer.lua).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "autograd/node.h"
#include "core/budget.h"
#include "core/context.h"
#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/optimizer_state.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/select.h"
#include "optim/clip.h"
#include "optim/flushed.h"
#include "optim/scaled_state.h"
#include "rille/grad.hpp"
#include "rille/optim.hpp"

namespace rille::v1::optim {

namespace {

constexpr const char* kStateNames[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

using api::guarded, api::handle_of;

void check(bool fits, const char* name, double got) {
  if (!fits) throw arg_error("'{}' must not be negative, got {}", name, got);
}

template <class Options>
Group group_of(const Options& o) {
  Group g;
  check(o.lr >= 0, "lr", o.lr);
  check(o.weight_decay >= 0, "weight_decay", o.weight_decay);
  if constexpr (requires { o.betas; }) {
    check(o.eps >= 0, "eps", o.eps);
    for (const double beta : o.betas)
      if (!(beta >= 0 && beta < 1)) throw arg_error("a beta must be in [0, 1), got {}", beta);
    g.adam = {.lr = o.lr,
              .beta1 = o.betas[0],
              .beta2 = o.betas[1],
              .eps = o.eps,
              .weight_decay = o.weight_decay,
              .decoupled = std::is_same_v<Options, AdamWOptions>,
              .amsgrad = o.amsgrad,
              .maximize = o.maximize};
  } else {
    check(o.momentum >= 0, "momentum", o.momentum);
    if (o.nesterov && (!(o.momentum > 0) || o.dampening != 0))
      throw option_error("'nesterov' needs a momentum and no dampening");
    g.sgd = {.lr = o.lr,
             .momentum = o.momentum,
             .dampening = o.dampening,
             .weight_decay = o.weight_decay,
             .nesterov = o.nesterov,
             .maximize = o.maximize};
  }
  g.master_weights = o.master_weights;
  g.how = {.stochastic = o.stochastic_rounding, .measure = o.stats};
  if (o.state_dtype) {
    g.state_dtype = api::dtype_of(*o.state_dtype);
    rille::optim::check_state_dtype(*g.state_dtype);
  }
  return g;
}

template <class Options>
void add_group(OptimizerState& s, const std::vector<Tensor>& parameters, const Options& options) {
  guarded(s.kind, [&] {
    Group g = group_of(options);
    if (parameters.empty()) throw arg_error("the list of parameters is empty");
    std::set<const TensorImpl*> seen;
    for (const Group& other : s.groups)
      for (const Held& h : other.held) seen.insert(h.param.impl());
    for (size_t i = 0; i < parameters.size(); ++i) {
      Held h;
      h.param = api::tensor_of(parameters[i]);
      if (!autograd::is_leaf(h.param))
        throw arg_error("parameter {} is no leaf: it was computed", i);
      if (!seen.insert(h.param.impl()).second) throw arg_error("parameter {} is there twice", i);
      g.held.push_back(std::move(h));
    }
    s.groups.push_back(std::move(g));
  });
}

size_t states_of(Rule rule, const Group& g) {
  if (rule == Rule::sgd) return g.sgd.momentum != 0 ? 1 : 0;
  return g.adam.amsgrad ? 3 : 2;
}

std::string state_name(Rule rule, size_t k) {
  return rule == Rule::sgd ? "momentum_buffer" : kStateNames[k];
}

// Made when a parameter first has a gradient.
void begin(Rule rule, const Group& g, Held& h) {
  if (h.begun) return;
  for (size_t k = 0; k < states_of(rule, g); ++k) {
    h.state[k] = call<ZerosLike>({.x = h.param, .dtype = g.state_dtype});
    h.scale[k] = rille::optim::fresh_scales(h.param.numel(), g.state_dtype);
  }
  const DType d = h.param.dtype();
  if (g.master_weights && d != DType::f32 && d != DType::f64)
    h.master = rille::cast(autograd::detach(h.param), DType::f32);
  h.begun = true;
}

// One fused call for all parameters of equal step count: one, nearly always.
void step_group(OptimizerState& s, Group& g) {
  std::vector<std::pair<int64_t, std::vector<rille::optim::StepItem>>> batches;
  for (Held& h : g.held) {
    const rille::Tensor gradient = autograd::grad_of(h.param);
    if (!gradient) continue;
    begin(s.rule, g, h);
    ++h.step;
    auto at = std::find_if(batches.begin(), batches.end(),
                           [&](const auto& b) { return b.first == h.step; });
    if (at == batches.end()) at = batches.insert(batches.end(), {h.step, {}});
    rille::optim::StepItem item{.param = h.param, .grad = gradient};
    std::copy(h.state, h.state + 3, item.state);
    std::copy(h.scale, h.scale + 3, item.scale);
    item.master = h.master;
    at->second.push_back(std::move(item));
  }
  for (const auto& [step, items] : batches) {
    const rille::optim::StepChange change =
        s.rule == Rule::sgd ? rille::optim::sgd_step(items, g.sgd, step, g.how)
                            : rille::optim::adam_step(items, g.adam, step, g.how);
    if (!g.how.measure) continue;
    s.change->update_squares += change.update_squares;
    s.change->param_squares += change.param_squares;
    s.change->lost += change.lost;
  }
}

// As scripts are warned (stdlib/rille/optim/flushed.lua): once an optimizer.
void warn_of_flushed(OptimizerState& s) {
  const int64_t before = std::exchange(s.lowered, rille::optim::lowered_to_f16());
  if (s.scaled || s.lowered == before || s.step_count >= rille::optim::kLookedAt) return;
  std::vector<rille::Tensor> params;
  std::vector<std::string> names;
  for (const Group& g : s.groups)
    for (const Held& h : g.held) {
      names.push_back(fmt::format("parameter {}", params.size()));
      params.push_back(h.param);
    }
  const std::string text = rille::optim::flushed_warning(s.kind + ".step", params, names);
  if (text.empty()) return;
  api::warn(text);
  s.scaled = true;  // it was told
}

}  // namespace

Optimizer::Optimizer(const char* kind) : state_(std::make_shared<OptimizerState>()) {
  state_->kind = kind;
  state_->rule = state_->kind == "SGD"    ? Rule::sgd
                 : state_->kind == "Adam" ? Rule::adam
                                          : Rule::adamw;
}
Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

OptimizerState& Optimizer::state() const {
  if (!state_)
    throw Error(ErrorKind::state, "E_STATE", "the optimizer was moved to another variable");
  return *state_;
}

SGD::SGD(const std::vector<Tensor>& parameters, const SGDOptions& options) : Optimizer("SGD") {
  add_group(parameters, options);
}
void SGD::add_group(const std::vector<Tensor>& parameters, const SGDOptions& options) {
  optim::add_group(state(), parameters, options);
}
Adam::Adam(const std::vector<Tensor>& parameters, const AdamOptions& options) : Optimizer("Adam") {
  add_group(parameters, options);
}
void Adam::add_group(const std::vector<Tensor>& parameters, const AdamOptions& options) {
  optim::add_group(state(), parameters, options);
}
AdamW::AdamW(const std::vector<Tensor>& parameters, const AdamWOptions& options)
    : Optimizer("AdamW") {
  add_group(parameters, options);
}
void AdamW::add_group(const std::vector<Tensor>& parameters, const AdamWOptions& options) {
  optim::add_group(state(), parameters, options);
}

void Optimizer::zero_grad(bool set_to_none) {
  guarded("zero_grad", [&] {
    const rille::NoGrad quiet;
    const Unit whole;
    for (const Group& g : state().groups)
      for (const Held& h : g.held) {
        const rille::Tensor gradient = autograd::grad_of(h.param);
        if (!gradient) continue;
        if (set_to_none)
          autograd::set_grad(h.param, {});
        else
          call_<Zero>({.x = gradient});
      }
  });
}

void Optimizer::step() {
  guarded(state().kind, [&] {
    const rille::NoGrad quiet;
    OptimizerState& s = state();
    warn_of_flushed(s);
    const Unit whole;
    s.change.reset();
    for (const Group& g : s.groups)
      if (g.how.measure) s.change.emplace();
    for (Group& g : s.groups) step_group(s, g);
    ++s.step_count;
  });
}

StepStats Optimizer::stats() const {
  return guarded(state().kind + ".stats", [&] {
    const auto& change = state().change;
    if (!change)
      throw fail(Kind::state, "E_STATE", "no step was measured")
          .hint("make the optimizer with stats = true");
    return StepStats{std::sqrt(change->update_squares), std::sqrt(change->param_squares),
                     change->lost};
  });
}

Tensor Optimizer::step(const std::function<Tensor()>& closure) {
  const EnableGrad recorded;
  Tensor loss = closure();
  step();
  return loss;
}

int64_t Optimizer::step_count() const { return state().step_count; }
size_t Optimizer::groups() const { return state().groups.size(); }

namespace {

Group& group_at(OptimizerState& s, size_t group) {
  if (group >= s.groups.size())
    throw index_error("group {}, but there are {}", group, s.groups.size());
  return s.groups[group];
}

}  // namespace

double Optimizer::lr(size_t group) const {
  return guarded("lr", [&] { return rate_in(state(), group_at(state(), group)); });
}
void Optimizer::set_lr(size_t group, double lr) {
  guarded("set_lr", [&] {
    check(lr >= 0, "lr", lr);
    rate_in(state(), group_at(state(), group)) = lr;
  });
}
void Optimizer::set_lr(double lr) {
  for (size_t g = 0; g < groups(); ++g) set_lr(g, lr);
}
double Optimizer::momentum(size_t group) const {
  return guarded("momentum", [&] { return momentum_in(state(), group_at(state(), group)); });
}

// ---- state
// -----------------------------------------------------------------------------------------

namespace {

// f(name, tensor of the state) for all that there may be; parameters count over the groups.
template <class F>
void each_state(OptimizerState& s, F&& f) {
  size_t number = 0;
  for (Group& g : s.groups)
    for (Held& h : g.held) {
      for (size_t k = 0; k < states_of(s.rule, g); ++k) {
        const std::string name = fmt::format("{}.{}", number, state_name(s.rule, k));
        f(name, h.state[k], h.param.shape());
        f(name + "_scale", h.scale[k], rille::Shape{h.scale[k] ? h.scale[k].numel() : 0});
      }
      f(fmt::format("{}.master", number), h.master, h.param.shape());
      ++number;
    }
}

template <class F>
void each_held(OptimizerState& s, F&& f) {
  size_t number = 0;
  for (Group& g : s.groups)
    for (Held& h : g.held) f(fmt::format("{}.step", number++), g, h);
}

}  // namespace

int64_t count_in(const rille::Tensor& t, const std::string& name) {
  if (t.numel() != 1 || is_float(t.dtype()))
    throw fail(Kind::state, "E_STATE", "'{}' must be one integer", name);
  return t.item_int();
}

rille::Tensor count_tensor(int64_t n) {
  rille::Tensor t = rille::Tensor::empty(rille::Shape{}, DType::i64);
  *t.data_as<int64_t>() = n;
  return t;
}

StateDict Optimizer::state_dict() const {
  return guarded("state_dict", [&] {
    StateDict out;
    out.emplace_back("step_count", handle_of(count_tensor(state().step_count)));
    each_held(state(), [&](const std::string& name, const Group&, const Held& h) {
      if (h.begun) out.emplace_back(name, handle_of(count_tensor(h.step)));
    });
    each_state(state(), [&](const std::string& name, const rille::Tensor& t, const rille::Shape&) {
      if (t) out.emplace_back(name, handle_of(t));
    });
    return out;
  });
}

void Optimizer::load_state_dict(const StateDict& dict) {
  guarded("load_state_dict", [&] {
    std::map<std::string, rille::Tensor> given;
    for (const auto& [name, t] : dict) given.emplace(name, api::tensor_of(t));
    const auto take = [&](const std::string& name) {
      const auto it = given.find(name);
      rille::Tensor t = it == given.end() ? rille::Tensor() : it->second;
      if (it != given.end()) given.erase(it);
      return t;
    };
    const rille::NoGrad quiet;
    OptimizerState fresh = state();
    const rille::Tensor steps = take("step_count");
    fresh.step_count = steps ? count_in(steps, "step_count") : 0;
    each_held(fresh, [&](const std::string& name, const Group& g, Held& h) {
      const rille::Tensor step = take(name);
      h.begun = false;
      h.step = step ? count_in(step, name) : 0;
      std::fill(h.state, h.state + 3, rille::Tensor());
      std::fill(h.scale, h.scale + 3, rille::Tensor());
      h.master = {};
      if (step) begin(fresh.rule, g, h);
    });
    each_state(fresh, [&](const std::string& name, rille::Tensor& own, const rille::Shape& shape) {
      const rille::Tensor value = take(name);
      if (!own && !value) return;
      if (!own || !value)
        throw fail(Kind::state, "E_STATE", "'{}' is {}", name, own ? "missing" : "unexpected");
      if (value.shape() != shape)
        throw fail(Kind::state, "E_STATE", "'{}' is of shape {}, not {}", name,
                   rille::to_string(value.shape()), rille::to_string(shape));
      own = rille::clone(rille::to_device(value, own.device()));
    });
    if (!given.empty())
      throw fail(Kind::state, "E_STATE", "state of what is not here: '{}'", given.begin()->first);
    state() = std::move(fresh);
  });
}

}  // namespace rille::v1::optim

// ---- clipping
// --------------------------------------------------------------------------------------

namespace rille::v1::nn {

namespace {

std::vector<rille::Tensor> gradients_of(const char* op, const std::vector<Tensor>& parameters) {
  std::vector<rille::Tensor> params;
  for (const Tensor& p : parameters) params.push_back(api::tensor_of(p));
  rille::optim::ToClip it = rille::optim::gradients_to_clip(op, params);
  static std::once_flag told;
  if (!it.warning.empty()) std::call_once(told, [&] { api::warn(it.warning); });
  return std::move(it.gradients);
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max,
                       const ClipOptions& options) {
  return api::guarded("clip_grad_norm_", [&] {
    const std::vector<rille::Tensor> gradients = gradients_of("clip_grad_norm_", parameters);
    if (gradients.empty()) return Tensor::scalar(0);
    const rille::Tensor norm =
        rille::optim::clip_norm(gradients, max, options.p, options.like_torch);
    if (const double n = norm.item(); options.error_if_nonfinite && n - n != 0)
      throw fail(Kind::state, "E_STATE", "the norm of the gradients is {}", n);
    return api::handle_of(norm);
  });
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double max) {
  api::guarded("clip_grad_value_", [&] {
    const rille::NoGrad quiet;
    for (const rille::Tensor& g : gradients_of("clip_grad_value_", parameters))
      call_<Clamp>({.x = g, .min = rille::Tensor::number(-max), .max = rille::Tensor::number(max)});
  });
}

}  // namespace rille::v1::nn
