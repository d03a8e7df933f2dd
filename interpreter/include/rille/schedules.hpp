// Learning-rate schedules, the same that scripts have in optim.lr: equal steps give equal bits.
//
//   optim::lr::Cosine schedule(opt, {.steps = 1000});
//   ... opt.step(); schedule.step();
//
// A rate is a pure function of the step, which counts from 0, so a schedule's state is one number.
// Options without a default must be given. Values out of range throw E_ARG.
#pragma once
#include <concepts>

#include "rille/optim.hpp"

namespace rille::RILLE_V1::optim {

namespace lr {

struct StepOptions {  // the rate times gamma every `size` steps
  std::optional<int64_t> size{};
  double gamma = 0.1;
};

struct MultiStepOptions {  // the rate times gamma at each milestone
  std::vector<int64_t> milestones{};
  double gamma = 0.1;
};

struct ConstantOptions {  // a part of the rate for some steps, then all of it
  double factor = 1.0 / 3;
  int64_t steps = 5;
};

struct LinearOptions {  // from one factor of the rate to another in a straight line
  double start = 1.0 / 3;
  double stop = 1;
  int64_t steps = 5;
};

struct LinearWarmupOptions {  // up to the rate in a straight line
  std::optional<int64_t> steps{};
  std::optional<double> start{};  // the first factor; 1 / (steps + 1) if none is given
};

struct ExponentialOptions {  // the rate times gamma at every step
  std::optional<double> gamma{};
};

struct PolynomialOptions {  // down to zero as a power of what is left
  int64_t steps = 5;
  double power = 1;
};

struct CosineOptions {  // down to min_lr along half a cosine
  std::optional<int64_t> steps{};
  double min_lr = 0;
  bool periodic = false;  // rises again after its steps; else it stays
};

struct CosineRestartsOptions {     // half cosines down to min_lr, one after another
  std::optional<int64_t> steps{};  // of the first one
  double mult = 1;                 // how many times as long the next one is
  double min_lr = 0;
};

struct OneCycleOptions {  // up to max_lr and down to almost nothing, momentum the other way
  std::optional<double> max_lr{};
  std::optional<int64_t> steps{};
  double pct_start = 0.3;      // the part of the steps that goes up
  std::string anneal = "cos";  // or "linear"
  double div = 25;             // max_lr by the first rate
  double final_div = 1e4;      // the first rate by the last
  bool three_phase = false;    // down to the first rate, then on
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
};

struct CyclicOptions {  // between base_lr and max_lr and back, again and again
  std::optional<double> base_lr{};
  std::optional<double> max_lr{};
  int64_t up = 2000;
  std::optional<int64_t> down{};    // as many as up if none is given
  std::string mode = "triangular";  // "triangular2" halves each cycle, "exp_range" decays by gamma
  double gamma = 1;
};

struct WarmupCosineOptions {  // up in a straight line, then down along half a cosine
  std::optional<int64_t> warmup{};
  std::optional<int64_t> steps{};  // where min_lr is reached
  double min_lr = 0;
};

struct WarmupStableDecayOptions {  // up, level, and down to min_lr in straight lines
  std::optional<int64_t> warmup{};
  std::optional<int64_t> stable{};
  std::optional<int64_t> decay{};
  double min_lr = 0;
};

struct PlateauOptions {
  std::string mode = "min";            // less is better; or "max"
  double factor = 0.1;                 // what the rate is lowered by
  int64_t patience = 10;               // steps without a better metric that are borne
  double threshold = 1e-4;             // how much better counts
  std::string threshold_mode = "rel";  // as a part of the best; or "abs", as it is
  int64_t cooldown = 0;                // steps after a change that count for nothing
  double min_lr = 0;
  double eps = 1e-8;  // a lesser change is not made
};

struct ScheduleState;
struct PlateauState;

/// A curve tied to an optimizer, to whose groups it gives their rates, at once and step by step. It
/// follows the optimizer when that is moved; once the optimizer is gone, what needs it is E_STATE.
/// Groups that are added later keep their own rate. It can be moved, not copied.
class RILLE_API Schedule {
 public:
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(Schedule&&) noexcept;
  ~Schedule();

