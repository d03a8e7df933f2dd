#include "io/background.h"

#include <utility>

#include "core/references.h"
#include "core/signals_blocked.h"

namespace rille::io {

Background::~Background() {
  if (thread_.joinable()) thread_.join();
}

void Background::start(std::function<void()> work) {
  wait();
  ended_ = false;
  share_references();
  const SignalsBlocked blocked;
  thread_ = std::thread([this, work = std::move(work)] {
    try {
      work();
    } catch (...) {  // carried to the thread that asks
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
  });
}

void Background::join() {
  thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

bool Background::done() {
  if (!thread_.joinable()) return false;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) return false;
  }
  join();
  return true;
}

std::exception_ptr Background::error_at_end() noexcept {
  if (thread_.joinable()) thread_.join();
  return std::exchange(error_, nullptr);
}

void Background::wait() {
  if (thread_.joinable()) join();
}

}  // namespace rille::io
