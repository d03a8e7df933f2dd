// The scale of a loss, so that small gradients survive in f16: the scaler that scripts have.
//   amp::GradScaler scaler;
//   scaler.scale(loss).backward();
//   scaler.unscale_(optimizer);  // only before clipping
//   scaler.step(optimizer);
//   scaler.update();
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "rille/optim.hpp"

namespace rille::RILLE_V1::amp {

struct GradScalerOptions {
  std::optional<Device> device{};     // that the loss is computed on; none: the default one
  double init_scale = 65536;          // what the loss is multiplied by at first
  double growth_factor = 2;           // what the scale grows by; above 1
  double backoff_factor = 0.5;        // what it falls by where a gradient is not finite
  int64_t growth_interval = 2000;     // clean updates in a row before it grows
  bool enabled = true;                // false: it does nothing
  bool dynamic = true;                // false: the scale stays; steps are still skipped
  double min_scale = 0x1p-14;         // a scale that falls to this is E_SCALER_COLLAPSED; 0: never
  std::optional<double> max_scale{};  // it grows no further
  int64_t hysteresis = 1;             // overflows in a row before the scale falls
  std::function<bool(bool)> group{};  // whether this rank found one -> whether any rank did
  bool force = false;                 // it serves a bf16 loss, too, which needs no scale
  bool allow_empty = false;           // an optimizer without any gradient takes an empty step
};

struct GradScalerState;

/// Scales a loss, unscales gradients, skips a step where one of them is not finite. One for a
/// device that is not there, or whose first loss is bf16, warns and is disabled. It can be moved,
/// not copied, and holds on to no optimizer.
class RILLE_API GradScaler {
 public:
  /// Throws E_SCALER_ARG for values out of range.
  explicit GradScaler(const GradScalerOptions& options = {});
  GradScaler(GradScaler&&) noexcept;
  GradScaler& operator=(GradScaler&&) noexcept;
  ~GradScaler();

  /// The loss times the scale; a 16-bit loss of one element becomes f32. If disabled, the loss.
  Tensor scale(const Tensor& loss);
  std::vector<Tensor> scale(const std::vector<Tensor>& losses);
  /// Divides the gradients by the scale, for those who look at them before step. Throws
  /// E_SCALER_NOT_SCALED, E_SCALER_UNSCALE_TWICE, E_SCALER_UNSCALE_AFTER_STEP,
  /// E_SCALER_NO_GRADS, E_SCALER_F16_GRADS.
  void unscale_(optim::Optimizer& optimizer);
  /// The optimizer's step, where all gradients are finite; returns whether it stepped. Throws
  /// E_SCALER_NOT_SCALED, E_SCALER_STEP_TWICE, E_SCALER_NO_GRADS, E_SCALER_F16_GRADS.
  bool step(optim::Optimizer& optimizer);
  /// Ends an iteration: the scale falls, grows or stays, or is `scale`. Throws
  /// E_SCALER_NOT_SCALED, E_SCALER_NO_CHECKS, E_SCALER_COLLAPSED.
  void update(std::optional<double> scale = {});

  bool is_enabled() const;
  double get_scale() const;  // 1 if disabled
  int64_t get_growth_tracker() const;
  double get_growth_factor() const;
  void set_growth_factor(double factor);
  double get_backoff_factor() const;
  void set_backoff_factor(double factor);
  int64_t get_growth_interval() const;
  void set_growth_interval(int64_t interval);

  /// "scale", "growth_factor", "backoff_factor", "growth_interval" and "_growth_tracker", tensors
  /// of one number; empty if disabled. Throws E_SCALER_MID_STEP between unscale_ or step and
  /// update.
  StateDict state_dict() const;
  /// Throws E_SCALER_EMPTY_STATE, and E_STATE for what does not fit; then nothing has changed. A
  /// disabled scaler stays as it is.
  void load_state_dict(const StateDict& dict);

 private:
  GradScalerState& state() const;
  std::unique_ptr<GradScalerState> state_;
};

}  // namespace rille::RILLE_V1::amp
