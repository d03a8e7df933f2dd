#include "interpreter/lua/coroutines.h"

#include <lua.hpp>
#include <utility>

#include "interpreter/lua/interrupt.h"
#include "interpreter/lua/limits.h"

namespace rille::lua {
namespace {

// What a coroutine does before its first hook is counted when it is made: a tree of them, each too
// short for a hook, would run uncounted.
constexpr int kFirst = 1000;
constexpr int kResume = 10;  // instructions that a resume counts as

constexpr int kClosing = 150;  // Lua 5.4.4 counts no C levels here; 200 is its limit elsewhere

// Each function below has two upvalues: the stock function and the interpreter.
Interpreter& interpreter(lua_State* L) {
  return *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(2)));
}

// The one that is resumed or closed: an argument, or what the function made by wrap holds.
lua_State* coroutine_meant(lua_State* L) {
  if (!lua_getupvalue(L, lua_upvalueindex(1), 1)) return lua_tothread(L, 1);
  lua_State* co = lua_tothread(L, -1);
  lua_pop(L, 1);
  return co;
}

// `false` and an error are what a coroutine that failed gives to whoever resumes or closes it.
int finish(lua_State* L, Interpreter& in, int results) {
  if (results == 2 && lua_type(L, -2) == LUA_TBOOLEAN && !lua_toboolean(L, -2))
    pass_interrupt_on(L, in);
  return results;
}

// Coroutines that close or fail inside one another: without a bound the C stack overflows.
int bounded_call(lua_State* L) {
  Interpreter& in = interpreter(L);
  if (in.closing >= kClosing) return luaL_error(L, "coroutines close one another too deep");
  spend(L, in, kResume);
  lua_State* co = coroutine_meant(L);
  if (co) watch_resumed(L, co, in);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_State* before = std::exchange(in.running, co ? co : L);
  ++in.closing;
  const int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  --in.closing;
  in.running = before;
  if (status != LUA_OK) return lua_error(L);
  return finish(L, in, lua_gettop(L));
}

// coroutine.wrap, whose function closes a coroutine that failed.
int wrap(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  spend(L, interpreter(L), kFirst);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushcclosure(L, bounded_call, 2);
  return 1;
}

int create(lua_State* L) {
  spend(L, interpreter(L), kFirst);
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

// coroutine.resume. The stock one is no call of Lua's, which would count against the depth, and
// raises nothing once it has a coroutine.
int resume(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTHREAD);
  const lua_CFunction stock = lua_tocfunction(L, lua_upvalueindex(1));
  Interpreter& in = interpreter(L);
  lua_State* co = lua_tothread(L, 1);
  spend(L, in, kResume);
  watch_resumed(L, co, in);
  lua_State* before = std::exchange(in.running, co);
  const int results = stock(L);
  in.running = before;
  if (results == 2 && !lua_toboolean(L, -2)) name_the_limit(L, in, lua_status(co));
  return finish(L, in, results);
}

}  // namespace

void replace_coroutines(lua_State* L, Interpreter& in) {
  lua_getglobal(L, LUA_COLIBNAME);
  constexpr luaL_Reg own[] = {
      {"close", bounded_call}, {"create", create}, {"wrap", wrap}, {"resume", resume}};
  for (const luaL_Reg& f : own) {
    lua_getfield(L, -1, f.name);
    lua_pushlightuserdata(L, &in);
    lua_pushcclosure(L, f.func, 2);
    lua_setfield(L, -2, f.name);
  }
  lua_pop(L, 1);
}

}  // namespace rille::lua
