// pcall and xpcall for interpreters with limits: errors for want of memory name the limit, and a
// message handler runs once the stack is unwound, where it can be stopped like any other function.
// And those of the interactive shell, which can't hide that it was stopped.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Replaces the two globals, and debug.traceback by one that shows a handler where its error was
/// raised. May raise.
void replace_protected_calls(lua_State* L);

/// Replaces the two globals by such that pass an interrupt on (`pass_interrupt_on`), and are the
/// stock ones else. May raise.
void pass_interrupts_on(lua_State* L);

}  // namespace rille::lua
