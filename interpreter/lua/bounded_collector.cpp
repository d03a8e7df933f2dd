#include <cstring>
#include <lua.hpp>

#include "interpreter/lua/bounded_libraries.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/pace.h"

namespace rille::lua {
namespace {

constexpr int64_t kLeast = 1000;  // instructions: every one is a look at the clock

// collectgarbage(what, ...) where something is limited. How the collector goes about its work is
// the interpreter's to say: what sets that says what it was, and changes nothing. Upvalue: the
// stock one.
int collect_garbage(lua_State* L) {
  const char* what = luaL_optstring(L, 1, "collect");
  if (std::strcmp(what, "collect") == 0) {
    collect_for_script(L);
    lua_pushinteger(L, 0);
    return 1;
  }
  if (std::strcmp(what, "step") == 0) {
    lua_pushboolean(L, step_for_script(L));
    return 1;
  }
  for (const char* mode : {"generational", "incremental"}) {
    if (std::strcmp(what, mode) != 0) continue;
    lua_pushstring(L, interpreter_of(L).pace.incremental ? "incremental" : "generational");
    return 1;
  }
  for (const char* amount : {"setpause", "setstepmul"}) {
    if (std::strcmp(what, amount) != 0) continue;
    lua_pushinteger(L, 0);
    return 1;
  }
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

}  // namespace

void collect_for_script(lua_State* L) {
  Interpreter& in = interpreter_of(L);
  if (!in.budget) {
    lua_gc(L, LUA_GCCOLLECT);
    return;
  }
  collect(L, in);
  spend(L, in, kLeast + lua_gc(L, LUA_GCCOUNT));
}

bool step_for_script(lua_State* L) {
  Interpreter& in = interpreter_of(L);
  const bool ended = lua_gc(L, LUA_GCSTEP, 0) == 1;
  if (in.budget) spend(L, in, kLeast);
  return ended;
}

void bound_collector(lua_State* L) {
  lua_getglobal(L, "collectgarbage");
  lua_pushcclosure(L, collect_garbage, 1);
  lua_setglobal(L, "collectgarbage");
}

}  // namespace rille::lua
