// How a script is stopped from outside.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// For signal handlers of the thread that runs `in`: the script raises E_INTERRUPTED before its
/// next instruction, in whichever coroutine it is, after the native that it may be in.
void interrupt(Interpreter& in, int signal) noexcept;

/// One that came too late stops nothing any more.
void forget_interrupt(Interpreter& in) noexcept;

/// A hook of the host's raised its error where none can pass on (Ctrl-C in the stock interpreter,
/// whose hook is gone with that): the script is stopped at its next instruction instead.
void stop_later(lua_State* L) noexcept;

}  // namespace rille::lua
