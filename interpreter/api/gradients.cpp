// What tensors know of gradients, and the functions of grad.hpp.
#include "rille/grad.hpp"

#include "autograd/engine.h"
#include "autograd/node.h"
#include "core/context.h"
#include "interpreter/api/inside.h"

namespace rille::v1 {

using api::guarded, api::handle_of, api::tensor_of;

bool Tensor::requires_grad() const {
  return guarded("requires_grad", [&] { return autograd::requires_grad(tensor_of(*this)); });
}
const Tensor& Tensor::requires_grad_(bool on) const {
  guarded("requires_grad_", [&] { autograd::set_requires_grad(tensor_of(*this), on); });
  return *this;
}
bool Tensor::is_leaf() const {
  return guarded("is_leaf", [&] { return autograd::is_leaf(tensor_of(*this)); });
}
Tensor Tensor::grad() const {
  return guarded("grad", [&] { return handle_of(autograd::grad_of(tensor_of(*this))); });
}
void Tensor::set_grad(const Tensor& gradient) const {
  guarded("set_grad",
          [&] { autograd::set_grad(tensor_of(*this), api::maybe_tensor_of(gradient)); });
}
void Tensor::backward() const { backward(BackwardOptions{}); }
void Tensor::backward(const BackwardOptions& options) const {
  api::guarded_around_host("backward", [&] {
    const rille::Tensor root = tensor_of(*this), seed = api::maybe_tensor_of(options.gradient);
    autograd::BackwardOptions o;
    o.create_graph = options.create_graph;
    o.retain_graph = options.retain_graph || options.create_graph;
    autograd::backward({&root, 1}, {&seed, 1}, o, api::tensors_of(options.inputs));
  });
}
Tensor Tensor::detach() const {
  return guarded("detach", [&] { return handle_of(autograd::detach(tensor_of(*this))); });
}
void Tensor::retain_grad() const {
  guarded("retain_grad", [&] { autograd::retain_grad(tensor_of(*this)); });
}
uint64_t Tensor::register_hook(std::function<Tensor(const Tensor&)> hook) const {
  return guarded("register_hook", [&] {
    return autograd::add_hook(tensor_of(*this), [hook = std::move(hook)](const rille::Tensor& dy) {
      Tensor replaced;
      api::call_host([&] { replaced = hook(handle_of(dy)); });
      return api::maybe_tensor_of(replaced);
    });
  });
}
void Tensor::remove_hook(uint64_t id) const {
  guarded("remove_hook", [&] { autograd::remove_hook(tensor_of(*this), id); });
}

// ---- grad.hpp
// --------------------------------------------------------------------------------------

namespace detail {

uint32_t set_grad_mode(bool on) {
  uint32_t& flags = Context::current().flags;
  return std::exchange(flags, on ? flags | kGrad : flags & ~kGrad);
}
void restore_modes(uint32_t before) noexcept { Context::current().flags = before; }

}  // namespace detail

bool is_grad_enabled() { return Context::current().grad(); }

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options) {
  return api::guarded_around_host("grad", [&] {
    autograd::BackwardOptions o;
    o.create_graph = options.create_graph;
    o.retain_graph = options.retain_graph || options.create_graph;
    o.allow_unused = options.allow_unused;
    return api::handles_of(autograd::grad(api::tensors_of(outputs), api::tensors_of(inputs),
                                          api::tensors_of(options.grad_outputs), o));
  });
}

}  // namespace rille::v1
