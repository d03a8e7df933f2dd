// Rille in a Lua state that somebody else opened: `require "rille"` from a stock interpreter. The
// host's allocator, collector mode, libraries, warnings and hooks stay the host's; what Rille keeps
// beside the state lives in a userdata of that state and is given back when the state closes.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// For a luaopen_ function: pushes the table `rille`, the same one each time a state asks. Raises
/// where the running Lua is not of the version that this code was built for, where the host has no
/// `require`, and for want of memory; then the state is as it was before.
int attach_state(lua_State* L, void (*bind)(Interpreter&), const Stress& stress);

}  // namespace rille::lua
