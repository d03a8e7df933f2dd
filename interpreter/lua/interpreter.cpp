#include "interpreter/lua/interpreter.h"

#include <lua.hpp>

#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/interrupt.h"
#include "ops/call.h"

namespace rille::lua {
namespace {

const char kInterpreterKey = 0;
const char kModesKey = 0;   // registry: weak table, coroutine -> its flags
const char kThreadKey = 0;  // registry: the coroutine that modes_of is, which keeps it alive

}  // namespace

Interpreter& interpreter_of(lua_State* L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kInterpreterKey);
  auto* in = static_cast<Interpreter*>(lua_touserdata(L, -1));
  lua_pop(L, 1);
  return *in;
}

void remember_interpreter(lua_State* L, Interpreter& in) {
  lua_pushlightuserdata(L, &in);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kInterpreterKey);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kModesKey);
  lua_pushthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kThreadKey);
  in.modes_of = L;
}

namespace {

/// A coroutine's flags, with those of the whole interpreter as they are now.
uint32_t with_shared(uint32_t own, uint32_t now) {
  constexpr uint32_t shared = kDeterministic | kNarrowProducts;
  return (own & ~shared) | (now & shared);
}

}  // namespace

void switch_modes(lua_State* L, Interpreter& in) {
  if (!in.L) luaL_error(L, "rille: the interpreter is closed");
  luaL_checkstack(L, 8, "rille");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kModesKey);
  // The one that ran before keeps its flags; a coroutine seen for the first time starts with them.
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kThreadKey);
  lua_pushinteger(L, in.context.flags);
  lua_rawset(L, -3);
  lua_pushthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kThreadKey);
  in.modes_of = L;
  lua_pushthread(L);
  if (lua_rawget(L, -2) == LUA_TNUMBER)
    in.context.flags =
        with_shared(static_cast<uint32_t>(lua_tointegerx(L, -1, nullptr)), in.context.flags);
  lua_pop(L, 2);
}

namespace {

int switch_body(lua_State* L) {
  const auto flags = static_cast<const uint32_t*>(lua_touserdata(L, 1));
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kModesKey);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kThreadKey);
  lua_pushinteger(L, *flags);
  lua_rawset(L, -3);
  lua_pushthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kThreadKey);
  return 0;
}

}  // namespace

KeptModes::~KeptModes() {
  lua_State* L = in_.running;
  if (in_.modes_of == L || !lua_checkstack(L, 4)) return;
  lua_pushcfunction(L, switch_body);
  lua_pushlightuserdata(L, &in_.context.flags);
  if (const int status = lua_pcall(L, 1, 0, 0); status != LUA_OK) {
    lua_settop(L, -2);
    if (status == LUA_ERRRUN) stop_later(L);
    return;
  }
  in_.modes_of = L;
  in_.context.flags = with_shared(flags_, in_.context.flags);
}

}  // namespace rille::lua
