#include "interpreter/lua/read_index.h"

namespace rille::lua {
namespace {

constexpr int kMost = 3;  // first, last, step

// True where lua_next gave position k of a list: names, and lists whose order is another, are not
// plain.
bool at_position(lua_State* L, int k) {
  return lua_isinteger(L, -2) && lua_tointegerx(L, -2, nullptr) == k;
}

// The integers of the list at stack index `table`, or -1 where it is none of at most kMost.
int read_integers(lua_State* L, int table, int64_t (&n)[kMost]) {
  int k = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_settop(L, -2)) {
    if (k == kMost || !at_position(L, k + 1) || !lua_isinteger(L, -1)) return -1;
    n[k++] = lua_tointegerx(L, -1, nullptr);
  }
  return k;
}

bool read_range(lua_State* L, int table, IndexTerm& out) {
  int64_t n[kMost] = {0, 0, 1};
  const int count = read_integers(L, table, n);
  if (count != 0 && count != 2 && count != 3) return false;
  out = {count == 0 ? IndexTerm::Kind::all : IndexTerm::Kind::range, n[0], n[1], n[2]};
  return true;
}

bool read_term(lua_State* L, int i, IndexTerm& out) {
  if (lua_isinteger(L, i)) {
    out = {IndexTerm::Kind::position, lua_tointegerx(L, i, nullptr)};
    return true;
  }
  return lua_type(L, i) == LUA_TTABLE && read_range(L, i, out);
}

bool read_list(lua_State* L, int table, IndexTerms& out) {
  int k = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_settop(L, -2)) {
    IndexTerm term;
    if (!at_position(L, ++k) || !read_term(L, lua_gettop(L), term)) return false;
    out.push_back(term);
  }
  return true;
}

}  // namespace

bool read_plain_index(lua_State* L, int i, IndexTerms& out) {
  if (lua_isinteger(L, i)) {
    out.push_back({IndexTerm::Kind::position, lua_tointegerx(L, i, nullptr)});
    return true;
  }
  if (lua_type(L, i) != LUA_TTABLE) return false;
  const int top = lua_gettop(L);
  const bool plain = read_list(L, i, out);
  if (!plain) out.clear();
  lua_settop(L, top);
  return plain;
}

}  // namespace rille::lua
