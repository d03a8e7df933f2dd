#include "interpreter/lua/libraries.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <lua.hpp>

#include "interpreter/lua/bounded_libraries.h"
#include "interpreter/lua/coroutines.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/output.h"
#include "interpreter/lua/printable.h"
#include "interpreter/lua/protected_calls.h"
#include "interpreter/lua/random_state.h"
#include "interpreter/lua/sandbox.h"
#include "stdlib/embedded.h"

namespace rille::lua {
namespace {

// ---- chunks: text only. Bytecode is not verified by anyone, so a damaged one is a crash.
// -----------------------------------------------------------------------------------------

// load(chunk, name, mode, env) and loadfile(file, mode, env), with mode "t" whatever was asked.
// Upvalues: the stock function, the position of the mode.
int load_text(lua_State* L) {
  const int mode = static_cast<int>(lua_tointeger(L, lua_upvalueindex(2)));
  if (lua_gettop(L) < mode) lua_settop(L, mode);
  lua_pushliteral(L, "t");
  lua_replace(L, mode);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

int after_dofile(lua_State* L, int, lua_KContext) { return lua_gettop(L) - 1; }

int do_text_file(lua_State* L) {
  const char* path = luaL_optstring(L, 1, nullptr);
  lua_settop(L, 1);
  if (luaL_loadfilex(L, path, "t") != LUA_OK) return lua_error(L);
  lua_callk(L, 0, LUA_MULTRET, 0, after_dofile);
  return after_dofile(L, LUA_OK, 0);
}

// ---- require
// -----------------------------------------------------------------------------------

// Modules of the standard library, by their embedded text.
int find_embedded(lua_State* L) {
  const char* name = luaL_checkstring(L, 1);
  for (const stdlib::Module& m : stdlib::modules()) {
    if (m.name != name) continue;
    const std::string_view source = m.source;
    lua_pushfstring(L, "@rille:%s", name);
    if (luaL_loadbufferx(L, source.data(), source.size(), lua_tostring(L, -1), "t") != LUA_OK)
      return lua_error(L);
    use_library_globals(L);
    return 1;
  }
  lua_pushfstring(L, "no module '%s' in the standard library", name);
  return 1;
}

// The same as a loader of package.preload: gives what the module returns.
int load_embedded(lua_State* L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  find_embedded(L);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

// Files along package.path. Upvalue: the table `package`.
int find_file(lua_State* L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_getfield(L, lua_upvalueindex(1), "searchpath");
  lua_pushvalue(L, 1);
  if (lua_getfield(L, lua_upvalueindex(1), "path") != LUA_TSTRING)
    return luaL_error(L, "'package.path' must be a string");
  lua_call(L, 2, 2);
  if (lua_isnil(L, -2)) return 1;  // what was tried
  lua_pop(L, 1);
  if (luaL_loadfilex(L, lua_tostring(L, -1), "t") != LUA_OK)
    return luaL_error(L, "can't load module '%s':\n\t%s", lua_tostring(L, 1), lua_tostring(L, -1));
  lua_insert(L, -2);
  return 2;
}

void replace_searchers(lua_State* L) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "searchers");
  for (lua_Integer i = static_cast<lua_Integer>(lua_rawlen(L, -1)); i > 1; --i) {
    lua_pushnil(L);
    lua_rawseti(L, -2, i);
  }
  lua_pushcfunction(L, find_embedded);
  lua_rawseti(L, -2, 2);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, find_file, 1);
  lua_rawseti(L, -2, 3);
  lua_pop(L, 1);
  for (const char* gone : {"loadlib", "cpath"}) {
    lua_pushnil(L);
    lua_setfield(L, -2, gone);
  }
  lua_pop(L, 1);
}

// ---- tables
// ---------------------------------------------------------------------

// A weak table whose metatable is replaced in the middle of a collection is read after it was freed
// (stock Lua up to 5.4.8), so a weak table keeps the one it has.
int set_metatable(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_type(L, 2) != LUA_TNIL) luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  if (lua_getmetatable(L, 1)) {
    lua_pushliteral(L, "__metatable");
    if (lua_rawget(L, 3) != LUA_TNIL) return luaL_error(L, "this metatable is protected");
    lua_pushliteral(L, "__mode");
    if (lua_rawget(L, 3) != LUA_TNIL && !lua_rawequal(L, 2, 3))
      return luaL_error(L, "a weak table keeps its metatable");
  }
  lua_settop(L, 2);
  lua_setmetatable(L, 1);
  return 1;
}