  /// Moves on only if the optimizer has stepped since the last call (one that a GradScaler skipped
  /// is none); returns whether it did.
  bool step();
  /// With false, step moves on each time.
  void set_skip_aware(bool skip_aware);
  /// The rate of a group at a step, whether or not that is the current one.
  double at(int64_t step, size_t group = 0) const;
  /// The rates now in force, one a group.
  std::vector<double> last_lr() const;
  /// How often it moved: its whole state.
  int64_t step_count() const;

  /// "step".
  StateDict state_dict() const;
  /// After the optimizer's own. Throws E_STATE for what does not fit; then nothing has changed.
  void load_state_dict(const StateDict& dict);

 protected:
  explicit Schedule(std::unique_ptr<ScheduleState> state);

 private:
  friend struct ScheduleAccess;
  std::unique_ptr<ScheduleState> state_;
};

class RILLE_API Step : public Schedule {
 public:
  Step(Optimizer& optimizer, const StepOptions& options);
};
class RILLE_API MultiStep : public Schedule {
 public:
  MultiStep(Optimizer& optimizer, const MultiStepOptions& options);
};
class RILLE_API Constant : public Schedule {
 public:
  explicit Constant(Optimizer& optimizer, const ConstantOptions& options = {});
};
class RILLE_API Linear : public Schedule {
 public:
  explicit Linear(Optimizer& optimizer, const LinearOptions& options = {});
};
class RILLE_API LinearWarmup : public Schedule {
 public:
  LinearWarmup(Optimizer& optimizer, const LinearWarmupOptions& options);
};
class RILLE_API Exponential : public Schedule {
 public:
  Exponential(Optimizer& optimizer, const ExponentialOptions& options);
};
class RILLE_API Polynomial : public Schedule {
 public:
  explicit Polynomial(Optimizer& optimizer, const PolynomialOptions& options = {});
};
class RILLE_API Cosine : public Schedule {
 public:
  Cosine(Optimizer& optimizer, const CosineOptions& options);
};
class RILLE_API CosineRestarts : public Schedule {
 public:
  CosineRestarts(Optimizer& optimizer, const CosineRestartsOptions& options);
};
class RILLE_API OneCycle : public Schedule {
 public:
  OneCycle(Optimizer& optimizer, const OneCycleOptions& options);
};
class RILLE_API Cyclic : public Schedule {
 public:
  Cyclic(Optimizer& optimizer, const CyclicOptions& options);
};
class RILLE_API WarmupCosine : public Schedule {
 public:
  WarmupCosine(Optimizer& optimizer, const WarmupCosineOptions& options);
};
class RILLE_API WarmupStableDecay : public Schedule {
 public:
  WarmupStableDecay(Optimizer& optimizer, const WarmupStableDecayOptions& options);
};
/// The rate times a function of the step. What the function throws passes; nothing has moved then.
class RILLE_API Lambda : public Schedule {
 public:
  Lambda(Optimizer& optimizer, std::function<double(int64_t)> factor);
};

/// One schedule after another, of one optimizer; all but the last must have an end. The next one
/// counts from 0. The parts are as they were, and may go.
RILLE_API Schedule chain(const std::vector<const Schedule*>& parts);
template <std::derived_from<Schedule>... Parts>
Schedule chain(const Parts&... parts) {
  return chain(std::vector<const Schedule*>{&parts...});
}

/// Lowers the rates when a metric has stopped improving.
class RILLE_API Plateau {
 public:
  explicit Plateau(Optimizer& optimizer, const PlateauOptions& options = {});
  Plateau(Plateau&&) noexcept;
  Plateau& operator=(Plateau&&) noexcept;
  ~Plateau();

  /// Returns whether a rate was lowered.
  bool step(double metric);
  /// The rates now in force, one a group.
  std::vector<double> last_lr() const;

  /// "best", "bad" and "resting".
  StateDict state_dict() const;
  /// Throws E_STATE for what does not fit; then nothing has changed.
  void load_state_dict(const StateDict& dict);

 private:
  std::unique_ptr<PlateauState> state_;
};

}  // namespace lr

/// nanoGPT's: warmup that starts above zero, half a cosine to min_lr, and there it stays.
RILLE_API lr::Schedule warmup_cosine(Optimizer& optimizer, const lr::WarmupCosineOptions& options);

}  // namespace rille::RILLE_V1::optim
