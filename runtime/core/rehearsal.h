// A rehearsal: code runs on meta, where nothing is computed, and what its tensors would take of
// memory is counted as the allocator would count it, block by block, and so is the work of its
// products. A block counts until it is freed, also after the rehearsal itself has ended.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/context.h"

namespace rille {

struct Storage;

class Rehearsal {
 public:
  explicit Rehearsal(const Context& of) : context_(&of) {}

  /// That of the calling thread's context, or null.
  static const std::shared_ptr<Rehearsal>& current();
  /// Makes it the thread's (null: none).
  static void enter(std::shared_ptr<Rehearsal> rehearsal);

  int64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_; }
  void reset_peak() { peak_ = in_use(); }

  /// Counts a block of meta for as long as its storage lives.
  static void count(const std::shared_ptr<Rehearsal>& it, Storage& block, size_t bytes);

  double flops = 0;  // additions and multiplications of products, convolutions and attention

 private:
  struct Counted;
  const Context* context_;          // another one on the same thread has no part in it
  std::atomic<int64_t> in_use_{0};  // blocks may end on any thread
  int64_t peak_ = 0;
};

}  // namespace rille
