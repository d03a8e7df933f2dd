// How a script is stopped from outside.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// For signal handlers of the thread that runs `in`: the script raises E_INTERRUPTED before its
/// next instruction, in whichever coroutine it is, after the native that it may be in.
void interrupt(Interpreter& in, int signal) noexcept;

/// One that came too late stops nothing any more.
void forget_interrupt(Interpreter& in) noexcept;

}  // namespace rille::lua
