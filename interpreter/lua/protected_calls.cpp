#include "interpreter/lua/protected_calls.h"

#include <lua.hpp>

#include "interpreter/lua/interrupt.h"
#include "interpreter/lua/limits.h"

namespace rille::lua {
namespace {

const char kStackKey = 0;  // registry: the stack of the error that a handler sees

// The end of a protected call whose results, or error, lie above `true` at `below`.
int finish(lua_State* L, int status, int below) {
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - below + 1;
  Interpreter& in = interpreter_of(L);
  pass_interrupt_on(L, in);
  name_the_limit(L, in, status);
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

int finish_pcall(lua_State* L, int status, lua_KContext) { return finish(L, status, 1); }

int protected_call(lua_State* L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  return finish(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall), 1);
}

// Runs where the error is raised. It calls nothing of the script's, so it comes to an end.
int note_stack(lua_State* L) {
  lua_settop(L, 1);
  if (too_deep_to_show(L)) return 1;
  luaL_traceback(L, L, nullptr, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kStackKey);
  return 1;
}

void forget_stack(lua_State* L) {
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kStackKey);
}

// What the handler made of the error is on top, or the handler's own error.
int after_handler(lua_State* L, int status, lua_KContext) {
  forget_stack(L);
  if (status != LUA_OK && status != LUA_YIELD) name_the_limit(L, interpreter_of(L), status);
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

enum Place { kNote = 1, kHandler, kTrue };

int after_call(lua_State* L, int status, lua_KContext) {
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - kTrue + 1;
  name_the_limit(L, interpreter_of(L), status);
  lua_pushvalue(L, kHandler);
  lua_insert(L, -2);
  return after_handler(L, lua_pcallk(L, 1, 1, 0, 0, after_handler), 0);
}

// xpcall(f, handler, ...)
int protected_call_with_handler(lua_State* L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  const int arguments = lua_gettop(L) - 2;
  lua_pushcfunction(L, note_stack);
  lua_pushvalue(L, 2);
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 1);
  lua_rotate(L, 1, 4);          // note, handler, true, f, f, handler, ...
  lua_rotate(L, 5, arguments);  // ..., the given f and handler last
  lua_settop(L, -3);
  return after_call(L, lua_pcallk(L, arguments, LUA_MULTRET, kNote, 0, after_call), 0);
}

int finish_xpcall(lua_State* L, int status, lua_KContext) {
  if (status != LUA_OK && status != LUA_YIELD) pass_interrupt_on(L, interpreter_of(L), true);
  return finish(L, status, 3);
}

// As in Lua's own library: the handler runs where the error is raised.
int protected_call_with_stock_handler(lua_State* L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  const int arguments = lua_gettop(L) - 2;
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 2);
  return finish_xpcall(L, lua_pcallk(L, arguments, LUA_MULTRET, 2, 0, finish_xpcall), 0);
}

// debug.traceback(message): in a handler, of where the error was raised; the stack there is gone.
// Upvalue: the stock one.
int traceback(lua_State* L) {
  const int kind = lua_type(L, 1), top = lua_gettop(L);
  if ((kind == LUA_TSTRING || kind == LUA_TNUMBER) &&
      lua_rawgetp(L, LUA_REGISTRYINDEX, &kStackKey) == LUA_TSTRING) {
    lua_pushfstring(L, "%s\n%s", lua_tostring(L, 1), lua_tostring(L, -1));
    return 1;
  }
  lua_settop(L, top);
  return lua_tocfunction(L, lua_upvalueindex(1))(L);  // no call of its own, which it would show
}

}  // namespace

void replace_protected_calls(lua_State* L) {
  lua_pushcfunction(L, protected_call);
  lua_setglobal(L, "pcall");
  lua_pushcfunction(L, protected_call_with_handler);
  lua_setglobal(L, "xpcall");
  lua_getglobal(L, LUA_DBLIBNAME);
  lua_getfield(L, -1, "traceback");
  lua_pushcclosure(L, traceback, 1);
  lua_setfield(L, -2, "traceback");
  lua_pop(L, 1);
}

void pass_interrupts_on(lua_State* L) {
  lua_pushcfunction(L, protected_call);
  lua_setglobal(L, "pcall");
  lua_pushcfunction(L, protected_call_with_stock_handler);
  lua_setglobal(L, "xpcall");
}

}  // namespace rille::lua
