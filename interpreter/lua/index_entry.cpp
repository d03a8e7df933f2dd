#include "interpreter/lua/index_entry.h"

#include "interpreter/lua/box.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/read_args.h"

namespace rille::lua {
namespace {

// Upvalues: methods, getters, the interpreter, the metatable of tensors.
enum Upvalue { kMethods = 1, kGetters, kInterpreter, kMetatable };
// Those of __newindex: setters, the interpreter, the native.
enum SetUpvalue { kSetters = 1, kSetInterpreter, kSetNative };

// Errors show the tensor at index 1 and the brackets; a name behind a dot has neither.
Blame blame_of(lua_State* L) {
  static const OpInfo* op = find_op("index");
  static constexpr int places[kMaxFields] = {1};
  if (lua_type(L, 2) == LUA_TSTRING) return {};
  return {op->name, op, places};
}

int look(lua_State* L) {
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(kInterpreter)));
  luaL_checkstack(L, 32, "rille");
  follow_coroutine(L, in);
  const size_t first = in.results.size();
  Box* box = push_tensor_box(L, in, lua_upvalueindex(kMetatable));
  const bool done = guarded(L, in, blame_of(L), [&] {
    Call call(L, in);
    fill(in, box, in.get_index(call));
  });
  if (!done) return raise_prepared(L, in, first);
  pace_collector(L, in);
  return 1;
}

int tensor_index(lua_State* L) {
  if (lua_type(L, 2) != LUA_TSTRING) {
    lua_settop(L, 2);
    return look(L);
  }
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(kMethods)) != LUA_TNIL) return 1;
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(kGetters)) != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
  }
  lua_settop(L, 2);
  return look(L);
}

int tensor_newindex(lua_State* L) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(kSetters)) != LUA_TNIL) {
      lua_pushvalue(L, 1);
      lua_pushvalue(L, 3);
      lua_call(L, 2, 0);
      return 0;
    }
  }
  lua_settop(L, 3);
  const int at = lua_upvalueindex(kSetInterpreter);
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, at));
  const auto set = reinterpret_cast<Native>(lua_touserdata(L, lua_upvalueindex(kSetNative)));
  luaL_checkstack(L, 32, "rille");
  follow_coroutine(L, in);
  pace_collector(L, in);
  const size_t first = in.results.size();
  const bool done = guarded(L, in, blame_of(L), [&] {
    Call call(L, in);
    set(call);
  });
  return done ? 0 : raise_prepared(L, in, first);
}

}  // namespace

void push_tensor_newindex(lua_State* L, Interpreter& in, Native set) {
  lua_pushlightuserdata(L, &in);
  lua_pushlightuserdata(L, reinterpret_cast<void*>(set));
  lua_pushcclosure(L, tensor_newindex, 3);
}

void push_tensor_index(lua_State* L, Interpreter& in, GetIndex get) {
  in.get_index = get;
  lua_pushlightuserdata(L, &in);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &in.tensor_metatable);
  lua_pushcclosure(L, tensor_index, 4);
}

}  // namespace rille::lua
