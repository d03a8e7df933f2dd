// Which gradients are still multiplied by the scale of a GradScaler. The backward of a scaled loss
// says so when it passes it, and what it then writes into leaves is marked: in the record of the
// gradient's last write, so that any other write, by whomever, takes the mark away.
#pragma once
#include <optional>

#include "core/tensor.h"

namespace rille::autograd {

/// The pass that runs on this thread came through a loss that was scaled at `site`.
void mark_pass_scaled(const Site& site);

/// Around a pass: whether it met a scaled loss is its own; a hook may run another inside of it.
class ScaledPass {
 public:
  ScaledPass();
  ~ScaledPass();
  ScaledPass(const ScaledPass&) = delete;
  ScaledPass& operator=(const ScaledPass&) = delete;

 private:
  std::optional<Site> before_;
};

/// Where a gradient was scaled; nothing for one that is not, and for none.
std::optional<Site> scaled_at(const Tensor& gradient);
/// Marks one that was written just now, if the pass is scaled or `before` says that it was.
void mark_scaled(const Tensor& gradient, const std::optional<Site>& before);
/// It was unscaled.
void unmark_scaled(const Tensor& gradient);

}  // namespace rille::autograd
