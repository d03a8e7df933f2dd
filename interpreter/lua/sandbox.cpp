#include "interpreter/lua/sandbox.h"

#include <cstdio>
#include <cstring>
#include <lua.hpp>

#include "core/fail.h"
#include "interpreter/lua/bounded_libraries.h"
#include "interpreter/lua/conversions.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/host_function.h"
#include "interpreter/lua/libraries.h"
#include "interpreter/lua/printable.h"
#include "interpreter/lua/read_only.h"

namespace rille::lua {
namespace {

const char kLibraryGlobalsKey = 0;  // registry: the globals of the standard library
const char kAllowedKey = 0;         // registry: what the sandbox's globals are at first
const char kRenewKey = 0;           // registry: rille.run_state's renew

// ---- refusing
// -----------------------------------------------------------------------------------

template <class Throw>
int raise_refusal(lua_State* L, const char* name, Throw thrown) {
  luaL_checkstack(L, 16, "rille");
  Interpreter& in = interpreter_of(L);
  const size_t first = in.results.size();
  guarded(L, in, Blame{name}, thrown);
  return raise_prepared(L, in, first);
}

// `what` is a string that the stack holds.
int refuse_as(lua_State* L, const char* name, const char* what = nullptr) {
  return raise_refusal(L, name, [what] {
    throw what ? fail(Kind::state, "E_SANDBOX", "the sandbox does not grant '{}'", what)
               : fail(Kind::state, "E_SANDBOX", "the sandbox does not grant this");
  });
}

int refuse(lua_State* L) {
  return refuse_as(L, static_cast<const char*>(lua_touserdata(L, lua_upvalueindex(1))));
}

// Fields that reach outside become refusals; a list ends with null.
void refuse_fields(lua_State* L, const char* library, const char* const* names) {
  lua_getglobal(L, library);
  for (; *names; ++names) {
    push_refusal(L, *names);
    lua_setfield(L, -2, std::strchr(*names, '.') + 1);
  }
  lua_pop(L, 1);
}

// ---- text without addresses
// ------------------------------------------------------------------------------

int to_string(lua_State* L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  push_shown(L, 1);
  return 1;
}

// string.format. Upvalue: the one it was.
int format(lua_State* L) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  for (Conversions all({text, size}); all.more(); all.next())
    if (all.kind() == 'p') return refuse_as(L, "format", "%p");
  for (int i = 2; i <= lua_gettop(L); ++i) {
    const int kind = lua_type(L, i);
    if (kind != LUA_TTABLE && kind != LUA_TFUNCTION && kind != LUA_TTHREAD && kind != LUA_TUSERDATA)
      continue;
    push_shown(L, i);
    lua_replace(L, i);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

// ---- globals of the sandbox
// ------------------------------------------------------------------------------

constexpr size_t kLongestLine = size_t{1} << 20;  // bytes of one value that print shows

int print(lua_State* L) {
  std::FILE* out = interpreter_of(L).out;
  const int n = lua_gettop(L);
  for (int i = 1; i <= n; ++i) {
    size_t size = 0;
    const char* text = push_shown(L, i, &size);
    if (i > 1) std::fputc('\t', out);
    size = size < kLongestLine ? size : kLongestLine;
    write_printable(out, text, size);
    lua_pop(L, 1);
  }
  std::fputc('\n', out);
  return 0;
}

// Only metatables that scripts made: those of the standard library are no business of theirs.
int get_metatable(lua_State* L) {
  luaL_checkany(L, 1);
  if (!lua_getmetatable(L, 1)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushliteral(L, "__metatable");
  if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  if (!is_scripts_metatable(L, -1)) lua_pushboolean(L, 0);
  return 1;
}

int raw_set(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  luaL_checkany(L, 3);
  lua_settop(L, 3);
  if (is_read_only(L, 1)) return refuse_as(L, "rawset");
  lua_rawset(L, 1);
  return 1;
}

int collect_garbage(lua_State* L) {
  const char* what = luaL_optstring(L, 1, "collect");
  if (std::strcmp(what, "count") == 0) {
    lua_pushnumber(L, lua_gc(L, LUA_GCCOUNT) + lua_gc(L, LUA_GCCOUNTB) / 1024.0);
    return 1;
  }
  if (std::strcmp(what, "collect") == 0) {
    collect_for_script(L);
    lua_pushinteger(L, 0);
    return 1;
  }
  if (std::strcmp(what, "step") != 0) return refuse_as(L, "collectgarbage", what);
  lua_pushboolean(L, step_for_script(L));
  return 1;
}

// 1: a table, 2: a name. Under pcall: what isn't there may be an error.
int get_field(lua_State* L) {
  lua_gettable(L, 1);
  return 1;
}

// require of what is public: "rille.optim.lr" gives what rille.optim.lr is, where that is a table
// or a function. It searches no other list, file or module.
// Upvalue: the table `rille`, read-only.
int require(lua_State* L) {
  size_t size = 0;
  const char* text = luaL_checklstring(L, 1, &size);
  std::string_view rest(text, size);
  lua_settop(L, 1);
  if (rest != "rille" && !rest.starts_with("rille.")) return refuse_as(L, "require", text);
  lua_pushvalue(L, lua_upvalueindex(1));
  for (rest.remove_prefix(5); !rest.empty();) {
    const std::string_view part = rest.substr(1, rest.find('.', 1) - 1);
    rest.remove_prefix(part.size() + 1);
    if (lua_type(L, 2) != LUA_TTABLE) return refuse_as(L, "require", text);
    lua_pushcfunction(L, get_field);
    lua_insert(L, 2);
    lua_pushlstring(L, part.data(), part.size());
    const int status = lua_pcall(L, 2, 1, 0);
    if (status == LUA_ERRMEM) return lua_error(L);
    if (status != LUA_OK) return refuse_as(L, "require", text);
  }
  const int kind = lua_type(L, 2);
  if (kind != LUA_TTABLE && kind != LUA_TFUNCTION) return refuse_as(L, "require", text);
  return 1;
}

// A look at `library`, of which the sandbox has all fields or those named.
void allow_library(lua_State* L, int allowed, const char* library, const char* const* names) {
  lua_getglobal(L, library);
  if (names) {
    lua_newtable(L);
    for (; *names; ++names) {
      lua_getfield(L, -2, *names);
      lua_setfield(L, -2, *names);
    }
    lua_remove(L, -2);
  }
  make_read_only(L);
  lua_setfield(L, allowed, library);
}

void allow_libraries(lua_State* L, int allowed) {
  for (const char* whole :
       {LUA_COLIBNAME, LUA_TABLIBNAME, LUA_STRLIBNAME, LUA_MATHLIBNAME, LUA_UTF8LIBNAME})
    allow_library(L, allowed, whole, nullptr);
  constexpr const char* times[] = {"time", "clock", "date", "difftime", nullptr};
  constexpr const char* traces[] = {"traceback", nullptr};
  allow_library(L, allowed, LUA_OSLIBNAME, times);
  allow_library(L, allowed, LUA_DBLIBNAME, traces);
}

// Pushes the table of all that the sandbox allows.
void push_allowed(lua_State* L) {
  constexpr const char* kept[] = {"assert", "error",    "ipairs",   "load",   "next",
                                  "pairs",  "pcall",    "rawequal", "rawget", "rawlen",
                                  "select", "tonumber", "type",     "xpcall", "_VERSION"};
  constexpr luaL_Reg own[] = {{"print", print},
                              {"tostring", to_string},
                              {"getmetatable", get_metatable},
                              {"setmetatable", set_scripts_metatable},
                              {"rawset", raw_set},
                              {"collectgarbage", collect_garbage},
                              {nullptr, nullptr}};
  lua_newtable(L);
  const int allowed = lua_gettop(L);
  for (const char* name : kept) {
    lua_getglobal(L, name);
    lua_setfield(L, allowed, name);
  }
  luaL_setfuncs(L, own, 0);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "rille");
  lua_remove(L, -2);
  make_read_only(L);
  lua_pushcclosure(L, require, 1);
  lua_setfield(L, allowed, "require");
  allow_libraries(L, allowed);
}

// The fields of the table at `from` into the one at `to`.
void copy_fields(lua_State* L, int from, int to) {
  for (lua_pushnil(L); lua_next(L, from); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, to);
  }
}

// The function that puts back what the library keeps for the time of a run, kept by the registry.
void find_renewal(lua_State* L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "rille.run_state");
  lua_getfield(L, -1, "renew");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kRenewKey);
  lua_pop(L, 2);
}

