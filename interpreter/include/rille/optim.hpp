// Optimizers, the same that scripts have: equal gradients give equal bits. A parameter without a
// gradient is skipped, and its own count of steps stands still.
#pragma once
#include <array>
#include <memory>

#include "rille/module.hpp"

namespace rille::RILLE_V1::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;               // needs a momentum and no dampening
  bool maximize = false;               // goes up instead of down
  bool master_weights = false;         // f32 copies of 16-bit parameters are what is updated
  std::optional<Dtype> state_dtype{};  // of the state, down to f8_e4m3; default: the parameter's
  bool stochastic_rounding = false;    // of 16-bit parameters without f32 copies
  bool stats = false;                  // measures each step, for stats()
};

/// What the last step did.
struct StepStats {
  double update_norm = 0;    // of all changes together
  double param_norm = 0;     // of the parameters after it
  int64_t lost_updates = 0;  // elements that kept their value although their gradient is not 0
};

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;  // added to the gradient
  bool amsgrad = false;
  bool maximize = false;
  bool master_weights = false;
  std::optional<Dtype> state_dtype{};
  bool stochastic_rounding = false;
  bool stats = false;
};

struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;  // decoupled: taken off the parameter itself
  bool amsgrad = false;
  bool maximize = false;
  bool master_weights = false;
  std::optional<Dtype> state_dtype{};
  bool stochastic_rounding = false;
  bool stats = false;
};

struct OptimizerState;

/// What the kinds share. It owns its state: it can be moved, not copied.
class RILLE_API Optimizer {
 public:
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;
  ~Optimizer();

  /// Takes all gradients away, or makes them 0 where they are kept.
  void zero_grad(bool set_to_none = true);
  /// Updates every parameter that has a gradient.
  void step();
  /// `closure` computes the loss anew and runs backward; its loss is returned.
  Tensor step(const std::function<Tensor()>& closure);
  int64_t step_count() const;
  /// Of the groups that were made with `stats`. Throws E_STATE where there is none, or no step yet.
  StepStats stats() const;

  size_t groups() const;
  double lr(size_t group = 0) const;
  void set_lr(double lr);  // of all groups
  void set_lr(size_t group, double lr);
  double momentum(size_t group = 0) const;  // or the first of the betas

  /// The state by number of the parameter, counted over the groups ("0.exp_avg", "0.step"), the
  /// tensors themselves. Options of groups are the program's own.
  StateDict state_dict() const;
  /// Copies. Throws E_STATE for names or shapes that do not fit; then nothing has changed.
  void load_state_dict(const StateDict& dict);

 protected:
  explicit Optimizer(const char* kind);
  /// Throws E_STATE for one that was moved from.
  OptimizerState& state() const;

 private:
  friend struct OptimizerAccess;
  std::shared_ptr<OptimizerState> state_;  // schedules look at it, too
};

class RILLE_API SGD : public Optimizer {
 public:
  /// Throws E_ARG for values out of range, what is no leaf, or is there twice.
  explicit SGD(const std::vector<Tensor>& parameters, const SGDOptions& options = {});
  void add_group(const std::vector<Tensor>& parameters, const SGDOptions& options);
};

class RILLE_API Adam : public Optimizer {
 public:
  explicit Adam(const std::vector<Tensor>& parameters, const AdamOptions& options = {});
  void add_group(const std::vector<Tensor>& parameters, const AdamOptions& options);
};

class RILLE_API AdamW : public Optimizer {
 public:
  explicit AdamW(const std::vector<Tensor>& parameters, const AdamWOptions& options = {});
  void add_group(const std::vector<Tensor>& parameters, const AdamWOptions& options);
};

}  // namespace rille::RILLE_V1::optim
