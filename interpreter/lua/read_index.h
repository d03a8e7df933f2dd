// The plain forms of t[...], which scripts use in their innermost loops: positions, ranges, and
// lists of these. They are read off the stack without a copy of the tables.
#pragma once
#include <lua.hpp>

#include "interpreter/lua/call.h"

namespace rille::lua {

/// False where the value at stack index `i` holds anything else, or is no list; the caller then
/// looks at it as a Value, and finds the words for what is wrong. Raises nothing.
bool read_plain_index(lua_State* L, int i, IndexTerms& out);

}  // namespace rille::lua
