#include "core/budget.h"

#include <algorithm>

#include "core/allocator.h"
#include "core/context.h"
#include "core/fail.h"

namespace rille {

constinit thread_local Budget* Budget::entered_ = nullptr;

namespace {

constexpr int64_t kLook = 1000;   // instructions from one look at the clock to the next
constexpr double kLongest = 1e8;  // seconds that a clock can add

}  // namespace

// The context is compared, too: a host's function that a script calls may use another interpreter.
Budget* Budget::current() {
  Budget* b = entered_;
  return b && b->running_ && &b->context_ == &Context::current() ? b : nullptr;
}

void Budget::begin_run() {
  running_ = true;
  why_ = Why::nothing;
  instructions_ = unseen_ = heap_asked_ = 0;
  began_ = Clock::now();
  const std::chrono::duration<double> seconds(std::min(limits_.seconds, kLongest));
  deadline_ = began_ + std::chrono::duration_cast<Clock::duration>(seconds);
}

void Budget::end_run() {
  running_ = false;
  if (why_ == Why::asked) stop_ = false;
  why_ = Why::nothing;
}

// The first reason stays.
bool Budget::end(Why why) noexcept {
  Why expected = Why::nothing;
  why_.compare_exchange_strong(expected, why);
  return true;
}

bool Budget::over() noexcept {
  if (!running_) return false;
  if (is_over()) return true;
  if (limits_.may_be_stopped && stop_.load(std::memory_order_relaxed)) return end(Why::asked);
  return limits_.seconds > 0 && Clock::now() >= deadline_ && end(Why::time);
}

bool Budget::spend(int64_t instructions) noexcept {
  if (!running_) return false;
  instructions_ += instructions;
  unseen_ += instructions;
  if (limits_.instructions > 0 && instructions_ >= limits_.instructions)
    return end(Why::instructions);
  if (unseen_ < kLook) return is_over();
  unseen_ = 0;
  return over();
}

int64_t Budget::left(int64_t most) const noexcept {
  if (limits_.instructions <= 0) return most;
  return std::clamp(limits_.instructions - instructions_, int64_t{1}, most);
}

void Budget::raise() const {
  switch (why_.load()) {
    case Why::instructions:
      throw fail(Kind::interrupt, "E_BUDGET", "the run has used up its {} instructions",
                 limits_.instructions)
          .fact(fmt::format("used         {} instructions", instructions_));
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

// ---- memory
// ----------------------------------------------------------------------------------------

int64_t Budget::tensor_room() const noexcept {
  int64_t room = limits_.tensors;
  if (limits_.memory > 0) {
    const int64_t rest = std::max<int64_t>(1, limits_.memory - heap_);
    room = room > 0 ? std::min(room, rest) : rest;
  }
  return room;
}

bool Budget::refuses(int64_t bytes) const noexcept {
  const int64_t room = tensor_room();
  return running_ && room > 0 && tensors() > room - bytes;
}

bool Budget::take(int64_t bytes) noexcept {
  if (refuses(bytes)) return false;
  add(bytes);
  return true;
}

void Budget::raise_out_of_memory(int64_t bytes) const {
  const bool alone = limits_.tensors > 0 && tensors() > limits_.tensors - bytes;
  const int64_t in_use = alone ? tensors() : tensors() + heap_;
  throw fail(Kind::memory, "E_OOM_BUDGET", "out of memory asking {} (in use {}, limit {})",
             memory::size_text(bytes), memory::size_text(in_use),
             memory::size_text(alone ? limits_.tensors : limits_.memory))
      .hint("make batches smaller; rille.no_grad keeps no tape, rille.scope frees at its end");
}

bool Budget::grow_heap(int64_t bytes, int64_t block) noexcept {
  const int64_t more = block <= kSmall ? kReserve : 0;
  const auto passes = [&](int64_t limit, int64_t in_use) {
    return limit > 0 && in_use > limit + more - bytes;
  };
  if (running_ && (passes(limits_.heap, heap_) || passes(limits_.memory, heap_ + tensors()))) {
    heap_asked_ = bytes;
    return false;
  }
  heap_ += bytes;
  return true;
}

void Budget::raise_heap_full() const {
  const bool alone = limits_.heap > 0 && heap_ > limits_.heap - heap_asked_;
  const int64_t in_use = alone ? heap_ : heap_ + tensors();
  throw fail(Kind::memory, "E_BUDGET", "the script has used up its {} of {}",
             memory::size_text(alone ? limits_.heap : limits_.memory),
             alone ? "Lua memory" : "memory")
      .fact(fmt::format("in use       {}, asked for {} more", memory::size_text(in_use),
                        memory::size_text(heap_asked_)));
}

}  // namespace rille
