// Looks at tables that can't be changed through them.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Replaces the table on top of the stack by a look at it: reads go through, tables in it come as
/// looks, too, and only what the table itself lets be assigned (by __newindex) is. One look a
/// table. Other values stay as they are. May raise.
void make_read_only(lua_State* L);

/// Whether the value at `i` is such a look.
bool is_read_only(lua_State* L, int i);

}  // namespace rille::lua
