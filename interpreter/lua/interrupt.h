// How a script is stopped from outside.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// For signal handlers of the thread that runs `in`: the script raises E_INTERRUPTED before its
/// next instruction, after the native that it may be in.
void interrupt(Interpreter& in, int signal) noexcept;

/// For natives that see in.signal set: stops the coroutine that called them.
void stop_soon(lua_State* L, const Interpreter& in) noexcept;

}  // namespace rille::lua
