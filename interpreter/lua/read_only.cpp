#include "interpreter/lua/read_only.h"

#include <lua.hpp>

#include "core/fail.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"

namespace rille::lua {
namespace {

const char kLooksKey = 0;   // registry: table -> its look, both weak
const char kTablesKey = 0;  // registry: look -> its table; the look is weak

// The table that the look at index 1 looks at, pushed.
void push_table(lua_State* L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kTablesKey);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, -2) == LUA_TNIL) luaL_error(L, "a read-only table expected");
  lua_remove(L, -2);
}

int index(lua_State* L) {
  lua_settop(L, 2);
  push_table(L);
  lua_pushvalue(L, 2);
  lua_gettable(L, -2);
  make_read_only(L);
  return 1;
}

int refuse(lua_State* L) {
  luaL_checkstack(L, 16, "rille");
  Interpreter& in = interpreter_of(L);
  const size_t first = in.results.size();
  guarded(L, in, {}, [&] {
    const bool named = lua_type(L, 2) == LUA_TSTRING;
    throw fail(Kind::state, "E_SANDBOX", "{} can't be set: this table is read-only",
               named ? fmt::format("'{}'", lua_tolstring(L, 2, nullptr)) : "a field");
  });
  return raise_prepared(L, in, first);
}

int new_index(lua_State* L) {
  lua_settop(L, 3);
  push_table(L);
  lua_pushvalue(L, 2);
  const bool fresh = lua_rawget(L, 4) == LUA_TNIL;
  lua_settop(L, 4);
  if (!fresh || luaL_getmetafield(L, 4, "__newindex") == LUA_TNIL) return refuse(L);
  lua_settop(L, 4);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_settable(L, 4);
  return 0;
}

int length(lua_State* L) {
  lua_settop(L, 1);
  push_table(L);
  lua_len(L, -1);
  return 1;
}

int call(lua_State* L) {
  push_table(L);
  lua_replace(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

int to_string(lua_State* L) {
  lua_settop(L, 1);
  push_table(L);
  if (luaL_getmetafield(L, -1, "__tostring") == LUA_TNIL) {
    lua_pushliteral(L, "a read-only table");
    return 1;
  }
  lua_pop(L, 1);
  luaL_tolstring(L, -1, nullptr);
  return 1;
}

// The iterator's state is no table of ours: the real one must not get out. Upvalues: what the
// table's own iterator is called with (function, state), and the last key.
int next_pair(lua_State* L) {
  lua_settop(L, 0);
  for (int i = 1; i <= 3; ++i) lua_pushvalue(L, lua_upvalueindex(i));
  lua_call(L, 2, 2);
  lua_pushvalue(L, 1);
  lua_replace(L, lua_upvalueindex(3));
  if (lua_isnil(L, 1)) return 1;
  make_read_only(L);
  return 2;
}

int raw_next(lua_State* L) {
  lua_settop(L, 2);
  return lua_next(L, 1) ? 2 : 0;
}

int pairs(lua_State* L) {
  lua_settop(L, 1);
  push_table(L);
  if (luaL_getmetafield(L, 2, "__pairs") == LUA_TNIL) {
    lua_pushcfunction(L, raw_next);
    lua_pushvalue(L, 2);
    lua_pushnil(L);
  } else {
    lua_pushvalue(L, 2);
    lua_call(L, 1, 3);
  }
  lua_pushcclosure(L, next_pair, 3);
  return 1;
}

void push_weak(lua_State* L, const void* key, const char* mode) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void push_metatable(lua_State* L) {
  if (!luaL_newmetatable(L, "rille.ReadOnly")) return;
  constexpr luaL_Reg events[] = {{"__index", index}, {"__newindex", new_index}, {"__len", length},
                                 {"__call", call},   {"__tostring", to_string}, {"__pairs", pairs},
                                 {nullptr, nullptr}};
  luaL_setfuncs(L, events, 0);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
}

}  // namespace

bool is_read_only(lua_State* L, int i) {
  const int at = lua_absindex(L, i);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kTablesKey) != LUA_TTABLE) {
    lua_pop(L, 1);
    return false;
  }
  lua_pushvalue(L, at);
  const bool yes = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return yes;
}

void make_read_only(lua_State* L) {
  if (lua_type(L, -1) != LUA_TTABLE || is_read_only(L, -1)) return;
  luaL_checkstack(L, 8, "rille");
  const int table = lua_gettop(L);
  push_weak(L, &kLooksKey, "kv");
  lua_pushvalue(L, table);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    push_metatable(L);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, table);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
    push_weak(L, &kTablesKey, "k");
    lua_pushvalue(L, -2);
    lua_pushvalue(L, table);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  lua_replace(L, table);
  lua_settop(L, table);
}

}  // namespace rille::lua
