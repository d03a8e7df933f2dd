// How a script is stopped from outside.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// For as long as it lives, ops of the calling thread that take long look whether `interrupt` came.
class StoppableOps {
 public:
  explicit StoppableOps(Interpreter& in);
  ~StoppableOps();
  StoppableOps(const StoppableOps&) = delete;
  StoppableOps& operator=(const StoppableOps&) = delete;

 private:
  Interpreter& in_;
  std::shared_ptr<Budget> budget_;
  Budget *before_, *watched_before_;
};

/// For signal handlers of the thread that runs `in`: the script raises E_INTERRUPTED before its
/// next instruction, in whichever coroutine it is; an op that is under way then ends at its next
/// look, or when it is done.
void interrupt(Interpreter& in, int signal) noexcept;

/// In `guarded`, for the error of an op: whether a signal ended it. Then the error tells so, and
/// the signal has had its effect.
bool ended_by_signal(lua_State* L, Interpreter& in, Error& e);

/// Raises the error of a signal that came while a C function loops, if one did. For functions that
/// own nothing.
void stop_if_signalled(lua_State* L, Interpreter& in);

/// One that came too late stops nothing any more.
void forget_interrupt(Interpreter& in) noexcept;

/// A hook of the host's raised its error where none can pass on (Ctrl-C in the stock interpreter,
/// whose hook is gone with that): the script is stopped at its next instruction instead.
void stop_later(lua_State* L) noexcept;

}  // namespace rille::lua
