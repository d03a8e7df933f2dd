// What is remembered of a value that a block's first run saved and let go of: enough to tell
// whether a second run saved the same.
#pragma once
#include <array>
#include <string>

#include "core/tensor.h"

namespace rille::autograd {

class Fingerprint {
 public:
  /// With `values` the elements count, too: all of them by a hash, and some are kept.
  Fingerprint(const Tensor& t, const char* by, bool values);

  bool same_kind(const Tensor& t, const char* by) const;
  bool same_values(const Tensor& t) const;
  /// The largest difference among the elements that were kept, and how many those are.
  double largest_difference(const Tensor& t) const;
  size_t compared() const { return some_.size(); }
  /// "sin      train.lua:12   f32[4]  cpu"
  std::string text() const;

 private:
  static constexpr int64_t kKept = 64;
  static int64_t place(int64_t i, int64_t numel);
  Shape shape_;
  DType dtype_;
  Device device_;
  const char* by_;
  Site site_;
  uint64_t hash_ = 0;
  std::vector<double> some_;
};

/// "train.lua:12", or "?" where no script's line is known.
std::string text_of(const Site& site);

}  // namespace rille::autograd
