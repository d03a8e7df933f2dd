// The scale of a loss. A gradient that f16 can't hold is 0, so the loss is multiplied by a large
// number before backward and the gradients are divided by it after. Where one of them is not finite
// the scale was too large: that step is skipped and the scale falls; it rises where all went well
// for long. The rules are PyTorch's; what is added says why something went wrong (ADR 0020).
//   scaler.scale(loss) -> backward; scaler.unscale(opt, params); opt.step() if scaler.step(...)
//   says so; scaler.stepped(opt); scaler.update()
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "amp/unscale.h"

namespace rille::amp {

struct GradScalerOptions {
  std::string device;  // that the loss is computed on; "" is the default one
  double init_scale = 65536;
  double growth_factor = 2;        // above 1
  double backoff_factor = 0.5;     // between 0 and 1
  int64_t growth_interval = 2000;  // clean updates in a row after which the scale grows
  bool enabled = true;
  bool dynamic = true;              // false: the scale stays; steps are still skipped
  double min_scale = 0x1p-14;       // a scale that falls to it is E_SCALER_COLLAPSED
  std::optional<double> max_scale;  // it grows no further
  int64_t hysteresis = 1;           // overflows in a row after which the scale falls
  bool force = false;               // keeps a scaler of bf16 losses, which need none
  bool allow_empty = false;         // an optimizer without any gradient takes an empty step
  std::function<bool(bool)> group;  // found_inf of this rank -> that of any rank
};

/// What a scaler needs to go on.
struct GradScalerState {
  double scale, growth_factor, backoff_factor;
  int64_t growth_interval, growth_tracker, overflow_tracker;
};

/// The optimizer of a call: a number that tells it from others, how errors call it, and what it
/// steps.
struct ScaledOptimizer {
  uint64_t id;
  std::string name;
  std::span<const ScaledParam> params;
};

class GradScaler {
 public:
  /// Throws E_SCALER_ARG. One for a device that this machine lacks is disabled, with a warning.
  explicit GradScaler(GradScalerOptions options);

  /// x times the scale, differentiable. A 16-bit x of one element gives f32. The first call makes
  /// the scale on the device of x; where x is bf16, or was computed in bf16 and not in f16, it
  /// disables the scaler, with a warning.
  Tensor scale(const Tensor& x);
  /// Divides the gradients by the scale. Throws E_SCALER_NOT_SCALED, E_SCALER_UNSCALE_TWICE,
  /// E_SCALER_UNSCALE_AFTER_STEP, E_SCALER_NO_GRADS, and what unscale() does.
  void unscale(const ScaledOptimizer& optimizer);
  /// Unscales if that has not been done. Returns whether the optimizer may step: no gradient is
  /// infinite or nan. Throws E_SCALER_STEP_TWICE, E_SCALER_NO_GRADS, and what unscale() does.
  bool step(const ScaledOptimizer& optimizer);
  /// The step was taken, or left out.
  void stepped(uint64_t id);
  /// Ends the iteration: the scale falls, rises or stays, or becomes `scale`. Throws
  /// E_SCALER_NOT_SCALED, E_SCALER_NO_CHECKS, E_SCALER_COLLAPSED.
  void update(std::optional<double> scale = {});

  bool enabled() const { return enabled_; }
  /// Why it disabled itself, once; then nothing.
  std::string take_warning() { return std::exchange(warning_, {}); }
  /// 1 if disabled.
  double scale() const;
  int64_t growth_tracker() const;
  double growth_factor() const { return options_.growth_factor; }
  double backoff_factor() const { return options_.backoff_factor; }
  int64_t growth_interval() const { return options_.growth_interval; }
  void set_growth_factor(double factor);
  void set_backoff_factor(double factor);
  void set_growth_interval(int64_t interval);
  const GradScalerOptions& options() const { return options_; }

  /// Of an enabled scaler. Throws E_SCALER_MID_STEP between unscale and update.
  GradScalerState state() const;
  /// Throws E_SCALER_ARG for values out of range; then nothing has changed.
  void load(const GradScalerState& state);

 private:
  enum class Stage : uint8_t { ready, unscaled, stepped };
  struct Progress {
    Stage stage = Stage::ready;
    std::string name;
    Site at;  // of the call that led to the stage
    bool checked = false, found = false;
  };
  // Shared with hooks of losses, which may outlive the scaler.
  struct Seen {
    int64_t backwards = 0;
  };

  void begin(Device device);
  void disable(const std::string& why);
  bool needs_none(const Tensor& x) const;
  void require_scale(const char* call) const;
  void unscale_now(const ScaledOptimizer& optimizer);
  [[noreturn]] void throw_no_grads(const ScaledOptimizer& optimizer) const;
  void adopt(bool found);
  void back_off();
  [[noreturn]] void throw_collapsed();
  void set(double scale, int64_t tracker);

  GradScalerOptions options_;
  bool enabled_ = true;
  std::string warning_;
  Tensor scale_, tracker_;  // f32 and i32 scalars; replaced, not written: a tape may hold the scale
  double first_scale_;      // what they will hold, until there is a device
  int64_t first_tracker_ = 0;
  int64_t overflows_ = 0;  // in a row
  int64_t updates_ = 0;
  std::map<uint64_t, Progress> progress_;  // since the last update
  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  int64_t seen_at_update_ = 0;
  bool graphless_ = false;        // a loss that was scaled since the last update had no graph
  std::vector<std::string> bad_;  // names of gradients that were not finite
};

}  // namespace rille::amp
