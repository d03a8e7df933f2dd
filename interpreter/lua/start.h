// What a state that Rille opens and one that it attaches to have in common at their start.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Tells the context where scripts are and how to get memory back from them. May throw.
void watch(Interpreter& in);

/// What rille.native has for the parts of the library that Lua is written in: raise, stand_in,
/// shared. May raise.
void add_raise(lua_State* L, Interpreter& in);

/// Hands the table `rille` to the prelude and leaves that table on the stack. May raise.
void run_prelude(lua_State* L);

}  // namespace rille::lua
