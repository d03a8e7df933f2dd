// What one context may use and what it has used: bytes of tensors and of its script's heap,
// instructions and seconds of a run. Only contexts with limits have one. The thread that runs the
// context enters it; loops of the pool ask it, from any thread, whether they should end early.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace rille {

struct Context;

/// 0 means no limit.
struct Limits {
  int64_t memory = 0;  // bytes of the heap and of tensors together
  int64_t heap = 0;    // bytes of the script's own objects
  int64_t tensors = 0;
  int64_t instructions = 0;  // of a run
  double seconds = 0;        // of a run
  bool may_be_stopped = false;
};

class Budget : public std::enable_shared_from_this<Budget> {
 public:
  /// `stop` is set by whoever wants the run to end; `context` is the one it is the budget of.
  Budget(const Limits& limits, std::atomic<bool>& stop, const Context& context)
      : limits_(limits), stop_(stop), context_(context) {}

  /// That of the calling thread's context, while a run of it is under way; or null.
  static Budget* current() {
    Budget* b = entered_;
    return b && b->is_at_work() ? b : nullptr;
  }
  /// The same where bytes of tensors count.
  static Budget* counting() {
    Budget* b = current();
    return b && b->counts() ? b : nullptr;
  }
  /// Makes it the thread's (null: none); gives the one before.
  static Budget* enter(Budget* b) { return std::exchange(entered_, b); }

  /// The one that long computations of the calling thread ask whether they should end: that of the
  /// loop that it takes part in, the current one, or the one that watches for signals; or null.
  static Budget* ending();
  /// Makes it the one that watches (null: none); gives the one before. It counts nothing, so that
  /// small ops have nothing to do with it.
  static Budget* watch(Budget* b) { return std::exchange(watching_, b); }

  /// Between these limits hold, and time and instructions count.
  void begin_run();
  void end_run();
  bool running() const { return running_; }

  // ---- why a run must end. It stays so until the run has ended.

  /// From any thread: looks at the clock and at who asked.
  bool over() noexcept;
  /// What `over` found; no look at the clock.
  bool is_over() const noexcept { return why_.load(std::memory_order_relaxed) != Why::nothing; }
  /// Counts instructions; true where the run must end. For the run's own thread.
  bool spend(int64_t instructions) noexcept;
  /// How many are left, at most `most`, at least 1.
  int64_t left(int64_t most) const noexcept;
  /// Whether long computations are to be cut in pieces, so that they can end early.
  bool can_end_early() const { return running_ && (limits_.seconds > 0 || limits_.may_be_stopped); }
  /// Whether a single computation must end in time. One that is only stopped by hand may go on to
  /// its end, so that it has the fastest kernels, and the bits that it has without a budget.
  bool has_deadline() const { return running_ && limits_.seconds > 0; }
  /// Throws E_BUDGET or E_INTERRUPTED, by what `over` found.
  [[noreturn]] void raise() const;

  // ---- memory

