// Gradients from scripts: backward, grad, modes, hooks, functions with a backward of their own.
#include "autograd/engine.h"
#include "autograd/node.h"
#include "autograd/saved_value.h"
#include "autograd/scaled.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "interpreter/bind/hook_scope.h"
#include "interpreter/bind/named.h"
#include "ops/autocast.h"
#include "ops/call.h"
#include "ops/tape.h"

namespace rille::bind {
namespace {

using lua::CallbackRef;

// ---- running backwards
// ---------------------------------------------------------------------------

autograd::BackwardOptions options_at(Call& c, int i) {
  autograd::BackwardOptions o;
  o.create_graph = c.flag_option(i, "create_graph");
  o.retain_graph = c.flag_option(i, "retain_graph", o.create_graph);
  o.allow_unused = c.flag_option(i, "allow_unused");
  return o;
}

std::vector<Tensor> tensors_of(const Value& v, std::string_view what) {
  if (const Tensor* t = v.get<Tensor>()) return {*t};
  std::vector<Tensor> out;
  if (const Table* list = v.table())
    for (const Value& one : list->list) {
      if (!one.get<Tensor>()) throw type_error("'{}' must be a list of tensors", what);
      out.push_back(*one.get<Tensor>());
    }
  else if (!v.is_nil())
    throw type_error("'{}' must be a tensor or a list of tensors", what);
  return out;
}

// t:backward([gradient][, { retain_graph, create_graph, inputs }])
void backward(Call& c) {
  named("backward", [&] {
    const Tensor t = c.tensor(1, "self");
    const int options = c.is_tensor(2) || !c.is_table(2) ? 3 : 2;
    c.only(options, {"retain_graph", "create_graph", "inputs"});
    const Tensor seed = c.is_tensor(2) ? c.tensor(2, "gradient") : Tensor();
    if (c.has(2) && !c.is_tensor(2) && options == 3) c.wrong(2, "gradient", "a tensor");
    const std::vector<Tensor> inputs = tensors_of(c.option(options, "inputs"), "inputs");
    lua::collect_boxes(c.interpreter());
    autograd::backward({&t, 1}, {&seed, 1}, options_at(c, options), inputs);
  });
}

// rille.grad(outputs, inputs, { grad_outputs, retain_graph, create_graph, allow_unused })
void grad(Call& c) {
  named("grad", [&] {
    const std::vector<Tensor> outputs = c.tensors(1, "outputs"), inputs = c.tensors(2, "inputs");
    c.only(3, {"grad_outputs", "retain_graph", "create_graph", "allow_unused"});
    const std::vector<Tensor> seeds = tensors_of(c.option(3, "grad_outputs"), "grad_outputs");
    lua::collect_boxes(c.interpreter());
    for (const Tensor& g : autograd::grad(outputs, inputs, seeds, options_at(c, 3))) c.give(g);
  });
}

// rille.backward(outputs, grad_outputs, options): several roots at once.
void backward_all(Call& c) {
  named("backward", [&] {
    const std::vector<Tensor> outputs = c.tensors(1, "outputs");
    const std::vector<Tensor> seeds =
        c.has(2) ? c.tensors(2, "grad_outputs") : std::vector<Tensor>();
    lua::collect_boxes(c.interpreter());
    autograd::backward(outputs, seeds, options_at(c, 3));
  });
}

// ---- tensors
// ---------------------------------------------------------------------------------------

void detach(Call& c) { c.give(autograd::detach(c.tensor(1, "self"))); }
void is_inference(Call& c) { c.give(c.tensor(1, "self").impl()->inference); }
void retain_grad(Call& c) { autograd::retain_grad(c.tensor(1, "self")); }

// t:requires_grad_([on]) gives t itself: the Lua half returns the same box.
void set_requires_grad(Call& c) {
  named("requires_grad_", [&] {
    autograd::set_requires_grad(c.tensor(1, "self"), c.has(2) ? c.boolean(2, "on") : true);
  });
}

autograd::TensorHook hook_of(CallbackRef f) {
  return [f = std::move(f)](const Tensor& dy) {
    const std::vector<Value> out = (*f)({dy});
    if (out.empty() || out[0].is_nil()) return Tensor();
    const Tensor* replaced = out[0].get<Tensor>();
    if (!replaced) throw type_error("a hook must return a tensor or nothing").op("register_hook");
    return *replaced;
  };
}

// t:register_hook(f) -> id for t:remove_hook(id)
void register_hook(Call& c) {
  const uint64_t id = autograd::add_hook(c.tensor(1, "self"), hook_of(c.function(2, "hook")));
  c.give(static_cast<int64_t>(id));
}
void remove_hook(Call& c) {
  autograd::remove_hook(c.tensor(1, "self"), static_cast<uint64_t>(c.integer(2, "id")));
}
// native.after_accumulate(t, f) -> id: f(t) runs each time .grad of the leaf t was written by a
// backward, complete; native.remove_after_accumulate(t, id) ends that.
void after_accumulate(Call& c) {
  const CallbackRef f = c.function(2, "hook");
  const uint64_t id =
      autograd::add_accumulate_hook(c.tensor(1, "self"), [f](const Tensor& t) { (*f)({t}); });
  c.give(static_cast<int64_t>(id));
}
void remove_after_accumulate(Call& c) {
  autograd::remove_accumulate_hook(c.tensor(1, "self"), static_cast<uint64_t>(c.integer(2, "id")));
}
// native.gradient_scaled(t): whether .grad waits to be unscaled by a GradScaler.
void gradient_scaled(Call& c) {
  c.give(autograd::scaled_at(autograd::grad_of(c.tensor(1, "self"))).has_value());
}

// ---- modes
// -----------------------------------------------------------------------------------------

uint32_t flag_named(const std::string& name) {
  if (name == "grad") return kGrad;
  if (name == "inference") return kInference;
  if (name == "anomaly") return kAnomaly;
  if (name == "anomaly_inf") return autograd::kAnomalyInf;
  if (name == "anomaly_no_nan") return autograd::kAnomalyNoNan;
  if (name == "deterministic") return kDeterministic;
  if (name == "narrow_products") return kNarrowProducts;
  if (name == "lines_of_nodes") return kLinesOfNodes;
  throw arg_error("there is no mode '{}'", name);
}

// Autocast's part of the word: an integer, for there are many such modes.
void autocast_bits(Call& c) {
  c.give(static_cast<int64_t>(c.context().flags & kAutocastBits));
  if (c.has(2)) set_autocast(static_cast<uint32_t>(c.integer(2, "bits")));
}

// native.mode(name[, on]) -> what it was
void mode(Call& c) {
  const std::string which = c.string(1, "mode");
  if (which == "autocast") return autocast_bits(c);
  const uint32_t mask = flag_named(which);
  uint32_t& flags = c.context().flags;
  c.give((flags & mask) != 0);
  if (c.has(2)) flags = c.boolean(2, "on") ? flags | mask : flags & ~mask;
}
void is_grad_enabled(Call& c) { c.give(c.context().grad()); }

// ---- rille.Function
// --------------------------------------------------------------------------------

// The node of one call of a script's own function: backward is a Lua function of the gradients, of
// what the script saved, where saved-tensor hooks have it, and, while it is itself recorded, of
// those results that the script saved.
class ScriptNode final : public autograd::Node {
 public:
  ScriptNode(CallbackRef backward, std::span<const Tensor> inputs, std::span<const Tensor> results,
             std::span<const Tensor> saved)
      : backward_(std::move(backward)) {
    outputs = static_cast<uint32_t>(results.size());
    for (const Tensor& y : results) {
      const bool kept =
          std::any_of(saved.begin(), saved.end(), [&](const Tensor& t) { return t.is(y); });
      shells_.push_back(y.shell());
      // A bare look at its storage: the tensor itself would hold this node.
      kept_.push_back(kept && y.is_float() ? y.alias() : Tensor());
    }
    for (const Tensor& t : inputs) {
      next.push_back(autograd::edge_of(t));
      inputs_.push_back(t.shell());
    }
    site = Context::current().site();
    if (Context::current().flags & kSavedHooks) pack(saved, results);
  }
  bool is_packed() const { return !saved_.empty(); }
  std::string_view name() const override { return "function"; }
  void backward(autograd::Gradients& dys, autograd::Gradients& dxs) override {
    std::vector<Value> arguments;
    for (size_t i = 0; i < dys.size(); ++i) {
      if (!dys[i]) dys[i] = autograd::engine_ops().zeros_like(shells_[i]);
      arguments.emplace_back(dys[i]);
    }
    for (const Saved& s : saved_) arguments.emplace_back(unpacked(s));
    for (size_t i = 0; i < kept_.size() && Context::current().grad(); ++i)
      arguments.push_back(kept_[i] ? Value(of_this_node(kept_[i].alias(), i)) : Value());
    const std::vector<Value> out = (*backward_)(std::move(arguments));
    bool fits = out.size() >= next.size();
    for (size_t i = next.size(); i < out.size(); ++i) fits &= out[i].is_nil();
    if (!fits)
      throw arg_error("backward gave {} gradient{} for {} tensor argument{}", out.size(),
                      out.size() == 1 ? "" : "s", next.size(), next.size() == 1 ? "" : "s")
          .hint("return one gradient or nil for each tensor argument of forward")
          .op("Function");
    for (size_t i = 0; i < next.size() && i < out.size(); ++i) {
      if (out[i].is_nil() || !next[i]) continue;
      const Tensor* dx = out[i].get<Tensor>();
      if (!dx)
        throw type_error("backward must return a tensor or nil for each tensor argument")
            .op("Function");
      if (dx->shape() != inputs_[i].shape())
        throw shape_error("backward gave a gradient of shape {} for argument {} of shape {}",
                          to_string(dx->shape()), i + 1, to_string(inputs_[i].shape()))
            .op("Function");
      dxs[i] = fit_gradient(*dx, inputs_[i], "Function");
    }
  }

