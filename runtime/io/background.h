// One piece of work at a time on a thread of its own: a save that training does not wait for. What
// it throws comes out where the caller next asks, never lost and never on the wrong thread.
#pragma once
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace rille::io {

class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Waits for the work, and drops its error: who minds asks error_at_end() first.
  ~Background();

  /// Waits for the work before, throws its error, and begins this one. Signals are not delivered to
  /// the thread: they belong to the one that runs the script.
  void start(std::function<void()> work);
  /// True from start() to the wait() or done() that saw its end.
  bool busy() const { return thread_.joinable(); }
  /// Whether busy() work has ended, without waiting; throws its error.
  bool done();
  /// Waits for it; throws its error.
  void wait();
  /// Waits for it; gives its error, or null. For what is about to end and can't throw.
  std::exception_ptr error_at_end() noexcept;

 private:
  void join();

  std::thread thread_;
  std::mutex mutex_;
  bool ended_ = false;        // guarded by mutex_
  std::exception_ptr error_;  // written by the thread before ended_
};

}  // namespace rille::io
