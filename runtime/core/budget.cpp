#include "core/budget.h"

#include <algorithm>

#include "core/allocator.h"
#include "core/context.h"
#include "core/fail.h"

namespace rille {

constinit thread_local Budget* Budget::entered_ = nullptr;
constinit thread_local Budget* Budget::watching_ = nullptr;
constinit thread_local int Unit::held_ = 0;

namespace {

constexpr int64_t kLook = 1000;   // instructions from one look at the clock to the next
constexpr double kLongest = 1e8;  // seconds that a clock can add

constinit thread_local Budget* working_for __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

// The context is compared, too: a host's function that a script calls may use another interpreter.
bool Budget::is_at_work() const noexcept { return running() && &context_ == &Context::current(); }

Budget* Budget::ending() {
  if (Unit::held()) return nullptr;
  if (working_for) return working_for;
  if (Budget* b = current(); b && b->can_end_early()) return b;
  Budget* b = watching_;
  return b && &b->context_ == &Context::current() ? b : nullptr;
}

Budget* Budget::charged() {
  if (working_for) return working_for->counts() ? working_for : nullptr;
  return counting();
}

void Budget::begin_run() {
  running_ = true;
  why_ = Why::nothing;
  instructions_ = workers_instructions_ = 0;
  unseen_ = 0;
  refused_ = {};
  telling_ = false;
  began_ = seen_ = Clock::now();
  const std::chrono::duration<double> seconds(std::min(limits_.seconds, kLongest));
  auto deadline = began_ + std::chrono::duration_cast<Clock::duration>(seconds);
  if (owner_ && owner_->running()) deadline = std::min(deadline, owner_->deadline_.load());
  deadline_ = deadline;
}

void Budget::end_run() {
  running_ = false;
  stop_ = false;  // what was asked of this run is not for the next
  why_ = Why::nothing;
}

// The first reason stays.
bool Budget::end(Why why) noexcept {
  Why expected = Why::nothing;
  why_.compare_exchange_strong(expected, why);
  return true;
}

bool Budget::over() noexcept {
  if (!running()) return false;
  if (is_over()) return true;
  if (limits_.may_be_stopped && stop_.load(std::memory_order_relaxed)) return end(Why::asked);
  return limits_.seconds > 0 && Clock::now() >= deadline_.load(std::memory_order_relaxed) &&
         end(Why::time);
}

int64_t Budget::instructions() const noexcept {
  if (owner_) return owner_->instructions();
  return instructions_.load(std::memory_order_relaxed) +
         workers_instructions_.load(std::memory_order_relaxed);
}

bool Budget::spend(int64_t count) noexcept {
  if (!running()) return false;
  instructions_.store(instructions_.load(std::memory_order_relaxed) + count,
                      std::memory_order_relaxed);
  if (owner_) owner_->workers_instructions_.fetch_add(count, std::memory_order_relaxed);
  unseen_ += count;
  if (limits_.instructions > 0 && instructions() >= limits_.instructions)
    return end(Why::instructions);
  if (unseen_ < kLook) return is_over();
  return look();
}

bool Budget::look() noexcept {
  unseen_ = 0;
  if (limits_.seconds > 0) seen_ = Clock::now();
  return over();
}

int64_t Budget::left(int64_t most) const noexcept {
  if (limits_.instructions <= 0) return most;
  return std::clamp(limits_.instructions - instructions(), int64_t{1}, most);
}

void Budget::raise() const {
  switch (why_.load()) {
    case Why::instructions:
      throw fail(Kind::interrupt, "E_BUDGET", "the run has used up its {} instructions",
                 limits_.instructions)
          .fact(fmt::format("used         {} instructions", instructions()));
    case Why::time: {
      const std::chrono::duration<double> used = Clock::now() - began_;
      throw fail(Kind::interrupt, "E_BUDGET", "the run has used up its {:g} seconds",
                 limits_.seconds)
          .fact(fmt::format("used         {:.3f} seconds", used.count()));
    }
    case Why::asked: throw fail(Kind::interrupt, "E_INTERRUPTED", "stopped by the host");
    case Why::nothing: break;
  }
  throw internal_error("a run that may go on was ended");
}

Working::Working(Budget* b) : before_(std::exchange(working_for, b)) {}
Working::~Working() { working_for = before_; }

bool run_is_over() noexcept {
  Budget* b = Budget::ending();
  return b && b->over();
}

void end_if_over() {
  Budget* b = Budget::ending();
  if (b && b->over()) b->raise();
}

// ---- memory
// ----------------------------------------------------------------------------------------

int64_t Budget::tensors() const noexcept {
  if (owner_) return owner_->tensors();
  return tensors_.load(std::memory_order_relaxed) +
         workers_tensors_.load(std::memory_order_relaxed);
}

int64_t Budget::heap() const noexcept {
  if (owner_) return owner_->heap();
  return own_heap() + workers_heap_.load(std::memory_order_relaxed);
}

void Budget::share_heap(int64_t bytes) noexcept {
  if (!owner_) return;
  owner_->workers_heap_.fetch_add(bytes - shared_heap_, std::memory_order_relaxed);
  shared_heap_ = bytes;
}

int64_t Budget::tensor_room() const noexcept {
  int64_t room = limits_.tensors;
  if (limits_.memory > 0) {
    const int64_t rest = std::max<int64_t>(1, limits_.memory - heap());
    room = room > 0 ? std::min(room, rest) : rest;
  }
  return room;
}

bool Budget::refuses(int64_t bytes) const noexcept {
  const int64_t room = tensor_room();
  return running() && room > 0 && tensors() > room - bytes;
}

bool Budget::take(int64_t bytes) noexcept {
  if (refuses(bytes)) return false;
  add(bytes);
  return true;
}

void Budget::raise_out_of_memory(int64_t bytes) const {
  const bool alone = limits_.tensors > 0 && tensors() > limits_.tensors - bytes;
  const int64_t in_use = alone ? tensors() : tensors() + heap();
  throw fail(Kind::memory, "E_OOM_BUDGET", "out of memory asking {} (in use {}, limit {})",
             memory::size_text(bytes), memory::size_text(in_use),
             memory::size_text(alone ? limits_.tensors : limits_.memory))
      .hint("make batches smaller; rille.no_grad keeps no tape, rille.scope frees at its end");
}

bool Budget::grow_heap(int64_t bytes, int64_t block) noexcept {
  const int64_t more = block > kSmall ? 0 : telling_ ? 2 * kReserve : kReserve;
  const auto passes = [&](int64_t limit, int64_t in_use) {
    if (limit <= 0 || in_use <= limit + more - bytes) return false;
    refused_ = {limit, in_use, bytes, false};
    return true;
  };
  if (running() && (limits_.heap > 0 || limits_.memory > 0)) {
    const int64_t in_use = heap();
    if (passes(limits_.heap, in_use) || passes(limits_.memory, in_use + tensors())) return false;
  }
  set_heap(own_heap() + bytes);
  if (owner_ && own_heap() > shared_heap_) share_heap(own_heap() + kShare);
  return true;
}

void need_room(int64_t bytes) {
  if (const Budget* b = Budget::counting(); b && b->refuses(bytes)) b->raise_out_of_memory(bytes);
}

void Budget::raise_heap_full() const {
  if (refused_.block)
    throw fail(Kind::memory, "E_BUDGET",
               "a single string or table of {} is more than the {} that a limit of time allows",
               memory::size_text(refused_.asked), memory::size_text(refused_.limit));
  const bool alone = refused_.limit == limits_.heap;
  throw fail(Kind::memory, "E_BUDGET", "the script has used up its {} of {}",
             memory::size_text(refused_.limit), alone ? "Lua memory" : "memory")
      .fact(fmt::format("in use       {}, asked for {} more", memory::size_text(refused_.in_use),
                        memory::size_text(refused_.asked)));
}

}  // namespace rille
