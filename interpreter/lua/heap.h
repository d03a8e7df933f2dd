// Lua's own heap: its allocator, which can be told to fail (tests), and what becomes of warnings
// and panics.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// A bare state whose blocks are counted, and fail, as `in.stress` says. Null for want of memory.
lua_State* new_state(Interpreter& in);

}  // namespace rille::lua
