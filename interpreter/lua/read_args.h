// From the Lua stack to an op's arguments: positional in field order, or by name in one trailing
// table. First the stack is arranged (may raise: no C++ object lives yet), then values are read
// (raises nothing: a wrong one throws).
#pragma once
#include <lua.hpp>

#include "interpreter/lua/interpreter.h"
#include "ops/op_info.h"

namespace rille::lua {

inline constexpr int kMaxFields = 16;

/// Where each field's value lies on the stack; 0 where none was given.
struct Arranged {
  int at[kMaxFields] = {};
  int spread_count = 1;  // integers or tensors that a spread field takes, from its first
  int spread_field = -1;
  int generator = 0;       // the option of random ops
  int requires_grad = 0;   // the option of ops that make tensors from nothing
  int unknown_option = 0;  // stack index of a key that no field has
  int given = 0;           // positional arguments, for "takes at most"
  bool too_many = false;
  bool nil_size = false;  // a nil where sizes stand first: no shape of no dims, but a mistake
  bool twice = false;     // positional and named; unknown_option holds the key
};

/// Sorts what the script passed to the fields. Leaves option values on the stack.
void arrange(lua_State* L, const OpInfo& op, int top, Arranged& out);

/// The same for a table of options alone; no positional arguments. Needs kMaxFields free slots.
void arrange_options(lua_State* L, const OpInfo& op, int table, Arranged& out);

/// Reads the values into `args`, which hold the defaults. Throws E_TYPE, E_ARG, E_OPTION, E_INDEX.
void read_args(lua_State* L, Interpreter& in, const OpInfo& op, const Arranged& from, void* args);

/// An integer at a stack index, also one written as a float: throws E_ARG for 1.5 or out of range.
int64_t read_integer(lua_State* L, const Interpreter& in, int i, std::string_view what);

}  // namespace rille::lua
