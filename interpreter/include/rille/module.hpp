// Modules: what holds parameters, buffers and other modules. A Module is a handle, as a Tensor is:
// a copy is the same module. One's own are made by inheritance,
//
//   struct Block : nn::ModuleOf<Block> {
//     nn::Linear up = register_module("up", nn::Linear(64, 256));
//     nn::Linear down = register_module("down", nn::Linear(256, 64));
//     Tensor operator()(const Tensor& x) const { return x + down(gelu(up(x))); }
//   };
//
// and called like functions; nothing here is virtual.
#pragma once
#include <memory>

#include "rille/arguments.hpp"

namespace rille::RILLE_V1 {

/// Tensors by name, in order.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

namespace nn {

using LayerArguments = detail::Arguments;
struct ModuleState;
struct ModuleAccess;

/// Names that a load_state_dict found no place or no value for.
struct LoadReport {
  std::vector<std::string> missing, unexpected;
};

class RILLE_API Module {
 public:
  /// `kind` names it in texts.
  explicit Module(std::string kind = "Module");
  // Copies alone: a handle that was moved from would be none.
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  ~Module() = default;

  /// Each tensor once, in the order in which it was added, own ones before those of children.
  /// Names are dotted: "layers.0.weight".
  std::vector<Tensor> parameters() const;
  StateDict named_parameters() const;
  std::vector<Tensor> buffers() const;
  StateDict named_buffers() const;
  std::vector<std::pair<std::string, Module>> named_children() const;
  /// By dotted name, parameter or buffer. Throws E_ARG where there is none.
  Tensor tensor(std::string_view name) const;

  /// In training layers such as Dropout and BatchNorm behave otherwise; modules start in it.
  bool is_training() const;
  void set_training(bool on) const;
  /// Takes the gradients of all parameters away.
  void zero_grad() const;
  /// Moves or casts in place, gradients too, so that optimizers keep hold of the parameters. A
  /// dtype reaches what is floating point.
  void move_to(Device device) const;
  void move_to(Dtype dtype) const;

  /// Parameters and the buffers that are saved, detached: their memory, not copies. A tensor under
  /// several names is there once.
  StateDict state_dict() const;
  /// Copies values in. Throws E_STATE, which lists all that does not fit: shapes always, names
  /// where `strict`.
  LoadReport load_state_dict(const StateDict& dict, bool strict = true) const;

  /// True for two handles of one module.
  bool is(const Module& o) const noexcept { return state_ == o.state_; }

 protected:
  /// A layer of the engine, from its options.
  explicit Module(const LayerArguments& options);
  void run(const LayerArguments& inputs, Tensor* out, size_t count) const;

  /// Makes a leaf that wants gradients of `t` and returns it. Throws E_ARG where the name is taken.
  Tensor register_parameter(const std::string& name, const Tensor& t);
  /// Saved and moved with the module, but not trained; not saved where it is not `persistent`.
  Tensor register_buffer(const std::string& name, const Tensor& t, bool persistent = true);
  template <class M>
  M register_module(const std::string& name, M part) {
    add_child(name, part);
    return part;
  }

 private:
  void add_child(const std::string& name, const Module& part);
  friend struct ModuleAccess;
  std::shared_ptr<ModuleState> state_;
};

/// "Sequential(0: Linear(in=3, out=4, bias=true), ...)", one line a module.
RILLE_API std::string to_string(const Module& m);

/// Module with functions that give the module itself back, as what it is.
template <class Self>
class ModuleOf : public Module {
 public:
  Self to(Device device) const {
    move_to(device);
    return self();
  }
  Self to(Dtype dtype) const {
    move_to(dtype);
    return self();
  }
  Self train(bool on = true) const {
    set_training(on);
    return self();
  }
  Self eval() const { return train(false); }

 protected:
  using Module::Module;
  ModuleOf() = default;

  /// A layer's results: one, or several as an array.
  template <size_t N>
  auto forward(const LayerArguments& inputs) const {
    if constexpr (N == 1) {
      Tensor y;
      run(inputs, &y, 1);
      return y;
    } else {
      std::array<Tensor, N> y;
      run(inputs, y.data(), N);
      return y;
    }
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

/// Modules, and functions of one tensor, one after another; named from 0. C++ leaves open in which
/// order the arguments in round brackets are made, and so which of them gets which random numbers:
/// nn::Sequential{...} makes them from left to right, as scripts do.
class Sequential : public ModuleOf<Sequential> {
 public:
  template <class... Parts>
  requires(std::is_invocable_v<const Parts&, const Tensor&>&&...) Sequential(Parts... parts)
      : ModuleOf("Sequential") {
    (append(std::move(parts)), ...);
  }
  template <class Part>
  void append(Part part) {
    if constexpr (std::is_base_of_v<Module, Part>)
      register_module(std::to_string(steps_->size()), part);
    steps_->push_back([part = std::move(part)](const Tensor& x) -> Tensor { return part(x); });
  }
  Tensor operator()(const Tensor& x) const {
    Tensor y = x;
    for (const auto& step : *steps_) y = step(y);
    return y;
  }
  size_t size() const { return steps_->size(); }

 private:
  std::shared_ptr<std::vector<std::function<Tensor(const Tensor&)>>> steps_ =
      std::make_shared<std::vector<std::function<Tensor(const Tensor&)>>>();
};

// ---- lists of parameters
// ------------------------------------------------------------------------------

struct ClipOptions {
  double p = 2;                     // which norm; infinity is one
  bool error_if_nonfinite = false;  // E_STATE where the norm is not finite
  bool like_torch = false;          // scales by a norm that is not finite, too
};

/// Scales all gradients by min(1, max / (norm + 1e-6)) and returns the norm of before, a tensor of
/// no dims. A norm that is not finite leaves them as they are. Warns once where a GradScaler has
/// still to unscale them.
RILLE_API Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max,
                                 const ClipOptions& options = {});
/// Cuts each element of the gradients to [-max, max].
RILLE_API void clip_grad_value_(const std::vector<Tensor>& parameters, double max);

}  // namespace nn
}  // namespace rille::RILLE_V1
