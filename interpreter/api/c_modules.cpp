// The C interface: how modules are made and called. Layers are found by name; a C program's own
// module, and a sequence of modules, say what they do in a function.
#include "core/fail.h"
#include "interpreter/api/c_arguments.h"
#include "interpreter/api/c_over_ops.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/modules.h"
#include "interpreter/api/schemas.h"

namespace rille::capi {
namespace {

using v1::Tensor, v1::Value, v1::detail::Arguments, v1::nn::Module, v1::nn::ModuleAccess;

// Opens what C++ programs reach by inheritance.
struct Open : Module {
  explicit Open(std::string kind) : Module(std::move(kind)) {}
  explicit Open(const Arguments& options) : Module(options) {}
  explicit Open(const Module& m) : Module(m) {}
  using Module::register_buffer, Module::register_module, Module::register_parameter, Module::run;
};

Module layer(const char* name, std::span<const Value> arguments, const Value& options) {
  const nn::LayerInfo* info = nn::find_layer(name);
  if (!info) {
    Open m(name);
    ModuleAccess::state(m)->forward = forward_over_op(name, arguments, options);
    return m;
  }
  return api::guarded(info->options.name, [&] {
    Arguments a(api::schema_of(info->options));
    fill(a, info->options, arguments, options);
    return Open(a);
  });
}

std::vector<Tensor> run_layer(const Module& m, const nn::LayerInfo& info,
                              std::span<const Value> arguments, const Value& options) {
  return api::guarded(info.options.name, [&] {
    Arguments a(api::schema_of(info.inputs));
    fill(a, info.inputs, arguments, options);
    std::vector<Tensor> out(info.results);
    Open(m).run(a, out.data(), out.size());
    // Such as the weights of attention, where nobody asked for them.
    while (!out.empty() && !out.back()) out.pop_back();
    return out;
  });
}

std::vector<Tensor> run_module(const Module& m, std::span<const Value> arguments,
                               const Value& options) {
  const v1::nn::ModuleState& s = *ModuleAccess::state(m);
  if (s.info) return run_layer(m, *s.info, arguments, options);
  if (!options.is_nil())
    throw v1::Error(v1::ErrorKind::argument, "E_OPTION", s.kind + " takes no options");
  if (s.forward) return s.forward(m, arguments);
  throw v1::Error(v1::ErrorKind::state, "E_STATE", s.kind + " can't be called: it has no forward");
}

Tensor apply(const Module& m, const Tensor& x) {
  const Value given[] = {x};
  std::vector<Tensor> results = run_module(m, given, {});
  if (results.size() != 1)
    throw v1::Error(v1::ErrorKind::argument, "E_ARG",
                    fmt::format("one result is needed, got {}", results.size()));
  return std::move(results.front());
}

std::vector<Tensor> one_after_another(const Module& self, std::span<const Value> arguments) {
  if (arguments.size() != 1)
    throw v1::Error(v1::ErrorKind::argument, "E_ARG",
                    fmt::format("Sequential takes one tensor, got {}", arguments.size()));
  Tensor x = arguments[0].as<Tensor>();
  for (const auto& [name, part] : self.named_children()) x = apply(part, x);
  return {x};
}

Module sequential(const rille_module* const* parts, size_t count) {
  Open out("Sequential");
  for (size_t i = 0; i < count; ++i)
    out.register_module(std::to_string(i),
                        given((&given(parts, "the list of modules"))[i], "a module").module);
  ModuleAccess::state(out)->forward = one_after_another;
  return out;
}

// A module of the host's, whose function gives tensors.
v1::nn::Forward forward_of(v1::Function f) {
  return [f = std::move(f)](const Module&, std::span<const Value> arguments) {
    std::vector<Tensor> out;
    for (const Value& v : f.call(arguments)) out.push_back(v.as<Tensor>());
    return out;
  };
}

Open open(const rille_module* m) { return Open(given(m, "the module").module); }

}  // namespace
}  // namespace rille::capi

using namespace rille::capi;

rille_status rille_layer(const char* name, const rille_value* const* arguments, size_t count,
                         const rille_value* options, rille_module** out, rille_error** error) {
  return give(out, error, [&] {
    return layer(text(name, "the name"), values_of(arguments, count), value_or_nil(options));
  });
}
rille_status rille_sequential(const rille_module* const* parts, size_t count, rille_module** out,
                              rille_error** error) {
  return give(out, error, [&] { return sequential(parts, count); });
}
rille_status rille_module_new(const char* kind, rille_callback forward, void* userdata,
                              rille_destroy destroy, rille_module** out, rille_error** error) {
  const std::unique_ptr<rille_value> f(rille_value_function(forward, userdata, destroy, kind));
  return give(out, error, [&]() -> Module {
    Open m(text(kind, "the kind"));
    if (forward && !f) throw std::bad_alloc();
    if (f) ModuleAccess::state(m)->forward = forward_of(*f->value.function());
    return m;
  });
}

rille_status rille_module_add_parameter(rille_module* m, const char* name,
                                        const rille_tensor* tensor, rille_tensor** out,
                                        rille_error** error) {
  return guarded(error, [&] {
    auto handle = std::make_unique<rille_tensor>();
    handle->tensor = open(m).register_parameter(text(name, "the name"), tensor_in(tensor));
    if (out) *out = handle.release();
  });
}
rille_status rille_module_add_buffer(rille_module* m, const char* name, const rille_tensor* tensor,
                                     int persistent, rille_error** error) {
  return guarded(error, [&] {
    open(m).register_buffer(text(name, "the name"), tensor_in(tensor), persistent != 0);
  });
}
rille_status rille_module_add_child(rille_module* m, const char* name, const rille_module* child,
                                    rille_error** error) {
  return guarded(error, [&] {
    open(m).register_module(text(name, "the name"), given(child, "the child").module);
  });
}

rille_status rille_module_forward(const rille_module* m, const rille_value* const* arguments,
                                  size_t argument_count, const rille_value* options,
                                  rille_tensor** out, size_t capacity, size_t* count,
                                  rille_error** error) {
  return guarded(error, [&] {
    give_all(run_module(open(m), values_of(arguments, argument_count), value_or_nil(options)), out,
             capacity, count);
  });
}
rille_status rille_module_apply(const rille_module* m, const rille_tensor* x, rille_tensor** out,
                                rille_error** error) {
  return give(out, error, [&] { return apply(open(m), tensor_in(x)); });
}

// Names live in the module itself: a copy of the list would take them with it.
size_t rille_module_child_count(const rille_module* m) {
  return m ? ModuleAccess::state(m->module)->children.size() : 0;
}
const char* rille_module_child_name(const rille_module* m, size_t i) {
  if (i >= rille_module_child_count(m)) return nullptr;
  return ModuleAccess::state(m->module)->children[i].first.c_str();
}
rille_status rille_module_child(const rille_module* m, size_t i, rille_module** out,
                                rille_error** error) {
  return give(out, error, [&] {
    const auto children = open(m).named_children();
    if (i >= children.size())
      throw rille::v1::Error(rille::v1::ErrorKind::argument, "E_INDEX",
                             fmt::format("child {}, but there are {}", i, children.size()));
    return children[i].second;
  });
}