// Every string has this metatable.
void protect_strings(lua_State* L) {
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 2);
}

}  // namespace

const char* push_shown(lua_State* L, int i, size_t* size) {
  switch (lua_type(L, i)) {
    case LUA_TTABLE:
    case LUA_TFUNCTION:
    case LUA_TTHREAD:
    case LUA_TLIGHTUSERDATA:
    case LUA_TUSERDATA: break;
    default: return luaL_tolstring(L, i, size);
  }
  if (luaL_getmetafield(L, i, "__tostring") != LUA_TNIL) {
    lua_pop(L, 1);
    return luaL_tolstring(L, i, size);
  }
  if (luaL_getmetafield(L, i, "__name") != LUA_TSTRING) lua_pushstring(L, luaL_typename(L, i));
  return lua_tolstring(L, -1, size);
}

void push_refusal(lua_State* L, const char* name) {
  lua_pushlightuserdata(L, const_cast<char*>(name));
  lua_pushcclosure(L, refuse, 1);
}

void refuse_recipe(lua_State* L) {
  raise_refusal(L, "recipe", [] {
    throw fail(Kind::state, "E_SANDBOX",
               "the sandbox does not grant a recipe's run, which writes a folder");
  });
}

void strip_libraries(lua_State* L) {
  constexpr const char* io[] = {"io.open",  "io.popen", "io.lines",   "io.input", "io.output",
                                "io.close", "io.read",  "io.tmpfile", nullptr};
  constexpr const char* os[] = {"os.execute", "os.exit",    "os.getenv", "os.remove",
                                "os.rename",  "os.tmpname", nullptr};
  refuse_fields(L, LUA_IOLIBNAME, io);
  refuse_fields(L, LUA_OSLIBNAME, os);
  for (const char* gone : {"dofile", "loadfile"}) {
    lua_pushnil(L);
    lua_setglobal(L, gone);
  }
  lua_getglobal(L, LUA_STRLIBNAME);
  lua_getfield(L, -1, "format");
  lua_pushcclosure(L, format, 1);
  lua_setfield(L, -2, "format");
  lua_pushnil(L);
  lua_setfield(L, -2, "dump");  // nothing could load it
  lua_pop(L, 1);
  lua_pushcfunction(L, to_string);
  lua_setglobal(L, "tostring");
  protect_strings(L);
}

