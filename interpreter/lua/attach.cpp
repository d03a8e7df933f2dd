#include "interpreter/lua/attach.h"
#include "core/blocks.h"

#include <cstdio>
#include <lua.hpp>
#include <memory>
#include <new>
#include <string_view>

#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/libraries.h"
#include "interpreter/lua/open.h"
#include "interpreter/lua/random_state.h"
#include "interpreter/lua/start.h"

namespace rille::lua {

void remember_interpreter(lua_State* L, Interpreter& in);

namespace {

const char kAnchorKey = 0;  // registry: the userdata that the interpreter lives in
const char kTableKey = 0;   // registry: the table `rille`

static_assert(alignof(Interpreter) <= alignof(lua_Number), "userdata are aligned like numbers");

// ---- the end
// -------------------------------------------------------------------------------------

// Frees everything, in order, and leaves an interpreter that was never opened: finalizers of
// objects that are older than it may still call its functions, which then raise. Lua frees its
// memory without another word.
void release(Interpreter& in) noexcept {
  Context* before = Context::enter(&in.context);
  in.L = nullptr;  // from here on nothing reaches into Lua
  if (in.gate) in.gate->close();
  in.raised.reset();
  in.raised_value.reset();
  in.results.clear();
  in.context.saved_hooks.clear();
  in.owned.release_all();
  memory::forget_blocks(in.context);
  Context::enter(before == &in.context ? nullptr : before);
  std::destroy_at(&in);
  std::construct_at(&in);
}

// The anchor's finalizer. Every box is younger than the anchor, so it was finalized before.
int close_anchor(lua_State* L) {
  auto* in = static_cast<Interpreter*>(lua_touserdata(L, 1));
  if (in && in->L) release(*in);
  return 0;
}

// ---- the beginning
// -------------------------------------------------------------------------------

void check_version(lua_State* L) {
  const auto running = static_cast<int>(lua_version(L));
  if (running != LUA_VERSION_NUM)
    luaL_error(L, "rille: this module is for Lua %s, the program runs Lua %d.%d",
               LUA_VERSION_MAJOR "." LUA_VERSION_MINOR, running / 100, running % 100);
  luaL_checkversion(L);  // sizes of its numbers
  if (lua_getglobal(L, "require") != LUA_TFUNCTION)
    luaL_error(L, "rille: the host has not opened Lua's package library");
  lua_pop(L, 1);
}

// An interpreter inside a userdata that the registry holds. It keeps the one of an attempt that
// failed, for whatever that one's functions may have been given to.
Interpreter& push_anchor(lua_State* L) {
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, close_anchor);
  lua_setfield(L, -2, "__gc");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  auto* in = new (lua_newuserdatauv(L, sizeof(Interpreter), 1)) Interpreter;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kAnchorKey);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, -2);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kAnchorKey);
  lua_remove(L, -2);
  return *in;
}

// rille.prelude(): upvalues are the interpreter and whether it was called.
int install_prelude(lua_State* L) {
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(1)));
  if (!in.L) return luaL_error(L, "rille: the interpreter is closed");
  if (lua_toboolean(L, lua_upvalueindex(2))) return 0;
  replace_libraries(L, in);
  lua_gc(L, LUA_GCGEN, 0, 0);
  in.pace.incremental = false;
  lua_pushboolean(L, 1);
  lua_replace(L, lua_upvalueindex(2));
  return 0;
}

void add_install_prelude(lua_State* L, Interpreter& in) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, -1, "rille.native");
  lua_pushlightuserdata(L, &in);
  lua_pushboolean(L, 0);
  lua_pushcclosure(L, install_prelude, 2);
  lua_setfield(L, -2, "install_prelude");
  lua_pop(L, 2);
}

lua_State* main_thread(lua_State* L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State* main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main;
}

struct Attaching {
  void (*bind)(Interpreter&);
  const Stress* stress;
  char problem[200];  // what C++ threw; empty where it did not
};

// Not noexcept: Lua's own errors must pass, which in the C++ build of Lua are exceptions.
void bind_caught(Interpreter& in, Attaching& a) {
  try {
    in.gate = std::make_shared<Gate>(in);
    watch(in);
    a.bind(in);
  } catch (const std::exception& e) {
    std::snprintf(a.problem, sizeof a.problem, "%s", e.what());
  }
}

// Under pcall. Bindings push onto in.L, so that is the running thread meanwhile.
int attach_body(lua_State* L) {
  auto& a = *static_cast<Attaching*>(lua_touserdata(L, 1));
  lua_settop(L, 0);
  Interpreter& in = push_anchor(L);
  in.L = in.running = L;
  in.stress = *a.stress;
  in.pace.incremental = true;
  if (in.stress.collect) in.pace.quantum = 0;
  remember_interpreter(L, in);
  make_error_metatable(L);
  find_random_state(L);
  add_raise(L, in);
  add_install_prelude(L, in);
  preload_embedded(L);
  bind_caught(in, a);
  if (a.problem[0]) return luaL_error(L, "rille: %s", a.problem);
  lua_settop(L, 0);
  run_prelude(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kTableKey);
  in.L = in.running = main_thread(L);
  return 1;
}

bool is_ours(lua_State* L, int i) {
  if (lua_type(L, i) != LUA_TSTRING) return false;
  const std::string_view name(lua_tostring(L, i));
  return name == "rille" || name.starts_with("rille.");
}

// Takes our modules out of such a table of the registry: a `require` must not find half of them.
void forget_modules(lua_State* L, const char* table) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, table) == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2);) {
      lua_pop(L, 1);
      if (!is_ours(L, -1)) continue;
      lua_pushvalue(L, -1);
      lua_pushnil(L);
      lua_rawset(L, -4);  // a field that is there may be cleared while it is traversed
    }
  lua_pop(L, 1);
}

void give_up(lua_State* L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kAnchorKey) == LUA_TUSERDATA) {
    auto* in = static_cast<Interpreter*>(lua_touserdata(L, -1));
    if (in->L) release(*in);
  }
  lua_pop(L, 1);
  forget_modules(L, LUA_LOADED_TABLE);
  forget_modules(L, LUA_PRELOAD_TABLE);
}

}  // namespace

int attach_state(lua_State* L, void (*bind)(Interpreter&), const Stress& stress) {
  check_version(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kTableKey) == LUA_TTABLE) return 1;
  lua_pop(L, 1);
  Attaching a{bind, &stress, {}};
  lua_pushcfunction(L, attach_body);
  lua_pushlightuserdata(L, &a);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return 1;
  give_up(L);
  return lua_error(L);
}

}  // namespace rille::lua
