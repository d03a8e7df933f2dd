// What tensors know of gradients.
#include "autograd/engine.h"
#include "autograd/node.h"
#include "interpreter/api/inside.h"
#include "rille/tensor.hpp"

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
  guarded("backward", [&] {
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
      return api::maybe_tensor_of(hook(handle_of(dy)));
    });
  });
}
void Tensor::remove_hook(uint64_t id) const {
  guarded("remove_hook", [&] { autograd::remove_hook(tensor_of(*this), id); });
}

}  // namespace rille::v1