const char kScriptsKey = 0;  // registry: metatables that scripts set, as weak keys

void push_scripts_metatables(lua_State* L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kScriptsKey) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kScriptsKey);
}

// ---- the program around the script
// -------------------------------------------------------------

int write_failed(lua_State* L, std::FILE* out) {
  const int reason = errno;
  std::clearerr(out);
  return luaL_error(L, "print: can't write to the standard output: %s", std::strerror(reason));
}

int print(lua_State* L) {
  const Interpreter& in = interpreter_of(L);
  std::FILE* out = in.out;
  const int n = lua_gettop(L);
  for (int i = 1; i <= n; ++i) {
    size_t size = 0;
    const char* text = luaL_tolstring(L, i, &size);
    errno = 0;
    const bool put = (i == 1 || std::fputc('\t', out) != EOF) &&
                     (in.policy.interactive ? write_printable(out, text, size)
                                            : std::fwrite(text, 1, size, out) == size);
    if (!put) return write_failed(L, out);
    lua_pop(L, 1);
  }
  errno = 0;
  return std::fputc('\n', out) == EOF ? write_failed(L, out) : 0;
}

// os.exit([status]): an error that nothing but a pcall stops, so that what is open gets closed.
int exit_in_order(lua_State* L) {
  const bool is_status = lua_type(L, 1) == LUA_TNUMBER;
  const bool good = lua_isnoneornil(L, 1) || lua_toboolean(L, 1);
  const lua_Integer status = is_status ? luaL_checkinteger(L, 1) : !good;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_createtable(L, 0, 4);
  lua_pushliteral(L, "exit");
  lua_setfield(L, -2, "kind");
  lua_pushliteral(L, "E_EXIT");
  lua_setfield(L, -2, "code");
  lua_pushfstring(L, "exit with status %I", static_cast<LUAI_UACINT>(status & 255));
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, status & 255);
  lua_setfield(L, -2, "status");
  lua_call(L, 1, 0);
  return 0;
}

// ---- all of it
// -----------------------------------------------------------------------------------

void open_stock(lua_State* L) {
  // One by one: what scripts must not have is never opened.
  constexpr luaL_Reg libraries[] = {
      {LUA_GNAME, luaopen_base},          {LUA_LOADLIBNAME, luaopen_package},
      {LUA_COLIBNAME, luaopen_coroutine}, {LUA_TABLIBNAME, luaopen_table},
      {LUA_IOLIBNAME, luaopen_io},        {LUA_OSLIBNAME, luaopen_os},
      {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
      {LUA_UTF8LIBNAME, luaopen_utf8},    {LUA_DBLIBNAME, luaopen_debug}};
  lua_pushboolean(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");  // no search path from the environment
  for (const luaL_Reg& library : libraries) {
    luaL_requiref(L, library.name, library.func, 1);
    lua_pop(L, 1);
  }
}

// The table of a library keeps only these fields.
void keep_only(lua_State* L, const char* library, std::initializer_list<const char*> names) {
  lua_getglobal(L, library);
  lua_createtable(L, 0, static_cast<int>(names.size()));
  for (const char* name : names) {
    lua_getfield(L, -2, name);
    lua_setfield(L, -2, name);
  }
  lua_pushvalue(L, -1);
  lua_setglobal(L, library);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_insert(L, -2);
  lua_setfield(L, -2, library);
  lua_pop(L, 2);
}

// Puts a closure over the stock function of that name, and one more upvalue (on top), in its place.
void wrap_field(lua_State* L, int table, const char* name, lua_CFunction wrapper) {
  lua_getfield(L, table, name);
  lua_insert(L, -2);
  lua_pushcclosure(L, wrapper, 2);
  lua_setfield(L, table, name);
}

void replace_globals(lua_State* L) {
  lua_pushglobaltable(L);
  const int globals = lua_gettop(L);
  lua_pushinteger(L, 3);
  wrap_field(L, globals, "load", load_text);
  lua_pushinteger(L, 2);
  wrap_field(L, globals, "loadfile", load_text);
  constexpr luaL_Reg own[] = {
      {"dofile", do_text_file}, {"setmetatable", set_metatable}, {nullptr, nullptr}};
  luaL_setfuncs(L, own, 0);
  lua_pop(L, 1);
}

// What belongs to the program that runs scripts.
void replace_program(lua_State* L, Interpreter& in) {
  lua_pushcfunction(L, print);
  lua_setglobal(L, "print");
  lua_getglobal(L, LUA_OSLIBNAME);
  lua_pushlightuserdata(L, &in);
  lua_pushcclosure(L, raise_from_table, 1);
  lua_pushcclosure(L, exit_in_order, 1);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
}

// Whether the library is there, pushed: a host may have left it out.
bool push_library(lua_State* L, const char* name) {
  if (lua_getglobal(L, name) == LUA_TTABLE) return true;
  lua_pop(L, 1);
  return false;
}

void replace_fields(lua_State* L) {
  if (push_library(L, LUA_OSLIBNAME)) {
    lua_pushnil(L);
    lua_setfield(L, -2, "setlocale");  // numbers are written with a point
    lua_pop(L, 1);
  }
  if (push_library(L, LUA_MATHLIBNAME)) {
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, 0);
    lua_call(L, 1, 0);  // the same numbers from run to run
    lua_pop(L, 1);
  }
}

}  // namespace