 private:
  struct Saved {
    Tensor value;
    autograd::SavedValue kept;
    autograd::Edge from;           // empty for results
    std::optional<size_t> result;  // which one it is
  };
  void pack(std::span<const Tensor> saved, std::span<const Tensor> results) {
    for (const Tensor& t : saved) {
      const auto it =
          std::find_if(results.begin(), results.end(), [&](const Tensor& y) { return t.is(y); });
      Saved& s = saved_.emplace_back(Saved{autograd::bare(t), {}, {}, {}});
      if (it == results.end())
        s.from = autograd::edge_of(t);
      else if (t.is_float())
        s.result = static_cast<size_t>(it - results.begin());
      s.kept.pack(s.value, "Function");
    }
    kept_.assign(results.size(), Tensor());
  }
  Tensor unpacked(const Saved& s) {
    const Tensor t = s.kept.unpack(s.value);
    if (!s.result || !Context::current().grad()) return autograd::with_history(t, s.from);
    return of_this_node(autograd::bare(t), *s.result);
  }

  // With this node as its history a saved result takes part in second derivatives.
  Tensor of_this_node(Tensor y, size_t i) {
    refs.fetch_add(1, std::memory_order_relaxed);
    autograd::set_history(y, autograd::NodeRef(this), static_cast<uint32_t>(i));
    return y;
  }

