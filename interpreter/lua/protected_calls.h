// pcall and xpcall for interpreters with limits: errors for want of memory name the limit, and a
// message handler runs once the stack is unwound, where it can be stopped like any other function.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Replaces the two globals. May raise.
void replace_protected_calls(lua_State* L);

/// Pushes the stack as it was where the error at hand was raised, while xpcall's handler runs; nil
/// at other times.
void push_failed_stack(lua_State* L);

}  // namespace rille::lua