void open_libraries(Interpreter& in) {
  lua_State* L = in.L;
  open_stock(L);
  replace_libraries(L, in);
  replace_program(L, in);
  find_random_state(L);
  redirect_io(in);
  if (in.policy.limited() || in.policy.interruptible || in.policy.interactive) {
    bound_strings(L);
    bound_tables(L);
  }
  if (in.policy.limited()) {
    bound_load(L);
    bound_collector(L);
  }
  if (in.policy.interactive) pass_interrupts_on(L);
  if (in.budget) replace_protected_calls(L);
  if (in.policy.sandbox) strip_libraries(L);
}

void preload_embedded(lua_State* L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (const stdlib::Module& m : stdlib::modules()) {
    lua_pushlstring(L, m.name.data(), m.name.size());
    lua_pushcfunction(L, load_embedded);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
}

void replace_libraries(lua_State* L, Interpreter& in) {
  const int top = lua_gettop(L);
  if (push_library(L, LUA_DBLIBNAME)) keep_only(L, LUA_DBLIBNAME, {"traceback", "getinfo"});
  replace_searchers(L);
  replace_globals(L);
  replace_fields(L);
  if (push_library(L, LUA_COLIBNAME)) replace_coroutines(L, in);
  lua_settop(L, top);
}

bool is_embedded(std::string_view name) {
  const auto all = stdlib::modules();
  return std::any_of(all.begin(), all.end(), [&](const auto& m) { return m.name == name; });
}

int set_scripts_metatable(lua_State* L) {
  lua_settop(L, 2);
  if (lua_type(L, 2) != LUA_TTABLE) return set_metatable(L);
  lua_pushliteral(L, "__gc");
  if (lua_rawget(L, 2) != LUA_TNIL)
    return luaL_error(L, "no '__gc' here: a finalizer can't be stopped");
  push_scripts_metatables(L);
  lua_pushvalue(L, 2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_settop(L, 2);
  return set_metatable(L);
}

bool is_scripts_metatable(lua_State* L, int i) {
  const int at = lua_absindex(L, i);
  push_scripts_metatables(L);
  lua_pushvalue(L, at);
  const bool yes = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return yes;
}

void search_beside(lua_State* L, const std::string& script) {
  const size_t slash = script.rfind('/');
  if (slash == script.npos) return;  // the current folder is on the path
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_pushlstring(L, script.data(), slash);
  if (lua_getfield(L, -2, "path") == LUA_TSTRING) {
    const char* folder = lua_tostring(L, -2);
    lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", folder, folder, lua_tostring(L, -1));
    lua_setfield(L, -4, "path");
  }
  lua_pop(L, 3);
}

}  // namespace rille::lua
