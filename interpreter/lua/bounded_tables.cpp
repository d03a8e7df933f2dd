#include <lua.hpp>

#include "interpreter/lua/bounded_libraries.h"
#include "interpreter/lua/limits.h"

namespace rille::lua {
namespace {

void spend_one(lua_State* L) { spend(L, interpreter_of(L), 1); }

// A table, or what behaves like one.
void check_table(lua_State* L, int i) {
  if (lua_type(L, i) == LUA_TTABLE) return;
  if (!lua_getmetatable(L, i)) luaL_checktype(L, i, LUA_TTABLE);
  lua_pop(L, 1);
}

lua_Integer last_of(lua_State* L, int i) { return luaL_len(L, i); }

// Moves t[from..to] by `by` places, beginning at the end that is not overwritten.
void shift(lua_State* L, int t, lua_Integer from, lua_Integer to, int by) {
  const lua_Integer n = to - from + 1;
  for (lua_Integer k = 0; k < n; ++k) {
    spend_one(L);
    const lua_Integer at = by > 0 ? to - k : from + k;
    lua_geti(L, t, at);
    lua_seti(L, t, at + by);
  }
}

// table.insert(t, [position,] value)
int insert(lua_State* L) {
  check_table(L, 1);
  const lua_Integer last = last_of(L, 1);
  luaL_argcheck(L, last < LUA_MAXINTEGER, 1, "too many elements");
  const lua_Integer end = last + 1;
  if (lua_gettop(L) == 2) {
    lua_seti(L, 1, end);
    return 0;
  }
  if (lua_gettop(L) != 3) return luaL_error(L, "wrong number of arguments to 'insert'");
  const lua_Integer at = luaL_checkinteger(L, 2);
  luaL_argcheck(L, at >= 1 && at <= end, 2, "position out of bounds");
  shift(L, 1, at, end - 1, 1);
  lua_seti(L, 1, at);
  return 0;
}

// table.remove(t [, position])
int remove(lua_State* L) {
  check_table(L, 1);
  const lua_Integer end = last_of(L, 1), at = luaL_optinteger(L, 2, end);
  if (lua_gettop(L) > 1)
    luaL_argcheck(L, at == end || (at >= 1 && at - 1 <= end), 2, "position out of bounds");
  lua_geti(L, 1, at);
  if (at < end) shift(L, 1, at + 1, end, -1);
  lua_pushnil(L);
  lua_seti(L, 1, at < end ? end : at);
  return 1;
}

// table.move(from, first, last, to [, target])
int move(lua_State* L) {
  const lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3),
                    to = luaL_checkinteger(L, 4);
  const int target = lua_isnoneornil(L, 5) ? 1 : 5;
  check_table(L, 1);
  check_table(L, target);
  if (last >= first) {
    luaL_argcheck(L, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
    const lua_Integer n = last - first + 1;
    luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4, "destination wrap around");
    const bool apart =
        to > last || to <= first || (target != 1 && !lua_compare(L, 1, target, LUA_OPEQ));
    for (lua_Integer k = 0; k < n; ++k) {
      spend_one(L);
      const lua_Integer at = apart ? k : n - 1 - k;
      lua_geti(L, 1, first + at);
      lua_seti(L, target, to + at);
    }
  }
  lua_pushvalue(L, target);
  return 1;
}

// table.concat(t [, separator, first, last])
int concat(lua_State* L) {
  check_table(L, 1);
  size_t gap = 0;
  const char* separator = luaL_optlstring(L, 2, "", &gap);
  const lua_Integer first = luaL_optinteger(L, 3, 1);
  const lua_Integer last = lua_isnoneornil(L, 4) ? last_of(L, 1) : luaL_checkinteger(L, 4);
  size_t size = 0;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (lua_Integer i = first; i <= last; ++i) {
    lua_geti(L, 1, i);
    size_t n = 0;
    if (!lua_isstring(L, -1))
      return luaL_error(L, "invalid value (%s) at index %I in table for 'concat'",
                        luaL_typename(L, -1), static_cast<LUAI_UACINT>(i));
    lua_tolstring(L, -1, &n);
    size += n + gap;
    if (size > longest_string(L)) return luaL_error(L, "resulting string too large");
    luaL_addvalue(&b);
    if (i == last) break;  // the next could wrap around
    luaL_addlstring(&b, separator, gap);
    spend_one(L);
  }
  luaL_pushresult(&b);
  return 1;
}

// The order that table.sort is given. Upvalue: the script's own, or nil.
int before(lua_State* L) {
  spend_one(L);
  if (lua_isnil(L, lua_upvalueindex(1))) {
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
  }
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

// table.sort(t [, before]): the stock one, every comparison counted. Upvalue: the stock one.
int sort(lua_State* L) {
  const bool compares = lua_istable(L, 1) && luaL_len(L, 1) > 1;
  if (compares && !lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_pushcclosure(L, before, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 0);
  return 0;
}

}  // namespace

void bound_tables(lua_State* L) {
  lua_getglobal(L, LUA_TABLIBNAME);
  constexpr luaL_Reg own[] = {{"insert", insert},
                              {"remove", remove},
                              {"move", move},
                              {"concat", concat},
                              {nullptr, nullptr}};
  luaL_setfuncs(L, own, 0);
  lua_getfield(L, -1, "sort");
  lua_pushcclosure(L, sort, 1);
  lua_setfield(L, -2, "sort");
  lua_pop(L, 1);
}

}  // namespace rille::lua
