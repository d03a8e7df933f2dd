#include "interpreter/lua/host_function.h"

#include <lua.hpp>

#include "interpreter/lua/box.h"
#include "interpreter/lua/define.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/read_only.h"

namespace rille::lua {
namespace {

const char kBoundKey = 0;  // registry: dotted name -> function of the host's

// Upvalues: the box of the function, the interpreter.
int host_entry(lua_State* L) {
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(2)));
  luaL_checkstack(L, 32, "rille");
  follow_coroutine(L, in);
  pace_collector(L, in);
  const ObjectRef* held = peek_object(L, lua_upvalueindex(1), in);
  if (!held) return luaL_error(L, "a function of the host's was freed");
  const auto& function = static_cast<const HostFunction&>(**held);  // the running closure keeps it
  const size_t first = in.results.size();
  const bool done = guarded(L, in, Blame{function.name()}, [&] {
    Call call(L, in);
    function(call);
  });
  return done ? push_results(L, in, first) : raise_prepared(L, in, first);
}

// Puts the function at the top of the stack under a dotted name. A part that could not
// hold it becomes one.
void put(lua_State* L, std::string_view name) {
  const int function = lua_gettop(L);
  lua_pushglobaltable(L);
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
    const std::string_view part = name.substr(0, dot);
    name.remove_prefix(dot + 1);
    lua_pushlstring(L, part.data(), part.size());
    if (lua_rawget(L, -2) != LUA_TTABLE || is_read_only(L, -1)) {
      lua_pop(L, 1);
      lua_newtable(L);
      lua_pushlstring(L, part.data(), part.size());
      lua_pushvalue(L, -2);
      lua_rawset(L, -4);
    }
    lua_replace(L, function + 1);
  }
  lua_pushlstring(L, name.data(), name.size());
  lua_pushvalue(L, function);
  lua_rawset(L, -3);
  lua_settop(L, function);
}

}  // namespace

void define_host_functions(Interpreter& in) { define_class(in, HostFunction::kType, {}); }

void push_host_function(lua_State* L, Interpreter& in, const ObjectRef& function) {
  push_object(L, in, function);
  lua_pushlightuserdata(L, &in);
  lua_pushcclosure(L, host_entry, 2);
}

void remember_bound(lua_State* L, std::string_view name) {
  const int value = lua_gettop(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kBoundKey) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kBoundKey);
  }
  lua_pushlstring(L, name.data(), name.size());
  if (lua_type(L, value) == LUA_TFUNCTION)
    lua_pushvalue(L, value);
  else
    lua_pushnil(L);
  lua_rawset(L, -3);
  lua_settop(L, value);
}

void bind_again(lua_State* L) {
  const int top = lua_gettop(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kBoundKey) == LUA_TTABLE) {
    luaL_checkstack(L, 16, "rille");
    for (lua_pushnil(L); lua_next(L, top + 1); lua_pop(L, 1)) put(L, lua_tostring(L, -2));
  }
  lua_settop(L, top);
}

}  // namespace rille::lua
