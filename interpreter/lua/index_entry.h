// __index of tensors: methods and fields by name, a look at a part by anything else. The look is a
// call like an op's: its box is made first, and filled under the guard.
#pragma once
#include <lua.hpp>

#include "interpreter/lua/call.h"

namespace rille::lua {

/// Takes the tables of methods and of getters off the stack; pushes the function. The metatable of
/// tensors must exist.
void push_tensor_index(lua_State* L, Interpreter& in, GetIndex get);

/// Pushes tensors' __newindex. Takes the setters from the stack; `set` does what they don't.
void push_tensor_newindex(lua_State* L, Interpreter& in, Native set);

}  // namespace rille::lua
