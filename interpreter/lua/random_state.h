// The state of math.random, which Lua itself gives no way to read: a checkpoint holds it, and a
// loader puts it back after an item's own draws.
#pragma once
#include <array>
#include <cstdint>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

using RandomState = std::array<int64_t, 4>;

/// Remembers where the state lies, if there is a math.random as Lua's own library has it. Called
/// once, after the libraries were opened; may raise.
void find_random_state(lua_State* L);

/// False where a host opened no math library.
bool has_random_state(Interpreter& in);
RandomState random_state(Interpreter& in);
void set_random_state(Interpreter& in, const RandomState& state);

}  // namespace rille::lua
