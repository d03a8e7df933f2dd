#include "interpreter/lua/nested.h"

#include <algorithm>
#include <lua.hpp>
#include <string>
#include <vector>

#include "core/budget.h"
#include "core/fail.h"
#include "interpreter/lua/bounded_libraries.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/limits.h"

namespace rille::lua {
namespace {

constexpr int kDepth = 64;
constexpr int64_t kLook = 4096;  // numbers from one look at memory, or the clock, to the next
constexpr int64_t kMade = kLongestKeys / 16 - 1;  // places of a list that are made at once

class Reader {
 public:
  Reader(lua_State* L, const Interpreter& in) : L_(L), in_(in) {}

  // The value on top of the stack.
  void read(size_t depth) {
    poll_(1);
    switch (lua_type(L_, -1)) {
      case LUA_TTABLE: return list(depth);
      case LUA_TBOOLEAN: return add(bool(lua_toboolean(L_, -1)), out_.booleans, depth);
      case LUA_TNUMBER:
        if (lua_isinteger(L_, -1)) return add(int64_t{lua_tointeger(L_, -1)}, out_.integers, depth);
        return add(double{lua_tonumber(L_, -1)}, out_.floats, depth);
      default: throw type_error("'values' must hold numbers, booleans or lists of them");
    }
  }

  Numbers take() {
    for (const int64_t n : sizes_) out_.shape.push_back(n);
    return std::move(out_);
  }

 private:
  void list(size_t depth) {
    if (depth > kDepth) throw arg_error("tables are nested more than {} deep", kDepth);
    if (!lua_checkstack(L_, 8)) throw std::bad_alloc();
    const auto n = static_cast<int64_t>(lua_rawlen(L_, -1));
    check_keys(n);
    if (depth == sizes_.size() && out_.values.empty())
      sizes_.push_back(n);
    else if (depth >= sizes_.size() || sizes_[depth] != n)
      throw shape_error("rows differ in length: {} and {} at depth {}",
                        depth < sizes_.size() ? sizes_[depth] : 0, n, depth + 1);
    for (int64_t k = 1; k <= n; ++k) {
      lua_rawgeti(L_, -1, k);
      read(depth + 1);
      lua_pop(L_, 1);
    }
  }

  // Of the table on top of the stack. The least name is told: tables have no order.
  void check_keys(int64_t n) {
    std::string least;
    bool named = false;
    for (lua_pushnil(L_); lua_next(L_, -2); lua_pop(L_, 1)) {
      poll_(1);
      if (lua_type(L_, -2) == LUA_TSTRING) {
        size_t size = 0;
        const char* text = lua_tolstring(L_, -2, &size);
        const std::string key(text, size);
        if (!named || key < least) least = key;
        named = true;
        continue;
      }
      const int64_t at = lua_isinteger(L_, -2) ? lua_tointeger(L_, -2) : 0;
      if (at < 1 || at > n)
        throw type_error("keys must be strings or positions 1..n, got {}",
                         describe_value(L_, lua_gettop(L_) - 1, in_));
    }
    if (named) throw type_error("'values' must hold lists only, got the key '{}'", least);
  }

  void add(Numbers::Number v, bool& kind, size_t depth) {
    if (depth != sizes_.size())
      throw shape_error("rows differ in depth: a number stands where a list is wanted");
    kind = true;
    // A list may stand in a table many times, and then takes less room there than here.
    if (out_.values.size() % kLook == 0) out_.charge.more(kLook * sizeof(Numbers::Number));
    out_.values.push_back(v);
  }

  lua_State* L_;
  const Interpreter& in_;
  Numbers out_;
  std::vector<int64_t> sizes_;  // of lists as deep as any is read: more than a shape has
  Poll poll_;
};

struct Pusher {
  lua_State* L;
  Interpreter& in;
  const Tensor& t;
  int64_t at = 0, unseen = 0;

  void element() {
    if (t.dtype() == DType::boolean)
      lua_pushboolean(L, t.at(at) != 0);
    else if (category(t.dtype()) == Category::floating)
      lua_pushnumber(L, t.at(at));
    else
      lua_pushinteger(L, t.load_int(at));
    ++at;
  }

  void list(int dim) {
    if (dim == t.rank()) return element();
    const int64_t n = t.shape()[dim];
    luaL_checkstack(L, 4, "tables are nested too deep");
    lua_createtable(L, static_cast<int>(std::min(n, kMade)), 0);
    for (int64_t i = 1; i <= n; ++i) {
      list(dim + 1);
      lua_rawseti(L, -2, i);
      if (++unseen < kLook) continue;
      spend(L, in, unseen);
      unseen = 0;
    }
  }
};

}  // namespace

Numbers read_numbers(lua_State* L, const Interpreter& in, int i) {
  Reader reader(L, in);
  lua_pushvalue(L, i);
  reader.read(0);
  lua_pop(L, 1);
  return reader.take();
}

void push_lists(lua_State* L, Interpreter& in, const Tensor& t) { Pusher{L, in, t}.list(0); }

int64_t bytes_of_lists(const Shape& shape) {
  constexpr int64_t table = 56, slot = 16;  // of Lua 5.4
  int64_t bytes = 0, lists = 1;
  for (const int64_t n : shape) {
    bytes += lists * (table + n * slot);
    lists *= n;
  }
  return bytes;
}

}  // namespace rille::lua
