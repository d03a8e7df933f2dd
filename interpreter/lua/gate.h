// Who is inside an interpreter: one thread at a time, as deep as it likes. A gate outlives its
// interpreter; what scripts gave away (functions, hooks of tensors, backwards of their own) asks
// here before it goes in, and learns that the interpreter is closed, or that another thread is in.
#pragma once
#include <atomic>
#include <mutex>
#include <vector>

namespace rille::lua {

struct Interpreter;

class Gate {
 public:
  explicit Gate(Interpreter& in) : in_(&in) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Throws E_BUSY where another thread is inside, E_CLOSED once the interpreter is closed.
  void enter();
  void leave() noexcept;
  /// Whether the calling thread is inside.
  bool inside() const noexcept;
  /// For who is inside.
  Interpreter& interpreter() const { return *in_; }
  int depth() const { return depth_; }
  /// By who is inside: nobody else comes in any more.
  void close() noexcept;
  /// A registry reference that is held no longer, from any thread: freed now, or when the thread
  /// that is inside leaves.
  void drop(int reference) noexcept;

 private:
  bool claim() noexcept;
  void free_dropped() noexcept;

  std::atomic<const void*> owner_{nullptr};
  int depth_ = 0;
  Interpreter* in_;  // null once closed
  std::mutex mutex_;
  std::vector<int> dropped_;
  std::atomic<bool> any_dropped_{false};
};

/// Inside for a C++ scope.
class Inside {
 public:
  explicit Inside(Gate& gate) : gate_(gate) { gate_.enter(); }
  ~Inside() { gate_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Gate& gate_;
};

}  // namespace rille::lua
