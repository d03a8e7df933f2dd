#include <algorithm>
#include <cstring>
#include <lua.hpp>
#include <string_view>

#include "interpreter/lua/bounded_libraries.h"
#include "interpreter/lua/conversions.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/pattern.h"

namespace rille::lua {
namespace {

constexpr size_t kLongestFormat = size_t{64} << 10;  // bytes; each may stand for a conversion
constexpr size_t kQuoted = 4;                        // bytes that %q makes of one, at most
constexpr size_t kPerStep = 32;                      // bytes that count as an instruction
constexpr size_t kCountedFrom = 1024;                // bytes; shorter ones are as good as nothing

size_t longest_format(lua_State* L) {
  return interpreter_of(L).policy.limited() ? kLongestFormat : longest_string(L);
}

// ---- find, match, gmatch, gsub
// ----------------------------------------------------------------------

struct Text {
  const char* data;
  size_t size;
  const char* end() const { return data + size; }
};

Text text_at(lua_State* L, int i) {
  Text t{nullptr, 0};
  t.data = luaL_checklstring(L, i, &t.size);
  return t;
}

// The offset that a position from 1, or from the end, means; past the end where there is none.
size_t offset_of(lua_Integer position, size_t size) {
  const auto n = static_cast<lua_Integer>(size);
  if (position < -n || position == 0) return 0;
  return static_cast<size_t>(position > 0 ? position - 1 : n + position);
}

bool is_plain(const Text& p) {
  return std::string_view(p.data, p.size).find_first_of("^$*+?.([%-") == std::string_view::npos;
}

int find_plain(lua_State* L, const Text& s, const Text& p, size_t from) {
  const void* at =
      p.size == 0 ? s.data + from : memmem(s.data + from, s.size - from, p.data, p.size);
  if (!at) {
    lua_pushnil(L);
    return 1;
  }
  const lua_Integer first = static_cast<const char*>(at) - s.data + 1;
  lua_pushinteger(L, first);
  lua_pushinteger(L, first + static_cast<lua_Integer>(p.size) - 1);
  return 2;
}

int look(lua_State* L, bool positions) {
  const Text s = text_at(L, 1), p = text_at(L, 2);
  const size_t from = offset_of(luaL_optinteger(L, 3, 1), s.size);
  if (from > s.size) {
    lua_pushnil(L);
    return 1;
  }
  if (positions && (lua_toboolean(L, 4) || is_plain(p))) return find_plain(L, s, p, from);
  Matcher m(L, interpreter_of(L), s.data, s.size, p.data, p.size);
  const bool anchored = p.size > 0 && *p.data == '^';
  if (anchored) m.skip_anchor();
  for (const char* at = s.data + from; at <= s.end(); ++at) {
    if (const char* end = m.match(at)) {
      if (!positions) return m.push_captures(at, end, true);
      lua_pushinteger(L, at - s.data + 1);
      lua_pushinteger(L, end - s.data);
      return m.push_captures(at, end, false) + 2;
    }
    if (anchored) break;
  }
  lua_pushnil(L);
  return 1;
}

int find(lua_State* L) { return look(L, true); }
int match(lua_State* L) { return look(L, false); }

// The function that gmatch gives. Upvalues: subject, pattern, where to look next, where the last
// match ended (-1: none yet).
int next_match(lua_State* L) {
  const Text s = text_at(L, lua_upvalueindex(1)), p = text_at(L, lua_upvalueindex(2));
  const lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
  Matcher m(L, interpreter_of(L), s.data, s.size, p.data, p.size);
  for (const char* at = s.data + lua_tointeger(L, lua_upvalueindex(3)); at <= s.end(); ++at) {
    const char* end = m.match(at);
    if (!end || end - s.data == last) continue;
    lua_pushinteger(L, end - s.data);
    lua_copy(L, -1, lua_upvalueindex(3));
    lua_replace(L, lua_upvalueindex(4));
    return m.push_captures(at, end, true);
  }
  lua_pushinteger(L, static_cast<lua_Integer>(s.size) + 1);
  lua_replace(L, lua_upvalueindex(3));
  return 0;
}

int gmatch(lua_State* L) {
  const Text s = text_at(L, 1);
  text_at(L, 2);
  const size_t from = offset_of(luaL_optinteger(L, 3, 1), s.size);
  lua_settop(L, 2);
  lua_pushinteger(L, static_cast<lua_Integer>(std::min(from, s.size + 1)));
  lua_pushinteger(L, -1);
  lua_pushcclosure(L, next_match, 4);
  return 1;
}

// Adds the replacement string, with %0 to %9 filled in.
void add_template(lua_State* L, luaL_Buffer* b, const Matcher& m, const char* from,
                  const char* to) {
  const Text r = text_at(L, 3);
  for (const char* p = r.data; p < r.end(); ++p) {
    if (*p != '%') {
      luaL_addchar(b, *p);
      continue;
    }
    ++p;
    const char c = p < r.end() ? *p : '\0';
    if (c == '%') {
      luaL_addchar(b, '%');
    } else if (c == '0') {
      luaL_addlstring(b, from, static_cast<size_t>(to - from));
    } else if (c >= '1' && c <= '9') {
      m.push_capture(c - '1', from, to);
      luaL_tolstring(L, -1, nullptr);
      lua_remove(L, -2);
      luaL_addvalue(b);
    } else {
      luaL_error(L, "invalid use of '%%' in replacement string");
    }
  }
}

void add_replacement(lua_State* L, luaL_Buffer* b, const Matcher& m, const char* from,
                     const char* to) {
  const int kind = lua_type(L, 3);
  if (kind == LUA_TSTRING || kind == LUA_TNUMBER) return add_template(L, b, m, from, to);
  if (kind == LUA_TTABLE) {
    m.push_capture(0, from, to);
    lua_gettable(L, 3);
  } else {
    lua_pushvalue(L, 3);
    lua_call(L, m.push_captures(from, to, true), 1);
  }
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    luaL_addlstring(b, from, static_cast<size_t>(to - from));
  } else if (lua_isstring(L, -1)) {
    luaL_addvalue(b);
  } else {
    luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  }
}

// string.gsub(s, pattern, replacement [, most])
int gsub(lua_State* L) {
  const Text s = text_at(L, 1), p = text_at(L, 2);
  const int kind = lua_type(L, 3);
  luaL_argexpected(
      L, kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION || kind == LUA_TTABLE,
      3, "string/function/table");
  const lua_Integer most = luaL_optinteger(L, 4, static_cast<lua_Integer>(s.size) + 1);
  const bool anchored = p.size > 0 && *p.data == '^';
  Interpreter& in = interpreter_of(L);
  Matcher m(L, in, s.data, s.size, p.data, p.size);
  if (anchored) m.skip_anchor();
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  const char *at = s.data, *last = nullptr;
  lua_Integer n = 0;
  while (n < most) {
    spend(L, in, 1);
    const char* end = m.match(at);
    if (end && end != last) {
      ++n;
      add_replacement(L, &b, m, at, end);
      if (luaL_bufflen(&b) > longest_string(L)) return luaL_error(L, "resulting string too large");
      at = last = end;
    } else if (at < s.end()) {
      luaL_addchar(&b, *at++);
    } else {
      break;
    }
    if (anchored) break;
  }
  luaL_addlstring(&b, at, static_cast<size_t>(s.end() - at));
  luaL_pushresult(&b);
  lua_pushinteger(L, n);
  return 2;
}

// ---- long results
// -------------------------------------------------------------------------------

// string.rep(s, n [, separator])
int rep(lua_State* L) {
  const Text s = text_at(L, 1);
  const lua_Integer n = luaL_checkinteger(L, 2);
  size_t gap = 0;
  const char* separator = luaL_optlstring(L, 3, "", &gap);
  const size_t each = s.size + gap;
  if (n <= 0 || each == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  const auto times = static_cast<size_t>(n);
  if (times > longest_string(L) / each) return luaL_error(L, "resulting string too large");
  const size_t size = times * each;
  spend(L, interpreter_of(L), static_cast<int64_t>(size / 64));
  luaL_Buffer b;
  char* to = luaL_buffinitsize(L, &b, size);
  std::memcpy(to, s.data, s.size);
  std::memcpy(to + s.size, separator, gap);
  for (size_t made = each; made < size; made *= 2)
    std::memcpy(to + made, to, std::min(made, size - made));
  luaL_pushresultsize(&b, size - gap);
  return 1;
}

// A function of the stock library that goes through its first argument byte by byte, counted for as
// many. Upvalue: the stock one.
int counted(lua_State* L) {
  const size_t size = lua_type(L, 1) == LUA_TSTRING ? lua_rawlen(L, 1) : 0;
  if (size > kCountedFrom) spend(L, interpreter_of(L), static_cast<int64_t>(size / kPerStep));
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void count_bytes(lua_State* L, const char* library, const char* name) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, counted, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

// The argument at i of %s as text, which %s makes of it anyway; its length.
size_t text_length(lua_State* L, int i) {
  if (lua_type(L, i) != LUA_TSTRING) {
    luaL_tolstring(L, i, nullptr);
    lua_replace(L, i);
  }
  return lua_rawlen(L, i);
}

// string.format: the stock one, for formats and results of a moderate length. Upvalue: the stock
// one.
int format(lua_State* L) {
  const Text f = text_at(L, 1);
  if (f.size > longest_format(L)) return luaL_error(L, "the format is too long");
  size_t size = 0;
  int i = 1;
  for (Conversions all({f.data, f.size}); all.more() && ++i <= lua_gettop(L); all.next()) {
    const bool quoted = all.kind() == 'q' && lua_type(L, i) == LUA_TSTRING;
    if (quoted && lua_rawlen(L, i) > longest_format(L))
      return luaL_error(L, "the string for '%%q' is too long");
    if (all.kind() == 's') size += text_length(L, i);
    if (quoted) size += kQuoted * lua_rawlen(L, i);
    if (size > longest_string(L)) return luaL_error(L, "resulting string too large");
  }
  if (size > kCountedFrom) spend(L, interpreter_of(L), static_cast<int64_t>(size / kPerStep));
  return lua_tocfunction(L, lua_upvalueindex(1))(L);  // no call of its own: errors name this one
}

// ---- load
// ---------------------------------------------------------------------------------------

// Under pcall: the pieces that the function at 1 gives, joined.
int gather(lua_State* L) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  while (luaL_bufflen(&b) <= size_t{kLongestChunk}) {
    spend(L, interpreter_of(L), 1);
    lua_pushvalue(L, 1);
    lua_call(L, 0, 1);
    const bool done =
        lua_isnil(L, -1) || (lua_type(L, -1) == LUA_TSTRING && lua_rawlen(L, -1) == 0);
    if (done) {
      lua_pop(L, 1);
      break;
    }
    if (!lua_isstring(L, -1)) return luaL_error(L, "reader function must return a string");
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return 1;
}

struct Pieces {
  Interpreter* in;
  const char* at;
  size_t left;
};

// The compiler's reader. A piece is short enough for whatever the compiler does with it.
const char* next_piece(lua_State* L, void* data, size_t* size) {
  constexpr size_t kPiece = 256;
  Pieces& pieces = *static_cast<Pieces*>(data);
  *size = std::min(pieces.left, kPiece);
  if (*size == 0) return nullptr;
  spend(L, *pieces.in, static_cast<int64_t>(*size));
  const char* piece = pieces.at;
  pieces.at += *size;
  pieces.left -= *size;
  return piece;
}

int nothing_but(lua_State* L) {  // nil and the message on top
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

// load(chunk [, name, mode, env]): text, of a moderate length.
int load(lua_State* L) {
  const bool given = lua_isstring(L, 1);  // a number's text, too
  const bool has_globals = lua_gettop(L) >= 4;
  if (!given) luaL_checktype(L, 1, LUA_TFUNCTION);
  const char* name = luaL_optstring(L, 2, given ? lua_tostring(L, 1) : "=(load)");
  if (!given) {
    lua_pushcfunction(L, gather);
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) return nothing_but(L);
    lua_replace(L, 1);
  }
  const Text text = text_at(L, 1);
  if (text.size > size_t{kLongestChunk}) {
    lua_pushliteral(L, "chunk too long");
    return nothing_but(L);
  }
  if (load_text_chunk(L, interpreter_of(L), {text.data, text.size}, name) != LUA_OK)
    return nothing_but(L);
  if (has_globals) {
    lua_pushvalue(L, 4);
    if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
  }
  return 1;
}

// How many bytes a format of string.pack asks for by numbers: "c1000" are as many.
size_t bytes_by_number(const Text& f) {
  constexpr size_t kMost = size_t{1} << 40;
  size_t all = 0, one = 0;
  for (const char* p = f.data; p < f.end(); ++p) {
    one = *p >= '0' && *p <= '9' ? std::min(kMost, one * 10 + static_cast<size_t>(*p - '0')) : 0;
    const bool ends = p + 1 == f.end() || p[1] < '0' || p[1] > '9';
    if (ends) all += one;
  }
  return all;
}

// A function whose first argument is a format of moderate length. Upvalue: the stock one.
int with_short_format(lua_State* L) {
  size_t size = 0;
  if (lua_type(L, 1) == LUA_TSTRING) {
    const Text f = text_at(L, 1);
    if (f.size > longest_format(L)) return luaL_error(L, "the format is too long");
    size = bytes_by_number(f);
  }
  for (int i = 2; i <= lua_gettop(L); ++i)
    if (lua_type(L, i) == LUA_TSTRING) size += lua_rawlen(L, i);
  if (size > longest_string(L)) return luaL_error(L, "the string is too long");
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void bound_format(lua_State* L, const char* library, const char* name) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, with_short_format, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

}  // namespace

void bound_strings(lua_State* L) {
  lua_getglobal(L, LUA_STRLIBNAME);
  constexpr luaL_Reg own[] = {{"find", find}, {"match", match}, {"gmatch", gmatch},
                              {"gsub", gsub}, {"rep", rep},     {nullptr, nullptr}};
  luaL_setfuncs(L, own, 0);
  lua_getfield(L, -1, "format");
  lua_pushcclosure(L, format, 1);
  lua_setfield(L, -2, "format");
  lua_pop(L, 1);
  for (const char* name : {"pack", "packsize", "unpack"}) bound_format(L, LUA_STRLIBNAME, name);
  bound_format(L, LUA_OSLIBNAME, "date");
  for (const char* name : {"upper", "lower", "reverse"}) count_bytes(L, LUA_STRLIBNAME, name);
  for (const char* name : {"len", "offset", "codepoint"}) count_bytes(L, LUA_UTF8LIBNAME, name);
  count_bytes(L, LUA_GNAME, "tonumber");
}

void bound_load(lua_State* L) {
  lua_pushcfunction(L, load);
  lua_setglobal(L, "load");
}

int load_text_chunk(lua_State* L, Interpreter& in, std::string_view text, const char* name) {
  if (!in.budget) return luaL_loadbufferx(L, text.data(), text.size(), name, "t");
  Pieces pieces{&in, text.data(), text.size()};
  return lua_load(L, next_piece, &pieces, name, "t");
}

}  // namespace rille::lua
