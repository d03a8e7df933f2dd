#include "interpreter/lua/gate.h"

#include <lua.hpp>
#include <new>

#include "core/fail.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {
namespace {

// Threads are told apart by where they keep this.
thread_local const char mark = 0;

void unref(Interpreter& in, int reference) noexcept {
  if (in.L) luaL_unref(in.L, LUA_REGISTRYINDEX, reference);
}

}  // namespace

bool Gate::inside() const noexcept { return owner_.load(std::memory_order_relaxed) == &mark; }

bool Gate::claim() noexcept {
  const void* nobody = nullptr;
  if (!owner_.compare_exchange_strong(nobody, &mark, std::memory_order_acquire)) return false;
  depth_ = 1;
  return true;
}

void Gate::enter() {
  if (inside())
    ++depth_;
  else if (!claim())
    throw Error(Kind::state, "E_BUSY", "another thread is inside this interpreter")
        .hint("one thread at a time: wait for it, or give each thread an interpreter of its own");
  if (!in_) {
    leave();
    throw Error(Kind::state, "E_CLOSED", "the interpreter is closed")
        .hint("its functions, and hooks of tensors that are such functions, ended with it");
  }
  if (any_dropped_.load(std::memory_order_relaxed)) free_dropped();
}

void Gate::leave() noexcept {
  if (depth_ > 1) {
    --depth_;
    return;
  }
  if (in_ && any_dropped_.load(std::memory_order_relaxed)) free_dropped();
  depth_ = 0;
  owner_.store(nullptr, std::memory_order_release);
}

void Gate::close() noexcept {
  in_ = nullptr;
  const std::lock_guard lock(mutex_);
  dropped_.clear();
}

void Gate::drop(int reference) noexcept {
  if (reference < 0) return;  // nothing, or nil
  const bool in_already = inside();
  if (in_already || claim()) {
    if (in_) unref(*in_, reference);
    if (!in_already) leave();
    return;
  }
  const std::lock_guard lock(mutex_);
  try {
    dropped_.push_back(reference);
  } catch (const std::bad_alloc&) {  // it lives until the interpreter closes
    return;
  }
  any_dropped_.store(true, std::memory_order_relaxed);
}

void Gate::free_dropped() noexcept {
  const std::lock_guard lock(mutex_);
  for (const int reference : dropped_) unref(*in_, reference);
  dropped_.clear();
  any_dropped_.store(false, std::memory_order_relaxed);
}

}  // namespace rille::lua
