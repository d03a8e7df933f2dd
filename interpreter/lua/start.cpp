#include "interpreter/lua/start.h"

#include <lua.hpp>

#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/read_only.h"
#include "interpreter/lua/unit.h"

namespace rille::lua {

void watch(Interpreter& in) {
  in.context.where = [&in] { return script_site(in); };
  in.context.reclaim = [&in] {
    const KeptModes kept(in);
    collect(in.running, in);
  };
}

namespace {

// native.shared(t): the table as objects that scripts get may hold it: in the sandbox a look at it.
int shared(lua_State* L) {
  lua_settop(L, 1);
  if (interpreter_of(L).policy.sandbox) make_read_only(L);
  return 1;
}

}  // namespace

void add_raise(lua_State* L, Interpreter& in) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, -1, "rille.native");
  lua_pushlightuserdata(L, &in);
  lua_pushcclosure(L, raise_from_table, 1);
  lua_setfield(L, -2, "raise");
  lua_pushcfunction(L, stand_in_from_script);
  lua_setfield(L, -2, "stand_in");
  lua_pushcfunction(L, shared);
  lua_setfield(L, -2, "shared");
  add_unit(L);
  lua_pop(L, 2);
}

void run_prelude(lua_State* L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "rille");
  lua_remove(L, -2);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "rille.prelude");
  lua_call(L, 1, 1);
  lua_pushvalue(L, -2);
  lua_call(L, 1, 0);
}

}  // namespace rille::lua
