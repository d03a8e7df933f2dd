// Coroutines as scripts get them: the interpreter knows which one runs, so that a signal stops it,
// and those that close one another are bounded.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Replaces resume, wrap and close of the stock library, which is open. May raise.
void replace_coroutines(lua_State* L, Interpreter& in);

}  // namespace rille::lua
