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

/// In a C function that has caught an error, which is on top: raises it again where it is that of a
/// signal which has stopped what an interactive shell runs. So no script hides Ctrl-C, and what it
/// closes is closed whole. Where a message handler may have `changed` it, any error counts. The
/// standard library may catch it, to tidy up; it hands errors on by itself.
void pass_interrupt_on(lua_State* L, Interpreter& in, bool changed = false);

/// One that came too late stops nothing any more, and errors may be caught again.
void forget_interrupt(Interpreter& in) noexcept;

/// A hook of the host's raised its error where none can pass on (Ctrl-C in the stock interpreter,
/// whose hook is gone with that): the script is stopped at its next instruction instead.
void stop_later(lua_State* L) noexcept;

}  // namespace rille::lua
