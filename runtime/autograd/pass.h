// One run of the engine. Whoever computes values for a backward asks which one it is for, and is
// told when it ends.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "autograd/scaled.h"

namespace rille::autograd {

class BackwardPass {
 public:
  /// `selects`: gradients go to chosen inputs, not to all leaves. `keeps`: the graph is walked
  /// again later. `records`: the pass itself is recorded.
  BackwardPass(bool selects, bool keeps, bool records);
  ~BackwardPass();
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

  /// The innermost one on this thread, or null.
  static BackwardPass* current();
  /// Its number, which no other pass of the process has; 0 outside of every pass.
  static uint64_t number();

  bool selects() const { return selects_; }
  bool keeps() const { return keeps_; }
  bool records() const { return records_; }
  /// Runs `work` when the pass ends, on errors too. It must not throw.
  void at_end(std::function<void()> work) { at_end_.push_back(std::move(work)); }

 private:
  const ScaledPass scaled_;
  const uint64_t number_;
  const bool selects_, keeps_, records_;
  BackwardPass* const outer_;
  std::vector<std::function<void()>> at_end_;
};

}  // namespace rille::autograd
