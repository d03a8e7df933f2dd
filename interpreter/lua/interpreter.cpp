#include "interpreter/lua/interpreter.h"

#include <lua.hpp>

#include <algorithm>

#include "core/allocator.h"
#include "interpreter/lua/diagnose.h"

namespace rille::lua {
namespace {

const char kInterpreterKey = 0;
const char kModesKey = 0;  // registry: weak table, coroutine -> its flags

constexpr int64_t kFloor = int64_t{256} << 20;  // bytes of tensors below which nobody hurries

constexpr int kCallsPerStep = 400;

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
  in.modes_of = L;
}

void switch_modes(lua_State* L, Interpreter& in) {
  luaL_checkstack(L, 8, "rille");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kModesKey);
  // The one that ran before keeps its flags; a coroutine seen for the first time starts with them.
  if (in.modes_of) {
    lua_pushthread(in.modes_of);
    lua_xmove(in.modes_of, L, 1);
    lua_pushinteger(L, in.context.flags);
    lua_rawset(L, -3);
  }
  lua_pushthread(L);
  if (lua_rawget(L, -2) == LUA_TNUMBER)
    in.context.flags = static_cast<uint32_t>(lua_tointegerx(L, -1, nullptr));
  lua_pop(L, 2);
  in.modes_of = L;
}

void pace_collector(lua_State* L, Interpreter& in) {
  // Small tensors first: a young collection every few hundred calls keeps what they are made of in
  // the cache, which is worth more than the collection costs (W2 of the benchmarks).
  if (++in.calls_since_step >= kCallsPerStep && !in.collecting) {
    in.calls_since_step = 0;
    in.collecting = true;
    lua_gc(L, LUA_GCSTEP, 0);
    in.collecting = false;
  }
  // reliability.md 5.4: steps in proportion to the bytes since the last one, a full collection
  // where the tensors have grown well past what was alive after the previous.
  const int64_t base = in.bytes_after_collect;
  const int64_t threshold = std::max(2 * base, kFloor);
  const int64_t since = in.context.allocated_since_collect;
  const int64_t quantum = (threshold - base) / 64;
  if (since <= quantum || in.collecting) [[likely]]
    return;
  in.collecting = true;
  in.context.allocated_since_collect = 0;
  if (memory::stats().allocated > threshold + threshold / 4) {
    lua_gc(L, LUA_GCCOLLECT);
    in.bytes_after_collect = memory::stats().allocated;
  } else {
    const int64_t heap = lua_gc(L, LUA_GCCOUNT);
    const int64_t step = std::clamp<int64_t>(2 * heap * since / (threshold - base), 1, 1 << 20);
    lua_gc(L, LUA_GCSTEP, static_cast<int>(step));
  }
  in.collecting = false;
}

}  // namespace rille::lua
