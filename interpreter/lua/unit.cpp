#include "interpreter/lua/unit.h"

#include <lua.hpp>

#include "interpreter/lua/diagnose.h"

namespace rille::lua {
namespace {

// native.unit(f, ...) -> what f returns. f can't yield: what is half done would wait.
int run_in_unit(lua_State* L) {
  int status = LUA_OK;
  {
    const Unit whole;
    status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  }
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

}  // namespace

// C functions between a script's function and this one (pcall, ipairs) are nobody's.
bool library_runs(lua_State* L) {
  lua_Debug at;
  for (int level = 0; lua_getstack(L, level, &at); ++level) {
    lua_getinfo(L, "S", &at);
    if (*at.what != 'C') return is_library(at);
  }
  return false;
}

int LimitedCall::suspend(lua_State* L) {
  return Unit::held() && !library_runs(L) ? Unit::suspend() : 0;
}

bool puts_off_stop(lua_State* L) { return Unit::held() && library_runs(L); }

void add_unit(lua_State* L) {
  lua_pushcfunction(L, run_in_unit);
  lua_setfield(L, -2, "unit");
}

}  // namespace rille::lua
