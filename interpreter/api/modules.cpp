// Modules: a tree of names and tensors, walked in order. Layers of the engine hold the same tensors
// that the tree names, so what moves or loads them reaches both.
#include "interpreter/api/modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "autograd/node.h"
#include "core/budget.h"
#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/schemas.h"
#include "nn/set_data.h"
#include "ops/cast.h"

namespace rille::v1::nn {

namespace {

using api::guarded, api::handle_of;
using Entry = ModuleState::Entry;

struct Found {
  std::string name;
  Entry* entry;
};

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

// f(dotted name, entry) for every tensor under every name, own ones first; modules that hold
// themselves are entered once.
template <class F>
void walk(ModuleState& m, const std::string& prefix, std::vector<ModuleState*>& above, F&& f,
          auto&& state_of) {
  if (std::find(above.begin(), above.end(), &m) != above.end()) return;
  above.push_back(&m);
  for (Entry& e : m.tensors) f(join(prefix, e.name), e);
  for (auto& [name, child] : m.children)
    walk(*state_of(child), join(prefix, name), above, f, state_of);
  above.pop_back();
}

template <class F>
void each_name(const Module& m, F&& f) {
  std::vector<ModuleState*> above;
  walk(*ModuleAccess::state(m), "", above, f,
       [](const Module& child) { return ModuleAccess::state(child); });
}

// Each tensor once, under its first name.
std::vector<Found> each_tensor_of(const Module& m) {
  std::vector<Found> out;
  std::set<const TensorImpl*> seen;
  each_name(m, [&](std::string name, Entry& e) {
    if (seen.insert(e.tensor.impl()).second) out.push_back({std::move(name), &e});
  });
  return out;
}

StateDict named(const Module& m, bool buffers) {
  StateDict out;
  for (Found& f : each_tensor_of(m))
    if (f.entry->is_buffer == buffers)
      out.emplace_back(std::move(f.name), handle_of(f.entry->tensor));
  return out;
}

std::vector<Tensor> values(StateDict dict) {
  std::vector<Tensor> out;
  out.reserve(dict.size());
  for (auto& [name, t] : dict) out.push_back(std::move(t));
  return out;
}

// Moves each tensor and its gradient, in place.
template <class F>
void replace_all(const Module& m, F&& moved) {
  const rille::NoGrad quiet;
  const Unit whole;
  for (const Found& f : each_tensor_of(m)) {
    const rille::Tensor& t = f.entry->tensor;
    const rille::Tensor gradient = autograd::grad_of(t);
    rille::nn::set_data(t, moved(t));
    if (gradient) autograd::set_grad(t, moved(gradient));
  }
}

void write_text(const Module& m, const std::string& margin, std::string& out) {
  const ModuleState& s = *ModuleAccess::state(m);
  const std::string own =
      s.info ? rille::nn::layer_text(*s.info, s.info->options_of(s.layer.get())) : s.kind;
  out += own;
  if (s.children.empty()) {
    if (!s.info) out += "()";
    return;
  }
  out += "(\n";
  for (const auto& [name, child] : s.children) {
    out += fmt::format("{}  {}: ", margin, name);
    write_text(child, margin + "  ", out);
    out += "\n";
  }
  out += margin + ")";
}

}  // namespace

// ---- making them
// -----------------------------------------------------------------------------------

Module::Module(std::string kind) : state_(std::make_shared<ModuleState>()) {
  state_->kind = std::move(kind);
}

Module::Module(const LayerArguments& options) : state_(std::make_shared<ModuleState>()) {
  const OpInfo& schema = api::op_of(options.schema());
  guarded(schema.name, [&] {
    state_->kind = schema.name;
    state_->info = rille::nn::find_layer(schema.name);
    state_->layer = state_->info->make(options.values());
    for (const rille::nn::Slot& s : state_->info->tensors(state_->layer.get()))
      if (*s.tensor) state_->tensors.push_back({s.name, *s.tensor, s.is_buffer});
  });
}

void Module::run(const LayerArguments& inputs, Tensor* out, size_t count) const {
  guarded(state_->kind, [&] {
    Results results;
    state_->info->forward(state_->layer.get(), inputs.values(), state_->training, results);
    if (results.size() != count)
      throw internal_error("{} results, where the headers expect {}", results.size(), count);
    for (size_t i = 0; i < count; ++i) out[i] = handle_of(std::move(results[i]));
  });
}

namespace {

void check_name(const ModuleState& m, const std::string& name) {
  if (name.empty() || name.find('.') != std::string::npos)
    throw arg_error("'{}' can't be a name: it is empty or holds a point", name);
  bool taken = false;
  for (const Entry& e : m.tensors) taken |= e.name == name;
  for (const auto& child : m.children) taken |= child.first == name;
  if (taken) throw arg_error("the name '{}' is taken", name);
}

}  // namespace

Tensor Module::register_parameter(const std::string& name, const Tensor& t) {
  return guarded("register_parameter", [&] {
    check_name(*state_, name);
    rille::Tensor own = api::tensor_of(t);
    if (!autograd::is_leaf(own)) own = autograd::detach(own);
    autograd::set_requires_grad(own, true);
    state_->tensors.push_back({name, own});
    return handle_of(own);
  });
}

Tensor Module::register_buffer(const std::string& name, const Tensor& t, bool persistent) {
  return guarded("register_buffer", [&] {
    check_name(*state_, name);
    state_->tensors.push_back({name, api::tensor_of(t), true, persistent});
    return t;
  });
}

void Module::add_child(const std::string& name, const Module& part) {
  guarded("register_module", [&] {
    check_name(*state_, name);
    state_->children.emplace_back(name, part);
  });
}

// ---- what they hold
// --------------------------------------------------------------------------------

StateDict Module::named_parameters() const {
  return guarded("named_parameters", [&] { return named(*this, false); });
}
StateDict Module::named_buffers() const {
  return guarded("named_buffers", [&] { return named(*this, true); });
}
std::vector<Tensor> Module::parameters() const { return values(named_parameters()); }
std::vector<Tensor> Module::buffers() const { return values(named_buffers()); }
std::vector<std::pair<std::string, Module>> Module::named_children() const {
  return state_->children;
}

Tensor Module::tensor(std::string_view name) const {
  return guarded("tensor", [&] {
    Tensor found;
    each_name(*this, [&](const std::string& full, Entry& e) {
      if (full == name) found = handle_of(e.tensor);
    });
    if (!found) throw arg_error("{} has no parameter or buffer '{}'", state_->kind, name);
    return found;
  });
}

std::string to_string(const Module& m) {
  return guarded("to_string", [&] {
    std::string out;
    write_text(m, "", out);
    return out;
  });
}

// ---- changing them
// ---------------------------------------------------------------------------------

bool Module::is_training() const { return state_->training; }
void Module::set_training(bool on) const {
  state_->training = on;
  for (const auto& [name, child] : state_->children) child.set_training(on);
}

void Module::zero_grad() const {
  guarded("zero_grad", [&] {
    for (const Found& f : each_tensor_of(*this)) autograd::set_grad(f.entry->tensor, {});
  });
}

void Module::move_to(Device device) const {
  guarded("to", [&] {
    const rille::Device to = api::device_of(device);
    replace_all(*this, [&](const rille::Tensor& t) { return rille::to_device(t, to); });
  });
}
void Module::move_to(Dtype dtype) const {
  guarded("to", [&] {
    const DType to = api::dtype_of(dtype);
    if (!is_float(to))
      throw dtype_error("a module's dtype must be a float, got {}", rille::name(to));
    replace_all(*this,
                [&](const rille::Tensor& t) { return t.is_float() ? rille::cast(t, to) : t; });
  });
}

// ---- state
// -----------------------------------------------------------------------------------------

StateDict Module::state_dict() const {
  return guarded("state_dict", [&] {
    StateDict out;
    for (Found& f : each_tensor_of(*this))
      if (f.entry->persistent)
        out.emplace_back(std::move(f.name), handle_of(autograd::detach(f.entry->tensor)));
    return out;
  });
}

namespace {

// Which value goes where, and what does not fit.
struct Match {
  std::vector<std::pair<rille::Tensor, rille::Tensor>> pairs;
  LoadReport names;
  std::vector<std::string> shapes;
};

Match match(const Module& m, const StateDict& dict) {
  std::map<std::string_view, const Tensor*> given;
  for (const auto& [name, t] : dict) given[name] = &t;
  // A tensor may come under any of its names.
  std::map<const TensorImpl*, const Tensor*> value_of;
  std::set<std::string> known;
  each_name(m, [&](const std::string& name, Entry& e) {
    known.insert(name);
    if (const auto it = given.find(name); it != given.end())
      value_of.emplace(e.tensor.impl(), it->second);
  });
  Match out;
  for (const Found& f : each_tensor_of(m)) {
    if (!f.entry->persistent) continue;
    const rille::Tensor& own = f.entry->tensor;
    const auto it = value_of.find(own.impl());
    if (it == value_of.end()) {
      out.names.missing.push_back(f.name);
      continue;
    }
    const rille::Tensor value = api::tensor_of(*it->second);
    if (value.shape() == own.shape())
      out.pairs.emplace_back(own, value);
    else
      out.shapes.push_back(fmt::format("{}: is {}, the state has {}", f.name,
                                       rille::to_string(own.shape()),
                                       rille::to_string(value.shape())));
  }
  for (const auto& [name, t] : dict)
    if (!known.count(name)) out.names.unexpected.push_back(name);
  return out;
}

[[noreturn]] void refuse(const std::string& kind, const Match& m) {
  rille::Error e =
      fail(Kind::state, "E_STATE", "{}: {} missing, {} unexpected, {} of another shape", kind,
           m.names.missing.size(), m.names.unexpected.size(), m.shapes.size());
  for (const std::string& name : m.names.missing) e.fact("missing      " + name);
  for (const std::string& name : m.names.unexpected) e.fact("unexpected   " + name);
  for (const std::string& text : m.shapes) e.fact("shape        " + text);
  if (m.shapes.empty()) e.hint("strict = false loads what fits");
  throw e;
}

}  // namespace

LoadReport Module::load_state_dict(const StateDict& dict, bool strict) const {
  return guarded("load_state_dict", [&] {
    Match m = match(*this, dict);
    const bool incomplete = !m.names.missing.empty() || !m.names.unexpected.empty();
    if (!m.shapes.empty() || (strict && incomplete)) refuse(state_->kind, m);
    const rille::NoGrad quiet;
    const Unit whole;
    for (const auto& [own, value] : m.pairs) rille::copy_(own, value);
    return std::move(m.names);
  });
}

}  // namespace rille::v1::nn
