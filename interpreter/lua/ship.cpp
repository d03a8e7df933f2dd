#include "interpreter/lua/ship.h"

#include <lua.hpp>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "autograd/node.h"
#include "core/fail.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"

namespace rille::lua {
namespace {

const char kLoadedKey = 0;  // registry: package.loaded, found without making a string

constexpr int kDepth = 180;
constexpr int kShown = 6;            // steps of a route that an error tells
constexpr int64_t kNodeBytes = 256;  // of a table or function, with what finds it again
constexpr int64_t kWork = 64;        // elements that a value on its way counts for

// ---- taking out
// ----------------------------------------------------------------------------------

// How the value at hand was reached, for the error: a list through the C++ stack.
struct Step {
  const Step* before = nullptr;
  const char* name = nullptr;  // of a field or an upvalue; null for a position
  lua_Integer position = 0;
  bool upvalue = false;
};

std::string route(const Step& last) {
  std::string text;
  int shown = 0;
  for (const Step* s = &last; s->before && shown < kShown; s = s->before, ++shown) {
    if (!text.empty()) text += " of ";
    if (!s->name)
      text += fmt::format("position {}", s->position);
    else
      text += fmt::format("{} '{}'", s->upvalue ? "upvalue" : "field", s->name);
  }
  return text.empty() ? "the value" : text;
}

// A writer of lua_dump: no exception may pass through it.
int append(lua_State*, const void* bytes, size_t n, void* into) {
  try {
    static_cast<std::string*>(into)->append(static_cast<const char*>(bytes), n);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

// Puts the stack back to the height it had, where an error is thrown, too.
class KeptTop {
 public:
  explicit KeptTop(lua_State* L) : L_(L), top_(lua_gettop(L)) {}
  ~KeptTop() { lua_settop(L_, top_); }
  KeptTop(const KeptTop&) = delete;
  KeptTop& operator=(const KeptTop&) = delete;

 private:
  lua_State* L_;
  int top_;
};

bool is_ours(lua_State* L, int i) {
  return lua_type(L, i) == LUA_TSTRING &&
         std::strncmp(lua_tolstring(L, i, nullptr), "rille", 5) == 0;
}

// A read-only table of the library (stdlib/rille/read_only.lua) is an empty one in front of
// another: on top of the stack that one takes its place. Lua keeps the name of the event for good,
// so that pushing it can't fail.
void replace_by_contents(lua_State* L) {
  const int table = lua_gettop(L);
  lua_pushnil(L);
  if (!lua_next(L, table) && lua_getmetatable(L, table)) {
    lua_pushliteral(L, "__index");
    if (lua_rawget(L, -2) == LUA_TTABLE) lua_replace(L, table);
  }
  lua_settop(L, table);
}

// Calls nothing of Lua that raises, so that it may own what it likes.
class Packer {
 public:
  Packer(lua_State* L, Interpreter& in) : L_(L), in_(in) {}

  Parcel run(int i) {
    parcel_.root = item(lua_absindex(L_, i), 0, {});
    return std::move(parcel_);
  }

 private:
  using Item = Parcel::Item;

  Item item(int i, int depth, const Step& at) {
    poll_(kWork);
    switch (lua_type(L_, i)) {
      case LUA_TNONE:
      case LUA_TNIL: return {};
      case LUA_TBOOLEAN: return bool(lua_toboolean(L_, i));
      case LUA_TNUMBER:
        if (lua_isinteger(L_, i)) return int64_t{lua_tointegerx(L_, i, nullptr)};
        return double{lua_tonumberx(L_, i, nullptr)};
      case LUA_TSTRING: return text(i);
      case LUA_TUSERDATA:
        if (TensorImpl* p = peek_tensor(L_, i, in_)) return autograd::detach(tensor_of(p));
        refuse(i, at);
      case LUA_TTABLE:
      case LUA_TFUNCTION: return Parcel::Ref{node(i, depth, at)};
      default: refuse(i, at);
    }
  }

  size_t node(int i, int depth, const Step& at) {
    const void* address = lua_topointer(L_, i);
    if (const auto it = nodes_.find(address); it != nodes_.end()) return it->second;
    if (depth > kDepth) throw arg_error("{} is nested more than {} deep", route(at), kDepth);
    if (!lua_checkstack(L_, 12)) throw std::bad_alloc();
    const size_t n = parcel_.nodes.size();
    parcel_.charge.more(kNodeBytes);
    parcel_.nodes.emplace_back();
    nodes_.emplace(address, n);
    if (is_globals(i)) return n;
    if (const auto name = name_of(i))
      parcel_.nodes[n] = *name;
    else if (lua_type(L_, i) == LUA_TTABLE)
      parcel_.nodes[n] = table(i, depth, at);
    else if (!lua_iscfunction(L_, i))
      parcel_.nodes[n] = function(i, n, depth, at);
    else
      refuse(i, at);
    return n;
  }

  Parcel::Table table(int i, int depth, const Step& at) {
    Parcel::Table t;
    for (lua_pushnil(L_); lua_next(L_, i); lua_settop(L_, -2)) {
      const int key = lua_gettop(L_) - 1;
      Step step{&at};
      if (lua_type(L_, key) == LUA_TSTRING)
        step.name = lua_tolstring(L_, key, nullptr);
      else if (lua_isinteger(L_, key))
        step.position = lua_tointegerx(L_, key, nullptr);
      else
        step.name = "?";
      parcel_.charge.more(2 * sizeof(std::pair<Item, Item>));  // the list copies as it grows
      Item name = item(key, depth + 1, step);
      t.entries.emplace_back(std::move(name), item(key + 1, depth + 1, step));
    }
    if (lua_getmetatable(L_, i)) {
      const Step step{&at, "metatable"};
      t.metatable = item(lua_gettop(L_), depth + 1, step);
      lua_settop(L_, -2);
    }
    return t;
  }

  Parcel::Function function(int i, size_t n, int depth, const Step& at) {
    Parcel::Function f;
    lua_pushvalue(L_, i);
    const bool dumped = lua_dump(L_, append, &f.code, 0) == 0;
    lua_settop(L_, -2);
    if (!dumped) throw std::bad_alloc();
    parcel_.charge.more(static_cast<int64_t>(f.code.size()));
    for (int k = 1; const char* name = lua_getupvalue(L_, i, k); ++k) {
      const Step step{&at, name, 0, true};
      Parcel::Upvalue u;
      const auto [known, added] = variables_.try_emplace(lua_upvalueid(L_, i, k), n, k);
      if (added)
        u.value = item(lua_gettop(L_), depth + 1, step);
      else
        u = {{}, true, known->second.first, known->second.second};
      f.upvalues.push_back(std::move(u));
      lua_settop(L_, -2);
    }
    return f;
  }

  bool is_globals(int i) {
    lua_rawgeti(L_, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    const bool yes = lua_rawequal(L_, i, -1);
    lua_settop(L_, -2);
    return yes;
  }

  const Parcel::Named* name_of(int i) {
    if (names_.empty()) read_modules();
    if (lua_type(L_, i) == LUA_TFUNCTION) {
      if (!fields_read_) read_fields();
      if (!lua_iscfunction(L_, i) && !from_library(i)) return nullptr;
    }
    const auto it = names_.find(lua_topointer(L_, i));
    return it == names_.end() ? nullptr : &it->second;
  }

  // A script may put functions of its own into our modules: those go as bytecode.
  bool from_library(int i) {
    lua_Debug ar;
    lua_pushvalue(L_, i);
    return lua_getinfo(L_, ">S", &ar) && std::strncmp(ar.source, "@rille:", 7) == 0;
  }

  void read_modules() {
    lua_rawgetp(L_, LUA_REGISTRYINDEX, &kLoadedKey);
    for (lua_pushnil(L_); lua_next(L_, -2); lua_settop(L_, -2)) {
      const int type = lua_type(L_, -1);
      if (is_ours(L_, -2) && (type == LUA_TTABLE || type == LUA_TFUNCTION))
        names_.try_emplace(lua_topointer(L_, -1), Parcel::Named{text(lua_gettop(L_) - 1), {}});
    }
    lua_settop(L_, -2);
  }

  void read_fields() {
    fields_read_ = true;
    lua_rawgetp(L_, LUA_REGISTRYINDEX, &kLoadedKey);
    for (lua_pushnil(L_); lua_next(L_, -2); lua_settop(L_, -2)) {
      if (!is_ours(L_, -2) || lua_type(L_, -1) != LUA_TTABLE) continue;
      const std::string module = text(lua_gettop(L_) - 1);
      replace_by_contents(L_);
      for (lua_pushnil(L_); lua_next(L_, -2); lua_settop(L_, -2))
        if (lua_type(L_, -2) == LUA_TSTRING && lua_type(L_, -1) == LUA_TFUNCTION)
          names_.try_emplace(lua_topointer(L_, -1),
                             Parcel::Named{module, text(lua_gettop(L_) - 1)});
    }
    lua_settop(L_, -2);
  }

  std::string text(int i) {
    size_t n = 0;
    const char* s = lua_tolstring(L_, i, &n);
    parcel_.charge.more(static_cast<int64_t>(n));
    return {s, n};
  }

  [[noreturn]] void refuse(int i, const Step& at) {
    throw type_error("{} can't go to another state: it is {}", route(at),
                     describe_value(L_, i, in_))
        .hint("nil, booleans, numbers, strings, tensors, tables and Lua functions can");
  }

  lua_State* L_;
  Interpreter& in_;
  Parcel parcel_;
  Poll poll_;
  std::unordered_map<const void*, size_t> nodes_;
  std::unordered_map<const void*, std::pair<size_t, int>> variables_;  // by lua_upvalueid
  std::unordered_map<const void*, Parcel::Named> names_;
  bool fields_read_ = false;
};

// ---- rebuilding: Lua may raise anywhere here, so nothing here owns anything
// -----------------------

// A handle of the receiver's own: several threads may open one parcel, and what hangs on a handle
// (gradients, what it is a view of) is one thread's. False for want of memory.
bool fill_apart(Interpreter& in, Box* box, const Tensor& t) noexcept {
  try {
    fill(in, box, autograd::detach(t));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void push_item(lua_State* L, Interpreter& in, int made, const Parcel::Item& item) {
  if (const auto* b = std::get_if<bool>(&item)) {
    lua_pushboolean(L, *b);
  } else if (const auto* n = std::get_if<int64_t>(&item)) {
    lua_pushinteger(L, *n);
  } else if (const auto* d = std::get_if<double>(&item)) {
    lua_pushnumber(L, *d);
  } else if (const auto* s = std::get_if<std::string>(&item)) {
    lua_pushlstring(L, s->data(), s->size());
  } else if (const auto* t = std::get_if<Tensor>(&item)) {
    if (!fill_apart(in, push_tensor_box(L, in), *t)) luaL_error(L, "out of memory");
  } else if (const auto* r = std::get_if<Parcel::Ref>(&item)) {
    lua_rawgeti(L, made, static_cast<lua_Integer>(r->node) + 1);
  } else {
    lua_pushnil(L);
  }
}

void push_named(lua_State* L, const Parcel::Named& name) {
  lua_getglobal(L, "require");
  lua_pushlstring(L, name.module.data(), name.module.size());
  lua_call(L, 1, 1);
  if (name.field.empty()) return;
  if (lua_type(L, -1) == LUA_TTABLE) replace_by_contents(L);
  lua_pushlstring(L, name.field.data(), name.field.size());
  if (lua_type(L, -2) == LUA_TTABLE) lua_rawget(L, -2);
  if (lua_type(L, -1) != LUA_TFUNCTION)
    luaL_error(L, "'%s' of module '%s' is not in this state", name.field.c_str(),
               name.module.c_str());
  lua_remove(L, -2);
}

// Lua gives the positions of a list first, in order.
void make_table(lua_State* L, const Parcel::Table& t) {
  size_t listed = 0;
  const auto is_next = [&](const Parcel::Item& key) {
    const auto* n = std::get_if<int64_t>(&key);
    return n && *n == static_cast<int64_t>(listed) + 1;
  };
  while (listed < t.entries.size() && is_next(t.entries[listed].first)) ++listed;
  constexpr size_t kMost = size_t{1} << 19;  // places that are made at once
  lua_createtable(L, static_cast<int>(std::min(listed, kMost)),
                  static_cast<int>(std::min(t.entries.size() - listed, kMost)));
}

void make_node(lua_State* L, const Parcel& parcel, size_t n) {
  const auto& node = parcel.nodes[n];
  if (const auto* name = std::get_if<Parcel::Named>(&node)) {
    push_named(L, *name);
  } else if (const auto* t = std::get_if<Parcel::Table>(&node)) {
    make_table(L, *t);
  } else if (const auto* f = std::get_if<Parcel::Function>(&node)) {
    if (luaL_loadbufferx(L, f->code.data(), f->code.size(), "=?", "b") != LUA_OK) lua_error(L);
  } else {
    lua_pushglobaltable(L);
  }
}

void fill_node(lua_State* L, Interpreter& in, int made, const Parcel& parcel, size_t n) {
  lua_rawgeti(L, made, static_cast<lua_Integer>(n) + 1);
  if (const auto* t = std::get_if<Parcel::Table>(&parcel.nodes[n])) {
    for (const auto& entry : t->entries) {
      push_item(L, in, made, entry.first);
      push_item(L, in, made, entry.second);
      lua_rawset(L, -3);
    }
  } else if (const auto* f = std::get_if<Parcel::Function>(&parcel.nodes[n])) {
    int k = 0;
    for (const Parcel::Upvalue& u : f->upvalues) {
      ++k;
      if (u.joined) {
        lua_rawgeti(L, made, static_cast<lua_Integer>(u.node) + 1);
        lua_upvaluejoin(L, -2, k, -1, u.index);
        lua_pop(L, 1);
      } else {
        push_item(L, in, made, u.value);
        lua_setupvalue(L, -2, k);
      }
    }
  }
  lua_pop(L, 1);
}

struct Unpacking {
  Interpreter* in;
  const Parcel* parcel;
  int reference;
};

int unpack_body(lua_State* L) {
  auto& u = *static_cast<Unpacking*>(lua_touserdata(L, 1));
  push_parcel(L, *u.in, *u.parcel);
  u.reference = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

}  // namespace

void prepare_shipping(Interpreter& in) {
  luaL_getsubtable(in.L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_rawsetp(in.L, LUA_REGISTRYINDEX, &kLoadedKey);
}

Parcel pack(Interpreter& in, int i) {
  lua_State* L = in.running;
  if (!lua_checkstack(L, 12)) throw std::bad_alloc();
  const KeptTop kept(L);
  return Packer(L, in).run(i);
}

std::string search_path(Interpreter& in) {
  lua_State* L = in.running;
  const int top = lua_gettop(L);
  if (!lua_checkstack(L, 12)) throw std::bad_alloc();
  const auto find = [L](const char* name, int type) {
    for (lua_pushnil(L); lua_next(L, -2); lua_settop(L, -2))
      if (lua_type(L, -2) == LUA_TSTRING && !std::strcmp(lua_tolstring(L, -2, nullptr), name))
        return lua_type(L, -1) == type;
    return false;
  };
  std::string path;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &kLoadedKey);
  if (find(LUA_LOADLIBNAME, LUA_TTABLE) && find("path", LUA_TSTRING))
    path = lua_tolstring(L, -1, nullptr);
  lua_settop(L, top);
  return path;
}

void push_parcel(lua_State* L, Interpreter& in, const Parcel& parcel) {
  luaL_checkstack(L, 16, "rille");
  lua_createtable(L, static_cast<int>(parcel.nodes.size()), 0);
  const int made = lua_gettop(L);
  for (size_t n = 0; n < parcel.nodes.size(); ++n) {
    make_node(L, parcel, n);
    lua_rawseti(L, made, static_cast<lua_Integer>(n) + 1);
  }
  for (size_t n = 0; n < parcel.nodes.size(); ++n) fill_node(L, in, made, parcel, n);
  // Last, once what they hold is there: Lua looks for __gc when a metatable is set.
  for (size_t n = 0; n < parcel.nodes.size(); ++n) {
    const auto* t = std::get_if<Parcel::Table>(&parcel.nodes[n]);
    if (!t || t->metatable.index() == 0) continue;
    lua_rawgeti(L, made, static_cast<lua_Integer>(n) + 1);
    push_item(L, in, made, t->metatable);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
  }
  push_item(L, in, made, parcel.root);
  lua_remove(L, made);
}

Value unpack(Interpreter& in, const Parcel& parcel) {
  lua_State* L = in.running;
  if (!lua_checkstack(L, 12)) throw std::bad_alloc();
  auto held = std::make_shared<Callback>(in, LUA_NOREF);
  Unpacking u{&in, &parcel, LUA_NOREF};
  lua_pushcfunction(L, unpack_body);
  lua_pushlightuserdata(L, &u);
  const int status = lua_pcall(L, 1, 0, 0);
  if (status == LUA_OK) {
    held->set_reference(u.reference);
    return held;
  }
  if (status == LUA_ERRMEM) throw_stopped(L, status);
  std::string text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, nullptr) : "";
  lua_settop(L, -2);
  throw Error(Kind::data, "E_WORKER", "a value of another state can't be rebuilt")
      .fact(std::move(text));
}

}  // namespace rille::lua
