// What one context may use and what it has used: bytes of tensors and of its script's heap,
// instructions and seconds of a run. Only contexts with limits have one. The thread that runs the
// context enters it; loops of the pool ask it, from any thread, whether they should end early.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

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
  /// `stop` is set by whoever wants the run to end; `context` is the one it is the budget of. What
  /// is used under a budget that has an `owner` counts against the owner's limits, too: so workers
  /// share the budget of the run that they work for.
  Budget(const Limits& limits, std::atomic<bool>& stop, const Context& context,
         std::shared_ptr<Budget> owner = nullptr)
      : limits_(limits), stop_(stop), context_(context), owner_(std::move(owner)) {}
  ~Budget() { share_heap(0); }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

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
  /// The same for what kernels hold, on threads of the pool, too.
  static Budget* charged();
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
  bool running() const { return running_.load(std::memory_order_relaxed); }

  // ---- why a run must end. It stays so until the run has ended.

  /// From any thread: looks at the clock and at who asked.
  bool over() noexcept;
  /// What `over` found; no look at the clock.
  bool is_over() const noexcept { return why_.load(std::memory_order_relaxed) != Why::nothing; }
  /// Counts instructions; true where the run must end. For the run's own thread.
  bool spend(int64_t count) noexcept;
  /// The same without any, and with a look at the clock.
  bool look() noexcept;
  /// How many are left, at most `most`, at least 1.
  int64_t left(int64_t most) const noexcept;
  /// Whether long computations are to be cut in pieces, so that they can end early.
  bool can_end_early() const {
    return running() && (limits_.seconds > 0 || limits_.may_be_stopped);
  }
  /// Whether a single computation must end in time. One that is only stopped by hand may go on to
  /// its end, so that it has the fastest kernels, and the bits that it has without a budget.
  bool has_deadline() const { return running() && limits_.seconds > 0; }
  /// From the last look at the clock to the deadline, which there must be.
  double seconds_left() const noexcept {
    return std::chrono::duration<double>(deadline_.load(std::memory_order_relaxed) - seen_).count();
  }
  /// Throws E_BUDGET or E_INTERRUPTED, by what `over` found.
  [[noreturn]] void raise() const;

  // ---- memory

  /// Whether bytes of tensors are counted at all.
  bool counts() const noexcept { return limits_.memory > 0 || limits_.tensors > 0; }
  /// Counts bytes of tensors; false, and nothing is counted, where a limit would be passed.
  bool take(int64_t bytes) noexcept;
  bool refuses(int64_t bytes) const noexcept;
  /// The same for what can't be refused; `too_much` finds it.
  void add(int64_t bytes) noexcept {
    tensors_.fetch_add(bytes, std::memory_order_relaxed);
    if (owner_) owner_->workers_tensors_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void give(int64_t bytes) noexcept { add(-bytes); }
  /// What tensors take, and what the heap takes, those of workers included.
  int64_t tensors() const noexcept;
  int64_t heap() const noexcept;
  /// The heap of this one alone.
  int64_t own_heap() const noexcept { return heap_.load(std::memory_order_relaxed); }
  /// The most that tensors may take besides the heap as it is; 0 for no limit.
  int64_t tensor_room() const noexcept;
  /// Small things were added past the limit.
  bool too_much() const noexcept { return refuses(0); }
  /// E_OOM_BUDGET for that many bytes more.
  [[noreturn]] void raise_out_of_memory(int64_t bytes) const;

  /// Counts what the heap grows by; false, and nothing is counted, where a limit would be passed.
  /// Blocks of up to kSmall bytes may use a reserve, so that finalizers and errors still find room.
  bool grow_heap(int64_t bytes, int64_t block) noexcept;
  void shrink_heap(int64_t bytes) noexcept {
    set_heap(own_heap() - bytes);
    if (owner_ && shared_heap_ - own_heap() > 2 * kShare) share_heap(own_heap());
  }
  /// Remembers that a block of the heap was refused since it is longer than `most`.
  void refuse_block(int64_t bytes, int64_t most) noexcept { refused_ = {most, 0, bytes, true}; }
  bool refused_heap() const noexcept { return refused_.asked > 0; }
  /// While it is on, small blocks find a second reserve: the error that tells of a full heap must
  /// fit in, though what filled it was small, too. (No scope: Lua may leave by a jump.)
  void let_tell(bool on) noexcept { telling_ = on; }
  /// E_BUDGET, for the growth that was refused last.
  [[noreturn]] void raise_heap_full() const;

  static constexpr int64_t kReserve = int64_t{64} << 10, kSmall = 1 << 10;
  static constexpr int64_t kShare = int64_t{64} << 10;  // workers tell the owner in such steps

 private:
  enum class Why : uint8_t { nothing, asked, time, instructions };
  using Clock = std::chrono::steady_clock;
  bool end(Why why) noexcept;
  bool is_at_work() const noexcept;
  // One thread writes it, and others read it.
  void set_heap(int64_t bytes) noexcept { heap_.store(bytes, std::memory_order_relaxed); }
  void share_heap(int64_t bytes) noexcept;
  int64_t instructions() const noexcept;

  const Limits limits_;
  std::atomic<bool>& stop_;
  const Context& context_;
  const std::shared_ptr<Budget> owner_;
  std::atomic<bool> running_{false};
  std::atomic<Why> why_{Why::nothing};
  Clock::time_point began_, seen_;
  std::atomic<Clock::time_point> deadline_{Clock::time_point()};
  std::atomic<int64_t> instructions_{0};
  int64_t unseen_ = 0;
  bool telling_ = false;
  std::atomic<int64_t> tensors_{0}, heap_{0};
  std::atomic<int64_t> workers_tensors_{0}, workers_heap_{0}, workers_instructions_{0};
  int64_t shared_heap_ = 0;  // of the heap, what the owner knows of
  struct {
    int64_t limit = 0, in_use = 0, asked = 0;
    bool block = false;
  } refused_;

  static constinit thread_local Budget* entered_ __attribute__((tls_model("initial-exec")));
  static constinit thread_local Budget* watching_ __attribute__((tls_model("initial-exec")));
};

