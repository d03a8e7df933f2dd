#include "interpreter/lua/script_error.h"

#include <algorithm>
#include <cstring>
#include <lua.hpp>
#include <string_view>

#include "interpreter/lua/call.h"
#include "interpreter/lua/kept_state.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/printable.h"
#include "interpreter/lua/sandbox.h"

namespace rille::lua {
namespace {

constexpr size_t kLongest = 16 << 10;  // of a text: error(("x"):rep(2^30)) is no reason to copy it

std::string short_text(lua_State* L, int i) {
  size_t n = 0;
  const char* s = lua_tolstring(L, i, &n);
  std::string text(s, std::min(n, kLongest));
  if (n > kLongest) text += "...";
  return text;
}

// Fields of the table on top. Nothing here raises.
void read_fields(lua_State* L, ScriptError& e) {
  const std::pair<const char*, std::string ScriptError::*> texts[] = {
      {"kind", &ScriptError::kind},  {"code", &ScriptError::code},
      {"op", &ScriptError::op},      {"message", &ScriptError::message},
      {"hint", &ScriptError::hint},  {"text", &ScriptError::text},
      {"where", &ScriptError::where}};
  for (lua_pushnil(L); lua_next(L, -2); lua_settop(L, -2)) {
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    const std::string_view key = lua_tolstring(L, -2, nullptr);
    if (key == "status" && lua_isinteger(L, -1))
      e.status = static_cast<int>(lua_tointegerx(L, -1, nullptr));
    if (lua_type(L, -1) == LUA_TSTRING)
      for (const auto& [name, field] : texts)
        if (key == name) e.*field = short_text(L, -1);
    if (key != "facts" || lua_type(L, -1) != LUA_TTABLE) continue;
    const lua_Unsigned n = std::min<lua_Unsigned>(lua_rawlen(L, -1), 64);
    for (lua_Unsigned i = 1; i <= n; ++i) {
      lua_rawgeti(L, -1, static_cast<lua_Integer>(i));
      if (lua_type(L, -1) == LUA_TSTRING) e.facts.push_back(short_text(L, -1));
      lua_settop(L, -2);
    }
  }
}

int to_text(lua_State* L) {
  if (interpreter_of(L).policy.sandbox)
    push_shown(L, 1);
  else
    luaL_tolstring(L, 1, nullptr);
  return 1;
}

// The error, or where memory ran out the limit that was met.
int named_body(lua_State* L) {
  const auto status = static_cast<int>(lua_tointegerx(L, 2, nullptr));
  lua_settop(L, 1);
  name_the_limit(L, interpreter_of(L), status);
  return 1;
}

// In its place on top of the stack.
void name_limit(lua_State* L, int status) {
  lua_pushcfunction(L, named_body);
  lua_pushvalue(L, -2);
  lua_pushinteger(L, status);
  if (lua_pcall(L, 2, 1, 0) == LUA_OK)
    lua_replace(L, -2);
  else
    lua_settop(L, -2);
}

std::string shown(lua_State* L) {
  lua_pushcfunction(L, to_text);
  lua_pushvalue(L, -2);
  const bool told = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING;
  std::string text = told ? short_text(L, -1) : "an error whose text could not be had";
  lua_settop(L, -2);
  return text;
}

// "fit.lua:3: what" -> "fit.lua:3", "what": Lua itself and error() put the place before the text.
void split_place(ScriptError& e) {
  for (size_t colon = e.message.find(':'); colon != e.message.npos;
       colon = e.message.find(':', colon + 1)) {
    const size_t end = e.message.find_first_not_of("0123456789", colon + 1);
    if (end == e.message.npos || end == colon + 1 || e.message.compare(end, 2, ": ") != 0) continue;
    if (e.message.find('\n') < end) return;
    e.where = e.message.substr(0, end);
    e.message.erase(0, end + 2);
    return;
  }
}

// A stranger's words, fit for a terminal.
void make_printable(ScriptError& e) {
  constexpr size_t kMost = 4096;
  for (std::string* text : {&e.code, &e.op, &e.message, &e.hint, &e.where, &e.text, &e.traceback})
    *text = printable(*text, kMost);
  for (std::string& fact : e.facts) fact = printable(fact, kMost);
}

}  // namespace

int keep_traceback(lua_State* L) {
  lua_settop(L, 1);
  luaL_traceback(L, L, nullptr, 1);
  const char* text = lua_tolstring(L, -1, nullptr);
  try {
    interpreter_of(L).traceback = text;
  } catch (const std::bad_alloc&) {  // an error without one, then
  }
  lua_settop(L, 1);
  return 1;
}

ScriptError read_script_error(lua_State* L, Interpreter& in, int status) {
  ScriptError e;
  e.traceback = std::exchange(in.traceback, {});
  if (!lua_checkstack(L, 8)) throw std::bad_alloc();
  if (status == LUA_ERRMEM) name_limit(L, status);
  if (lua_type(L, -1) == LUA_TTABLE) {
    read_fields(L, e);
  } else if (status == LUA_ERRMEM) {
    e.kind = "memory";
    e.code = "E_OOM";
    e.message = e.text = "out of memory";
  }
  if (e.text.empty()) e.text = shown(L);
  if (e.code.empty()) e.code = "E_LUA";
  if (e.message.empty()) {
    e.message = e.text;
    if (e.where.empty()) split_place(e);
  }
  if (in.policy.sandbox) make_printable(e);
  return e;
}

ScriptError script_error_of(const LuaError& e) {
  ScriptError out;
  out.code = "E_LUA";
  out.message = out.text = e.what();
  try {
    Gate& gate = e.value()->gate();
    const Inside inside(gate);
    Interpreter& in = gate.interpreter();
    lua_State* L = in.running;
    if (!lua_checkstack(L, 8)) return out;
    const KeptState kept(L, in);
    lua_rawgeti(L, LUA_REGISTRYINDEX, e.value()->reference());
    return read_script_error(L, in, LUA_ERRRUN);
  } catch (const Error&) {  // closed, or busy elsewhere: the text is what is left
    return out;
  }
}

}  // namespace rille::lua
