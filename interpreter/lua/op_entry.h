// One C function for all ops: a block in the closure says which op, and which interpreter.
#pragma once
#include <lua.hpp>

#include "interpreter/lua/interpreter.h"
#include "ops/op_info.h"

namespace rille::lua {

enum class OpForm { plain, in_place, unary_operator };

/// Pushes a closure that calls `op`.
void push_op(lua_State* L, Interpreter& in, const OpInfo& op, OpForm form);

/// Pushes native.share_op(name, f), which gives a function that calls f with a lone table of named
/// values, and the op with everything else: `rille.log { loss = 2 }` beside `rille.log(x)`.
void push_share_op(lua_State* L, Interpreter& in);

}  // namespace rille::lua
