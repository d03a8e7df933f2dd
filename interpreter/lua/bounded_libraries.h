// Functions of Lua's libraries that loop in C, where no hook sees them, in versions that count
// their work against the budget: patterns, repetition, sorting, moving and joining elements, and
// the length of what is compiled.
#pragma once
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Bytes of the longest string that one call makes, and of the longest chunk that `load` takes:
/// both take some ten milliseconds at most.
inline constexpr int64_t kLongestString = int64_t{64} << 20;
inline constexpr int64_t kLongestChunk = int64_t{1} << 20;

/// Replaces the functions of the global tables. May raise.
void bound_strings(lua_State* L);
void bound_tables(lua_State* L);
void bound_load(lua_State* L);

}  // namespace rille::lua