  /// Whether bytes of tensors are counted at all.
  bool counts() const noexcept { return limits_.memory > 0 || limits_.tensors > 0; }
  /// Counts bytes of tensors; false, and nothing is counted, where a limit would be passed.
  bool take(int64_t bytes) noexcept;
  bool refuses(int64_t bytes) const noexcept;
  /// The same for what can't be refused; `too_much` finds it.
  void add(int64_t bytes) noexcept { tensors_.fetch_add(bytes, std::memory_order_relaxed); }
  void give(int64_t bytes) noexcept { tensors_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t tensors() const noexcept { return tensors_.load(std::memory_order_relaxed); }
  int64_t heap() const noexcept { return heap_; }
  /// The most that tensors may take besides the heap as it is; 0 for no limit.
  int64_t tensor_room() const noexcept;
  /// Small things were added past the limit.
  bool too_much() const noexcept { return refuses(0); }
  /// E_OOM_BUDGET for that many bytes more.
  [[noreturn]] void raise_out_of_memory(int64_t bytes) const;

  /// Counts what the heap grows by; false, and nothing is counted, where a limit would be passed.
  /// Blocks of up to kSmall bytes may use a reserve, so that finalizers and errors still find room.
  bool grow_heap(int64_t bytes, int64_t block) noexcept;
  void shrink_heap(int64_t bytes) noexcept { heap_ -= bytes; }
  bool refused_heap() const noexcept { return refused_.asked > 0; }
  /// E_BUDGET, for the growth that was refused last.
  [[noreturn]] void raise_heap_full() const;

  static constexpr int64_t kReserve = int64_t{64} << 10, kSmall = 1 << 10;

 private:
  enum class Why : uint8_t { nothing, asked, time, instructions };
  using Clock = std::chrono::steady_clock;
  bool end(Why why) noexcept;
  bool is_at_work() const noexcept;

  const Limits limits_;
  std::atomic<bool>& stop_;
  const Context& context_;
  bool running_ = false;
  std::atomic<Why> why_{Why::nothing};
  Clock::time_point began_, deadline_;
  int64_t instructions_ = 0, unseen_ = 0;
  std::atomic<int64_t> tensors_{0};
  int64_t heap_ = 0;
  struct {
    int64_t limit = 0, in_use = 0, asked = 0;
  } refused_;

  static constinit thread_local Budget* entered_ __attribute__((tls_model("initial-exec")));
  static constinit thread_local Budget* watching_ __attribute__((tls_model("initial-exec")));
};

/// For long serial loops of kernels: throws where the run that they compute for is over.
void end_if_over();
/// The same for functions that an exception must not leave: RILLE_CLONES, whose copies GCC gives no
/// tables for it. They return early, and the parallel_for that they work for throws.
bool run_is_over() noexcept;

/// The same, asked after every so much work: what a loop does in about a millisecond.
class Poll {
 public:
  static constexpr int64_t kWork = 1 << 16;  // elements of which one takes some nanoseconds
  void operator()(int64_t work) {
    if ((left_ -= work) < 0) [[unlikely]] {
      end_if_over();
      left_ = kWork;
    }
  }
  bool over(int64_t work) noexcept {
    if ((left_ -= work) >= 0) [[likely]]
      return false;
    left_ = kWork;
    return run_is_over();
  }

 private:
  int64_t left_ = kWork;
};

/// body(begin, end) for one piece of [0, n) after the other, asking between them. Whoever keeps
/// nothing from element to element wants parallel_for.
template <class Body>
void polled(int64_t n, Body&& body, int64_t piece = Poll::kWork) {
  for (int64_t begin = 0; begin < n; begin += piece) {
    if (begin > 0) end_if_over();
    body(begin, std::min(n, begin + piece));
  }
}

/// What a thread of the pool computes for, told it by the loop that it takes part in.
class Working {
 public:
  explicit Working(Budget* b);
  ~Working();
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  Budget* before_;
};

/// Bytes that count for as long as it lives, to the budget that counted when it was made.
class Charge {
 public:
  explicit Charge(int64_t bytes) : Charge(Budget::counting(), bytes) {
    if (budget_) budget_->add(bytes);
  }
  /// For bytes that the budget has taken already.
  static Charge taken(Budget& budget, int64_t bytes) { return Charge(&budget, bytes); }
  ~Charge() {
    if (budget_) budget_->give(bytes_);
  }
  Charge(Charge&&) noexcept = default;  // what was moved from counts nothing
  Charge& operator=(Charge&&) = delete;

 private:
  Charge(Budget* budget, int64_t bytes) : bytes_(bytes) {
    if (budget) budget_ = budget->shared_from_this();
  }
  std::shared_ptr<Budget> budget_;
  int64_t bytes_;
};

/// Enters a budget for a C++ scope; does nothing for null.
class Spending {
 public:
  explicit Spending(Budget* b) : inside_(b) {
    if (inside_) [[unlikely]]
      before_ = Budget::enter(b);
  }
  ~Spending() {
    if (inside_) [[unlikely]]
      Budget::enter(before_);
  }
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;

 private:
  Budget* inside_;
  Budget* before_ = nullptr;
};

}  // namespace rille