  CallbackRef backward_;
  std::vector<Tensor> inputs_, shells_, kept_;
  std::vector<Saved> saved_;  // only where hooks have them
};

void refuse_inference(std::span<const Tensor> list, std::string_view what) {
  for (const Tensor& t : list)
    if (t.impl()->inference)
      throw fail(Kind::state, "E_INFERENCE", "a tensor made in inference mode can't {}", what)
          .hint("use a copy made outside of rille.inference: t:detach():clone()")
          .op("Function");
}

// native.record(backward, inputs, outputs, saved): puts a script's function on the tape. Gives
// whether backward will be given what was saved, and the outputs as they are to be used.
void record(Call& c) {
  const CallbackRef backward = c.function(1, "backward");
  const std::vector<Tensor> inputs = c.tensors(2, "inputs"), outputs = c.tensors(3, "outputs");
  bool needs = false;
  for (const Tensor& t : inputs) needs |= autograd::requires_grad(t);
  if (!needs || !c.context().grad()) {
    c.give(false);
    for (const Tensor& t : outputs) c.give(t);
    return;
  }
  const std::vector<Tensor> saved = c.tensors(4, "saved");
  refuse_inference(saved, "be saved for a gradient");
  refuse_inference(outputs, "be the result of a recorded function");
  auto* made = new ScriptNode(backward, inputs, outputs, saved);
  const autograd::NodeRef node(made);
  c.give(made->is_packed());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor y = outputs[i].alias();
    if (y.is_float()) autograd::set_history(y, node, static_cast<uint32_t>(i));
    c.give(y);
  }
}

// ---- saved tensors
// ---------------------------------------------------------------------------------

// native.saved_tensors(pack, unpack) -> the scope of rille.saved_tensors
class ScriptHook final : public SavedHook {
 public:
  ScriptHook(CallbackRef pack, CallbackRef unpack)
      : pack_(std::move(pack)), unpack_(std::move(unpack)) {}
  uint64_t pack(const Tensor& t, const char* by) override {
    const NoGrad quiet;
    std::vector<Value> out = (*pack_)({autograd::detach(t)});
    Kept kept{out.empty() ? Value() : std::move(out[0])};
    if (const auto* text = kept.value.get<std::string>())
      kept.charge.more(static_cast<int64_t>(text->size()));
    if (Context::current().flags & kSavedHooks)
      each_tensor(kept.value, [&](Tensor& held) { kept.outer.emplace_back().pack(held, by); });
    kept_.emplace(++last_, std::move(kept));
    return last_;
  }
  Tensor unpack(uint64_t handle) override {
    const std::vector<Value> out = (*unpack_)({whole(kept_.at(handle))});
    if (out.empty() || !out[0].get<Tensor>())
      throw type_error("unpack must return a tensor").op("saved_tensors");
    return *out[0].get<Tensor>();
  }
  void drop(uint64_t handle) noexcept override { kept_.erase(handle); }

