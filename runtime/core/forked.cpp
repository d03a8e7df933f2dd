#include "core/forked.h"

#include <pthread.h>

#include <atomic>

namespace rille {
namespace {

constinit std::atomic<bool> used{false}, lost{false};

void in_child() { lost.store(true, std::memory_order_relaxed); }

bool begin_use() noexcept {
  static const int watched = ::pthread_atfork(nullptr, nullptr, in_child);
  used.store(watched == 0, std::memory_order_relaxed);
  return true;
}

}  // namespace

bool pool_is_lost() noexcept { return lost.load(std::memory_order_relaxed); }

bool pool_may_run() noexcept {
  if (pool_is_lost()) return false;
  return used.load(std::memory_order_relaxed) || begin_use();
}

}  // namespace rille
