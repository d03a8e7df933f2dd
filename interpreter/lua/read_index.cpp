#include "interpreter/lua/read_index.h"

#include "core/shape.h"

namespace rille::lua {
namespace {

constexpr size_t kMost = 3;  // first, last, step

// True where nothing but positions 1 to n is in the list. Names, and lists whose order is another,
// are not plain. One step of lua_next instead of a walk: each call of Lua's costs as much as a
// shape.
bool ends_at(lua_State* L, int table, size_t n) {
  if (n == 0)
    lua_pushnil(L);
  else
    lua_pushinteger(L, static_cast<lua_Integer>(n));
  return lua_next(L, table) == 0;  // takes the key away when it is the last
}

bool push_integer_at(lua_State* L, int table, size_t k, int64_t& out) {
  if (lua_rawgeti(L, table, static_cast<lua_Integer>(k)) != LUA_TNUMBER) return false;
  int whole = 0;
  out = lua_tointegerx(L, -1, &whole);
  return whole != 0;
}

bool read_range(lua_State* L, int table, IndexTerm& out) {
  const size_t count = lua_rawlen(L, table);
  if (count == 1 || count > kMost) return false;
  int64_t n[kMost] = {0, 0, 1};
  for (size_t k = 0; k < count; ++k)
    if (!push_integer_at(L, table, k + 1, n[k])) return false;
  if (!ends_at(L, table, count)) return false;
  out = {count == 0 ? IndexTerm::Kind::all : IndexTerm::Kind::range, n[0], n[1], n[2]};
  return true;
}

bool read_position(lua_State* L, int i, IndexTerm& out) {
  int whole = 0;
  out = {IndexTerm::Kind::position, lua_tointegerx(L, i, &whole)};
  return whole != 0;
}

// What is not plain may leave something on the stack.
bool read_list(lua_State* L, int table, int top, IndexTerms& out) {
  const size_t count = lua_rawlen(L, table);
  if (count > kMaxRank) return false;
  for (size_t k = 1; k <= count; ++k) {
    IndexTerm term;
    const int type = lua_rawgeti(L, table, static_cast<lua_Integer>(k));
    const bool plain = type == LUA_TNUMBER  ? read_position(L, top + 1, term)
                       : type == LUA_TTABLE ? read_range(L, top + 1, term)
                                            : false;
    if (!plain) return false;
    out.push_back(term);
    lua_settop(L, top);
  }
  return ends_at(L, table, count);
}

}  // namespace

bool read_plain_index(lua_State* L, int i, IndexTerms& out) {
  const int type = lua_type(L, i);
  if (type == LUA_TNUMBER) {
    IndexTerm term;
    if (!read_position(L, i, term)) return false;
    out.push_back(term);
    return true;
  }
  if (type != LUA_TTABLE) return false;
  const int top = lua_gettop(L);
  if (read_list(L, i, top, out)) return true;
  out.clear();
  lua_settop(L, top);
  return false;
}

}  // namespace rille::lua