 private:
  // What pack gave; where outer scopes hold its tensors, these are shells, in the order of `outer`.
  struct Kept {
    Value value;
    std::vector<autograd::SavedValue> outer = {};
    Charge charge{kKeptBytes};
  };
  static constexpr int64_t kKeptBytes = 192;

  template <class F>
  static void each_tensor(Value& v, F&& f) {
    if (auto* t = std::get_if<Tensor>(&v.v)) f(*t);
    if (auto* table = std::get_if<std::shared_ptr<Table>>(&v.v)) {
      for (Value& part : (*table)->list) each_tensor(part, f);
      for (auto& [key, part] : (*table)->named) each_tensor(part, f);
    }
  }

  // A copy whose tables are its own.
  static Value copied(const Value& v) {
    const Table* from = v.table();
    if (!from) return v;
    Table to;
    for (const Value& part : from->list) to.list.push_back(copied(part));
    for (const auto& [key, part] : from->named) to.named.emplace(key, copied(part));
    return to;
  }

  static Value whole(const Kept& kept) {
    if (kept.outer.empty()) return kept.value;
    Value v = copied(kept.value);
    size_t i = 0;
    each_tensor(v, [&](Tensor& shell) { shell = kept.outer[i++].unpack(shell); });
    return v;
  }

  CallbackRef pack_, unpack_;
  std::map<uint64_t, Kept> kept_;
  uint64_t last_ = 0;
};

void saved_tensors(Call& c) {
  c.give(
      hook_scope(c, std::make_shared<ScriptHook>(c.function(1, "pack"), c.function(2, "unpack"))));
}

}  // namespace

void bind_autograd(Interpreter& in) {
  static constexpr NativeEntry functions[] = {
      {"grad", grad}, {"backward", backward_all}, {"is_grad_enabled", is_grad_enabled}};
  lua::define_functions(in, "rille", functions);
  static constexpr NativeEntry natives[] = {{"mode", mode},
                                            {"record", record},
                                            {"saved_tensors", saved_tensors},
                                            {"after_accumulate", after_accumulate},
                                            {"remove_after_accumulate", remove_after_accumulate},
                                            {"gradient_scaled", gradient_scaled}};
  lua::define_functions(in, "rille.native", natives);
  static constexpr NativeEntry methods[] = {{"backward", backward},
                                            {"detach", detach},
                                            {"is_inference", is_inference},
                                            {"retain_grad", retain_grad},
                                            {"set_requires_grad", set_requires_grad},
                                            {"register_hook", register_hook},
                                            {"remove_hook", remove_hook}};
  lua::add_tensor_methods(in, methods);
}

}  // namespace rille::bind
