// The C interface: gradients of tensors, and what is recorded for them.
#include <cstddef>

#include "core/context.h"
#include "interpreter/api/c_handles.h"
#include "rille/grad.hpp"

using rille::capi::give, rille::capi::given, rille::capi::guarded, rille::capi::init_part,
    rille::capi::known_part, rille::capi::tensor_in, rille::capi::tensors_in;
using rille::v1::Tensor, rille::v1::Value;

rille_grad_mode rille_get_grad_mode(void) {
  const uint32_t flags = rille::Context::current().flags;
  if (flags & rille::kInference) return RILLE_GRAD_INFERENCE;
  return flags & rille::kGrad ? RILLE_GRAD_ON : RILLE_GRAD_OFF;
}
rille_grad_mode rille_set_grad_mode(rille_grad_mode mode) {
  const rille_grad_mode before = rille_get_grad_mode();
  if (mode < RILLE_GRAD_OFF || mode > RILLE_GRAD_INFERENCE) return before;
  uint32_t& flags = rille::Context::current().flags;
  flags &= ~static_cast<uint32_t>(rille::kGrad | rille::kInference);
  if (mode == RILLE_GRAD_ON) flags |= rille::kGrad;
  if (mode == RILLE_GRAD_INFERENCE) flags |= rille::kInference;
  return before;
}

rille_status rille_tensor_set_requires_grad(rille_tensor* t, int on, rille_error** error) {
  return guarded(error, [&] { tensor_in(t).requires_grad_(on != 0); });
}
int rille_tensor_requires_grad(const rille_tensor* t) { return t && t->tensor.requires_grad(); }
int rille_tensor_is_leaf(const rille_tensor* t) { return t && t->tensor.is_leaf(); }

rille_status rille_tensor_grad(const rille_tensor* t, rille_tensor** out, rille_error** error) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the gradient");
    Tensor grad = tensor_in(t).grad();
    place = grad ? new rille_tensor{std::move(grad)} : nullptr;
  });
}
rille_status rille_tensor_set_grad(rille_tensor* t, const rille_tensor* gradient,
                                   rille_error** error) {
  return guarded(error, [&] { tensor_in(t).set_grad(gradient ? gradient->tensor : Tensor()); });
}
rille_status rille_tensor_detach(const rille_tensor* t, rille_tensor** out, rille_error** error) {
  return give(out, error, [&] { return tensor_in(t).detach(); });
}
rille_status rille_tensor_retain_grad(rille_tensor* t, rille_error** error) {
  return guarded(error, [&] { tensor_in(t).retain_grad(); });
}

rille_status rille_tensor_add_hook(rille_tensor* t, rille_callback callback, void* userdata,
                                   rille_destroy destroy, uint64_t* id, rille_error** error) {
  const std::unique_ptr<rille_value> f(rille_value_function(callback, userdata, destroy, "hook"));
  return guarded(error, [&] {
    given(callback, "the callback");
    if (!f) throw std::bad_alloc();
    auto hook = [f = *f->value.function()](const Tensor& gradient) {
      const Value arguments[] = {gradient};
      const std::vector<Value> results = f.call(arguments);
      return results.empty() || results[0].is_nil() ? Tensor() : results[0].as<Tensor>();
    };
    given(id, "the place for the number") = tensor_in(t).register_hook(std::move(hook));
  });
}
rille_status rille_tensor_remove_hook(rille_tensor* t, uint64_t id, rille_error** error) {
  return guarded(error, [&] { tensor_in(t).remove_hook(id); });
}

// ---- backward, grad

void rille_backward_options_init_sized(rille_backward_options* o, size_t size) {
  init_part(o, size, rille_backward_options());
}
void rille_grad_options_init_sized(rille_grad_options* o, size_t size) {
  init_part(o, size, rille_grad_options());
}

// In brackets, for these are the names of macros, too. The first versions ended with these fields.
void(rille_backward_options_init)(rille_backward_options* o) {
  rille_backward_options_init_sized(
      o, offsetof(rille_backward_options, create_graph) + sizeof o->create_graph);
}
void(rille_grad_options_init)(rille_grad_options* o) {
  rille_grad_options_init_sized(o, offsetof(rille_grad_options, reserved) + sizeof o->reserved);
}

rille_status rille_tensor_backward(rille_tensor* t, rille_error** error) {
  return rille_tensor_backward_with(t, nullptr, error);
}
rille_status rille_tensor_backward_with(rille_tensor* t, const rille_backward_options* options,
                                        rille_error** error) {
  return guarded(error, [&] {
    const rille_backward_options o = known_part(options, rille_backward_options());
    rille::v1::BackwardOptions how;
    if (o.gradient) how.gradient = o.gradient->tensor;
    if (o.inputs) how.inputs = tensors_in(o.inputs);
    how.retain_graph = o.retain_graph != 0;
    how.create_graph = o.create_graph != 0;
    tensor_in(t).backward(how);
  });
}
rille_status rille_grad(const rille_tensors* outputs, const rille_tensors* inputs,
                        const rille_grad_options* options, rille_tensors** out,
                        rille_error** error) {
  return give(out, error, [&] {
    const rille_grad_options o = known_part(options, rille_grad_options());
    rille::v1::GradOptions how;
    if (o.grad_outputs) how.grad_outputs = tensors_in(o.grad_outputs);
    how.retain_graph = o.retain_graph != 0;
    how.create_graph = o.create_graph != 0;
    how.allow_unused = o.allow_unused != 0;
    std::vector<Tensor> gradients = rille::v1::grad(tensors_in(outputs), tensors_in(inputs), how);
    rille::v1::StateDict named;
    for (size_t i = 0; i < gradients.size(); ++i)
      named.emplace_back(inputs->list[i].first, std::move(gradients[i]));
    return named;
  });
}
