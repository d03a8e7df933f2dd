// Functions of Lua's libraries that loop in C, where no hook sees them, in versions that count
// their work against the budget: patterns, repetition, sorting, moving and joining elements,
// collections, and the length of what is compiled.
#pragma once
#include <string_view>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Bytes of the longest string that one call makes where something is limited, and of the longest
/// chunk that `load` takes.
inline constexpr int64_t kLongestString = int64_t{64} << 20;
inline constexpr int64_t kLongestChunk = int64_t{1} << 20;
/// Where time is, no string is longer than this, whoever makes it: `..` and `<` are one instruction
/// each. At 8 ns a byte for the slowest, two strings of zeros that are compared, that is 34 ms.
inline constexpr int64_t kLongestTimed = int64_t{4} << 20;
/// And so many bytes hold half a million keys of a table that is not a list, which Lua moves in
/// 35 ms when it needs room for more.
inline constexpr int64_t kLongestKeys = int64_t{16} << 20;

/// The same for the script of L: any that memory has room for where nothing is limited.
inline size_t longest_string(lua_State* L) {
  const Policy& policy = interpreter_of(L).policy;
  if (policy.time_limit > 0) return size_t{kLongestTimed};
  return policy.limited() ? size_t{kLongestString} : size_t{1} << 62;
}

/// luaL_loadbufferx for text that can be stopped: some programs take the compiler quadratic time.
int load_text_chunk(lua_State* L, Interpreter& in, std::string_view text, const char* name);

/// Replaces the functions of the global tables. May raise.
void bound_strings(lua_State* L);
void bound_tables(lua_State* L);
void bound_load(lua_State* L);
void bound_collector(lua_State* L);

/// collectgarbage() and collectgarbage "step" of scripts, which count as what they take.
void collect_for_script(lua_State* L);
bool step_for_script(lua_State* L);

}  // namespace rille::lua