/// An update that is whole or not at all: while one lives, neither a limit nor an interrupt ends
/// what its thread does; the stop takes effect after the outermost one. For the library's own work:
/// scripts' code that runs inside of one suspends it (lua/unit.h).
class Unit {
 public:
  Unit() noexcept { ++held_; }
  ~Unit() { --held_; }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  static bool held() noexcept { return held_ > 0; }
  /// How many are held is put aside, and back.
  static int suspend() noexcept { return std::exchange(held_, 0); }
  static void resume(int held) noexcept { held_ = held; }

 private:
  static constinit thread_local int held_ __attribute__((tls_model("initial-exec")));
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

/// Throws E_OOM_BUDGET where so many bytes more would pass a limit of the calling thread's budget:
/// for what is made next, and is gone soon.
void need_room(int64_t bytes);

/// Bytes that count for as long as it lives, to the budget that counted when it was made; a copy
/// counts, too.
class Charge {
 public:
  Charge() : Charge(0) {}
  explicit Charge(int64_t bytes) : Charge(Budget::counting(), bytes) {
    if (budget_) budget_->add(bytes);
  }
  /// For bytes that the budget has taken already.
  static Charge taken(Budget& budget, int64_t bytes) { return Charge(&budget, bytes); }
  ~Charge() {
    if (budget_) budget_->give(bytes_);
  }
  Charge(Charge&& o) noexcept : budget_(std::move(o.budget_)), bytes_(std::exchange(o.bytes_, 0)) {}
  Charge(const Charge& o) : budget_(o.budget_), bytes_(o.bytes_) {
    if (budget_) budget_->add(bytes_);
  }
  Charge& operator=(Charge o) noexcept {
    std::swap(budget_, o.budget_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }

  /// Counts more; throws E_OOM_BUDGET, and counts nothing, where a limit would be passed.
  void more(int64_t bytes) {
    if (!budget_) return;
    if (!budget_->take(bytes)) budget_->raise_out_of_memory(bytes);
    bytes_ += bytes;
  }

 private:
  Charge(Budget* budget, int64_t bytes) : bytes_(bytes) {
    if (budget) budget_ = budget->shared_from_this();
  }
  std::shared_ptr<Budget> budget_;
  int64_t bytes_;
};

/// The allocator of containers of kernels that grow with their tensors: their bytes count as
/// tensors do, while they are there. For containers that live in one op.
template <class T>
struct CountedAllocator {
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  Budget* budget = Budget::charged();

  CountedAllocator() = default;
  template <class U>
  CountedAllocator(const CountedAllocator<U>& o) : budget(o.budget) {}
  T* allocate(size_t n) {
    const auto bytes = static_cast<int64_t>(n * sizeof(T));
    if (budget && !budget->take(bytes)) budget->raise_out_of_memory(bytes);
    try {
      return std::allocator<T>().allocate(n);
    } catch (...) {
      if (budget) budget->give(bytes);
      throw;
    }
  }
  void deallocate(T* p, size_t n) noexcept {
    if (budget) budget->give(static_cast<int64_t>(n * sizeof(T)));
    std::allocator<T>().deallocate(p, n);
  }
  friend bool operator==(const CountedAllocator& a, const CountedAllocator& b) {
    return a.budget == b.budget;
  }
};
template <class T>
using CountedVector = std::vector<T, CountedAllocator<T>>;

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
