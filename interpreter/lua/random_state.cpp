#include "interpreter/lua/random_state.h"

#include <cstring>
#include <lua.hpp>

#include "core/fail.h"

namespace rille::lua {
namespace {

const char kKey = 0;  // its address is the registry's key

void* find_state(Interpreter& in) {
  lua_State* L = in.running ? in.running : in.L;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kKey);
  void* state = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return state;
}

void* state_in(Interpreter& in) {
  void* state = find_state(in);
  if (!state) throw internal_error("the state of math.random is not where Lua 5.4 has it");
  return state;
}

}  // namespace

// xoshiro256**'s four words are the first upvalue of math.random, a userdata (lmathlib.c,
// setrandfunc). It is held in the registry, for a script may put another function in its place.
void find_random_state(lua_State* L) {
  if (lua_getglobal(L, LUA_MATHLIBNAME) != LUA_TTABLE) return lua_pop(L, 1);
  lua_getfield(L, -1, "random");
  if (lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1)) {
    if (lua_isuserdata(L, -1) && lua_rawlen(L, -1) == sizeof(RandomState))
      lua_rawsetp(L, LUA_REGISTRYINDEX, &kKey);
    else
      lua_pop(L, 1);
  }
  lua_pop(L, 2);
}

bool has_random_state(Interpreter& in) { return find_state(in) != nullptr; }

RandomState random_state(Interpreter& in) {
  RandomState state;
  std::memcpy(state.data(), state_in(in), sizeof state);
  return state;
}

void set_random_state(Interpreter& in, const RandomState& state) {
  std::memcpy(state_in(in), state.data(), sizeof state);
}

}  // namespace rille::lua