void separate_globals(Interpreter& in) {
  lua_State* L = in.L;
  lua_settop(L, 0);
  lua_pushglobaltable(L);
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kLibraryGlobalsKey);
  lua_newtable(L);
  if (in.policy.sandbox) {
    find_renewal(L);
    push_allowed(L);
  } else {
    lua_newtable(L);
    copy_fields(L, 1, 3);
    lua_pushcfunction(L, set_scripts_metatable);
    lua_setfield(L, 3, "setmetatable");
  }
  lua_pushvalue(L, 2);
  lua_setfield(L, 3, LUA_GNAME);
  copy_fields(L, 3, 2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kAllowedKey);
  lua_pushvalue(L, 2);
  lua_setfield(L, 1, LUA_GNAME);  // what the standard library knows as scripts' globals
  lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  lua_settop(L, 0);
}

void renew_globals(Interpreter& in) {
  if (!in.policy.sandbox) return;
  lua_State* L = in.L;
  lua_pushglobaltable(L);
  const int globals = lua_gettop(L);
  lua_pushnil(L);
  lua_setmetatable(L, globals);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kAllowedKey);
  copy_fields(L, globals + 1, globals);
  if (in.runs <= 1) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kRenewKey);
    lua_call(L, 0, 0);
    bind_again(L);
  }
  lua_settop(L, globals - 1);
}

void use_library_globals(lua_State* L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kLibraryGlobalsKey) == LUA_TNIL)
    lua_pop(L, 1);  // they are everybody's
  else
    lua_setupvalue(L, -2, 1);
}

}  // namespace rille::lua
