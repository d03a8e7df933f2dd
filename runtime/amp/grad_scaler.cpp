#include "amp/grad_scaler.h"

#include <algorithm>
#include <cmath>

#include "autograd/node.h"
#include "autograd/scaled.h"
#include "core/budget.h"
#include "core/context.h"
#include "core/fail.h"
#include "ops/cast.h"
#include "ops/pointwise.h"
#include "ops/tape.h"

namespace rille::amp {
namespace {

Error scaler_error(std::string_view code, std::string text) {
  return Error(Kind::state, code, std::move(text));
}

template <class... A>
void check_that(bool fits, fmt::format_string<A...> text, A&&... args) {
  if (!fits) throw fail(Kind::argument, "E_SCALER_ARG", text, std::forward<A>(args)...);
}

// Written so that nan fits nowhere.
void check_growth(double factor) {
  check_that(factor > 1 && std::isfinite(factor), "'growth_factor' must be above 1, got {}",
             factor);
}
void check_backoff(double factor) {
  check_that(factor > 0 && factor < 1, "'backoff_factor' must be between 0 and 1, got {}", factor);
}
void check_interval(int64_t interval) {
  check_that(interval >= 1, "'growth_interval' must be at least 1, got {}", interval);
}
void check_scale(const char* name, double scale) {
  check_that(scale > 0 && std::isfinite(static_cast<float>(scale)),
             "'{}' must be above 0 and finite in f32, got {}", name, scale);
}

void check_options(const GradScalerOptions& o) {
  check_scale("init_scale", o.init_scale);
  check_growth(o.growth_factor);
  check_backoff(o.backoff_factor);
  check_interval(o.growth_interval);
  check_that(o.min_scale >= 0 && o.min_scale < o.init_scale,
             "'min_scale' must be at least 0 and below 'init_scale' {}, got {}", o.init_scale,
             o.min_scale);
  if (o.max_scale)
    check_that(*o.max_scale >= o.init_scale, "'max_scale' must be at least 'init_scale' {}, got {}",
               o.init_scale, *o.max_scale);
  check_that(o.hysteresis >= 1, "'hysteresis' must be at least 1, got {}", o.hysteresis);
}

// Of a device that is not there, why; else nothing. Recipes stay portable.
std::string lacking(const std::string& device) {
  if (device.empty()) return {};
  try {
    parse_device(device);
    return {};
  } catch (const Error& e) {
    if (e.code() != "E_NO_DEVICE") throw;
    return e.text();
  }
}

Tensor scalar(double value, DType dtype, Device device) {
  return to_device(Tensor::of({&value, 1}, {}, dtype), device);
}

std::string place(const char* what, const Site& at) {
  return at.source ? fmt::format("{:<12} {}:{}", what, at.source, at.line) : std::string();
}
Error&& with_place(Error&& e, const char* what, const Site& at) {
  if (at.source) e.fact(place(what, at));
  return std::move(e);
}

}  // namespace

GradScaler::GradScaler(GradScalerOptions options)
    : options_(std::move(options)), first_scale_(options_.init_scale) {
  check_options(options_);
  enabled_ = options_.enabled;
  if (const std::string why = lacking(options_.device); enabled_ && !why.empty()) disable(why);
}

void GradScaler::disable(const std::string& why) {
  enabled_ = false;
  warning_ = "amp.GradScaler: " + why + ", so the scaler is disabled";
}

void GradScaler::begin(Device device) {
  scale_ = scalar(first_scale_, DType::f32, device);
  tracker_ = scalar(static_cast<double>(first_tracker_), DType::i32, device);
}

void GradScaler::set(double scale, int64_t tracker) {
  first_scale_ = scale;
  first_tracker_ = tracker;
  if (scale_) begin(scale_.device());
}

double GradScaler::scale() const {
  if (!enabled_) return 1;
  return scale_ ? scale_.item() : first_scale_;
}
int64_t GradScaler::growth_tracker() const {
  return tracker_ ? tracker_.item_int() : first_tracker_;
}

bool GradScaler::needs_none(const Tensor& x) const {
  if (options_.force) return false;
  return x.dtype() == DType::bf16 || (came_through(x, DType::bf16) && !came_through(x, DType::f16));
}

Tensor GradScaler::scale(const Tensor& x) {
  if (!enabled_) return x;
  if (!scale_) {
    if (needs_none(x)) {
      disable(
          "the loss was computed in bf16, which has the range of f32 (force = true keeps a "
          "scaler)");
      return x;
    }
    begin(x.device());
  }
  const bool narrow = x.numel() == 1 && (x.dtype() == DType::f16 || x.dtype() == DType::bf16);
  const Tensor scale = x.device() == scale_.device() ? scale_ : to_device(scale_, x.device());
  const Tensor y = (narrow ? cast(x, DType::f32) : x) * scale;
  if (!y.needs_grad()) {
    graphless_ = true;
    return y;
  }
  const Site site = Context::current().site();
  autograd::add_hook(y, [seen = seen_, site](const Tensor&) {
    ++seen->backwards;
    autograd::mark_pass_scaled(site);
    return Tensor();
  });
  return y;
}

void GradScaler::require_scale(const char* call) const {
  if (scale_) return;
  throw scaler_error("E_SCALER_NOT_SCALED", fmt::format("{} before the first scale", call))
      .hint("the loss goes through the scaler first: scaler:scale(loss):backward()");
}

// `group` may call back: what it finds, or clears, is looked up after it.
void GradScaler::unscale_now(const ScaledOptimizer& optimizer) {
  const bool any =
      std::any_of(optimizer.params.begin(), optimizer.params.end(),
                  [](const ScaledParam& p) { return bool(autograd::grad_of(p.param)); });
  if (!any && !options_.allow_empty) throw_no_grads(optimizer);
  const double inverse = static_cast<float>(1 / scale_.item());
  const std::vector<size_t> bad = amp::unscale(optimizer.params, inverse);
  for (const size_t i : bad) bad_.push_back(optimizer.params[i].name);
  // Should the step, or `group`, raise, the next try finds them unscaled.
  progress_[optimizer.id] = {Stage::unscaled, optimizer.name, Context::current().site(), true,
                             !bad.empty()};
  if (!options_.group) return;
  const bool found = options_.group(!bad.empty());
  progress_[optimizer.id].found = found;
}

void GradScaler::unscale(const ScaledOptimizer& optimizer) {
  if (!enabled_) return;
  require_scale("unscale_");
  Progress& progress = progress_[optimizer.id];
  if (progress.stage == Stage::unscaled)
    throw with_place(
        scaler_error("E_SCALER_UNSCALE_TWICE",
                     fmt::format("the gradients of {} are unscaled already", optimizer.name))
            .hint("once an iteration, after the last backward: update() begins the next one"),
        "unscaled by", progress.at);
  if (progress.stage == Stage::stepped)
    throw with_place(scaler_error("E_SCALER_UNSCALE_AFTER_STEP",
                                  fmt::format("{} has stepped already", optimizer.name))
                         .hint("the order is unscale_, step, update"),
                     "stepped by", progress.at);
  unscale_now(optimizer);
}

void GradScaler::throw_no_grads(const ScaledOptimizer& optimizer) const {
  const bool ran = seen_->backwards > seen_at_update_;
  Error e = scaler_error("E_SCALER_NO_GRADS",
                         fmt::format("no parameter of {} has a gradient", optimizer.name));
  std::vector<std::string> lines;
  for (const ScaledParam& p : optimizer.params) {
    const char* reason = !autograd::requires_grad(p.param) ? "does not require a gradient"
                         : ran        ? "the scaled loss does not lead back to it"
                         : graphless_ ? "the scaled loss has no graph: it was detached"
                                      : "backward of a scaled loss has not run";
    lines.push_back(fmt::format("{:<12} {}", p.name, reason));
  }
  list_facts(e, lines);
  throw e.hint(ran ? "is it the optimizer of this model, and were the gradients zeroed too early?"
                   : "scaler:scale(loss):backward() comes before step");
}

bool GradScaler::step(const ScaledOptimizer& optimizer) {
  if (!enabled_) return true;
  require_scale("step");
  Progress& progress = progress_[optimizer.id];
  if (progress.stage == Stage::stepped)
    throw with_place(
        scaler_error("E_SCALER_STEP_TWICE", fmt::format("{} has stepped already", optimizer.name))
            .hint("update() ends an iteration"),
        "stepped by", progress.at);
  if (progress.stage == Stage::ready) unscale_now(optimizer);
  return !progress_[optimizer.id].found;
}

void GradScaler::stepped(uint64_t id) {
  Progress& progress = progress_[id];
  progress.stage = Stage::stepped;
  progress.at = Context::current().site();
}

void GradScaler::throw_collapsed() {
  Error e =
      scaler_error("E_SCALER_COLLAPSED",
                   fmt::format("the scale has fallen to {} in {} updates", scale(), updates_));
  for (std::string& name : bad_) name = fmt::format("{:<12} {}", "not finite", name);
  list_facts(e, std::exchange(bad_, {}));
  throw e.hint(
      "rille.debugging.detect_anomaly names the op; a rate that is too high does this, too");
}

void GradScaler::back_off() {
  overflows_ = 0;
  const auto lower = static_cast<float>(scale() * options_.backoff_factor);
  const bool collapsed = lower <= static_cast<float>(options_.min_scale);
  set(std::max(static_cast<double>(lower), options_.min_scale), 0);
  if (collapsed && options_.min_scale > 0) throw_collapsed();
}

// What the checks of an iteration do to the scale.
void GradScaler::adopt(bool found) {
  if (!options_.dynamic) return;
  if (found) {
    if (++overflows_ >= options_.hysteresis) return back_off();
    set(scale(), 0);
    return;
  }
  overflows_ = 0;
  const int64_t clean = growth_tracker() + 1;
  if (clean < options_.growth_interval) return set(scale(), clean);
  auto higher = static_cast<float>(scale() * options_.growth_factor);
  if (options_.max_scale) higher = std::min(higher, static_cast<float>(*options_.max_scale));
  set(std::isfinite(higher) && higher > scale() ? static_cast<double>(higher) : scale(), 0);
}

void GradScaler::update(std::optional<double> scale) {
  if (!enabled_) return;
  require_scale("update");
  if (scale) check_scale("scale", *scale);
  bool checked = false, found = false;
  for (const auto& [id, progress] : progress_) {
    checked |= progress.checked;
    found |= progress.found;
  }
  if (!scale && !checked)
    throw scaler_error("E_SCALER_NO_CHECKS", "no gradients were checked since the last update")
        .hint("step or unscale_ of an optimizer comes first");
  const Unit whole;
  ++updates_;
  progress_.clear();
  seen_at_update_ = seen_->backwards;
  graphless_ = false;
  if (scale)
    set(static_cast<float>(*scale), growth_tracker());
  else
    adopt(found);
  bad_.clear();
}

void GradScaler::set_growth_factor(double factor) {
  check_growth(factor);
  options_.growth_factor = factor;
}
void GradScaler::set_backoff_factor(double factor) {
  check_backoff(factor);
  options_.backoff_factor = factor;
}
void GradScaler::set_growth_interval(int64_t interval) {
  check_interval(interval);
  options_.growth_interval = interval;
}

GradScalerState GradScaler::state() const {
  for (const auto& [id, p] : progress_)
    if (p.stage != Stage::ready)
      throw with_place(scaler_error("E_SCALER_MID_STEP",
                                    fmt::format("{} is between unscale_ and update", p.name))
                           .hint("take the state after update()"),
                       p.stage == Stage::stepped ? "stepped by" : "unscaled by", p.at);
  return {scale(),
          options_.growth_factor,
          options_.backoff_factor,
          options_.growth_interval,
          growth_tracker(),
          overflows_};
}

void GradScaler::load(const GradScalerState& s) {
  check_scale("scale", s.scale);
  check_growth(s.growth_factor);
  check_backoff(s.backoff_factor);
  check_interval(s.growth_interval);
  check_that(s.growth_tracker >= 0, "'_growth_tracker' must be at least 0, got {}",
             s.growth_tracker);
  const Unit whole;
  options_.growth_factor = s.growth_factor;
  options_.backoff_factor = s.backoff_factor;
  options_.growth_interval = s.growth_interval;
  overflows_ = s.overflow_tracker;
  progress_.clear();
  set(static_cast<float>(s.scale), s.growth_tracker);
}

}  // namespace rille::amp
