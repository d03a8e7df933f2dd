#include "interpreter/lua/call.h"

#include <lua.hpp>

#include <algorithm>

#include "core/fail.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/host_function.h"
#include "interpreter/lua/kept_state.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/read_args.h"
#include "interpreter/lua/read_index.h"

namespace rille::lua {
namespace {

constexpr int kDepth = 64;
constexpr int64_t kTableBytes = 160, kNamedBytes = 96;  // of a table, of an entry with a name
constexpr int64_t kValueWork = 16;  // elements that a value read out of a table counts for

int reference_body(lua_State* L) {
  // 1: light userdata int*, 2: the value
  *static_cast<int*>(lua_touserdata(L, 1)) = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

// The value at stack index i, held in the registry.
CallbackRef hold(lua_State* L, Interpreter& in, int i) {
  const int index = lua_absindex(L, i);
  int reference = LUA_NOREF;
  auto held = std::make_shared<Callback>(in, LUA_NOREF);
  lua_pushcfunction(L, reference_body);
  lua_pushlightuserdata(L, &reference);
  lua_pushvalue(L, index);
  if (const int status = lua_pcall(L, 2, 0, 0); status != LUA_OK) throw_stopped(L, status);
  held->set_reference(reference);
  return held;
}

int native_entry(lua_State* L) {
  const auto function = reinterpret_cast<Native>(lua_touserdata(L, lua_upvalueindex(1)));
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(2)));
  luaL_checkstack(L, 32, "rille");
  follow_coroutine(L, in);
  pace_collector(L, in);
  const size_t first = in.results.size();  // an outer native that called Lua has results there, too
  const Blame blame{static_cast<const char*>(lua_touserdata(L, lua_upvalueindex(3)))};
  const bool done = guarded(L, in, blame, [&] {
    Call call(L, in);
    function(call);
  });
  return done ? push_results(L, in, first) : raise_prepared(L, in, first);
}

}  // namespace

// ---- callbacks
// -----------------------------------------------------------------------------------

Callback::~Callback() { gate_->drop(reference_); }

namespace {

struct Invocation {
  Interpreter* in;
  int reference;
  const std::vector<Value>* arguments;
};

// Under pcall: fetches the function, pushes the arguments, calls.
int invoke_body(lua_State* L) {
  const auto& call = *static_cast<const Invocation*>(lua_touserdata(L, 1));
  const int n = static_cast<int>(call.arguments->size());
  luaL_checkstack(L, n + 8, "rille");
  lua_settop(L, 0);
  lua_rawgeti(L, LUA_REGISTRYINDEX, call.reference);
  for (const Value& v : *call.arguments) push_value(L, *call.in, v);
  lua_call(L, n, LUA_MULTRET);
  return lua_gettop(L);
}

[[noreturn]] void throw_lua_error(lua_State* L, Interpreter& in, int status) {
  if (status == LUA_ERRMEM) throw std::bad_alloc();
  const bool is_text = lua_type(L, -1) == LUA_TSTRING;
  std::string text = is_text ? lua_tolstring(L, -1, nullptr) : "an error in a Lua function";
  if (text == "attempt to yield across a C-call boundary")
    throw fail(Kind::state, "E_STATE", "a function that the engine calls can't yield");
  throw LuaError(hold(L, in, -1), std::move(text));
}

}  // namespace

std::vector<Value> Callback::operator()(std::vector<Value> arguments) const {
  const Inside inside(*gate_);
  Interpreter& in = gate_->interpreter();
  lua_State* L = in.running ? in.running : in.L;
  if (!lua_checkstack(L, 16)) throw std::bad_alloc();
  const LimitedRun limited(in);
  const KeptState kept(L, in);
  Invocation call{&in, reference_, &arguments};
  lua_pushcfunction(L, invoke_body);
  lua_pushlightuserdata(L, &call);
  const int status = lua_pcall(L, 1, LUA_MULTRET, 0);
  if (status != LUA_OK) throw_lua_error(L, in, status);
  std::vector<Value> out;
  const Call reader(L, in);
  for (int i = kept.top() + 1; i <= lua_gettop(L); ++i) out.push_back(reader.value(i));
  return out;
}

// ---- arguments
// -----------------------------------------------------------------------------------

int Call::count() const { return lua_gettop(L_); }
bool Call::has(int i) const { return !lua_isnoneornil(L_, i); }
bool Call::is_table(int i) const { return lua_type(L_, i) == LUA_TTABLE; }
bool Call::is_tensor(int i) const { return peek_tensor(L_, i, in_) != nullptr; }
bool Call::is_closed(int i) const { return is_closed_box(L_, i, in_); }
bool Call::is_string(int i) const { return lua_type(L_, i) == LUA_TSTRING; }
bool Call::is_number(int i) const { return lua_type(L_, i) == LUA_TNUMBER; }
bool Call::is_function(int i) const { return lua_type(L_, i) == LUA_TFUNCTION; }
Site Call::where() const { return user_site(L_); }

void Call::wrong(int i, std::string_view name, std::string_view expected) const {
  throw type_error("'{}' must be {}, got {}", name, expected, describe_value(L_, i, in_));
}

Tensor Call::tensor(int i, std::string_view name) const {
  if (TensorImpl* p = peek_tensor(L_, i, in_)) return tensor_of(p);
  wrong(i, name, "a tensor");
}

std::vector<Tensor> Call::tensors(int i, std::string_view name) const {
  std::vector<Tensor> out;
  if (TensorImpl* p = peek_tensor(L_, i, in_)) return {tensor_of(p)};
  if (!is_table(i)) wrong(i, name, "a list of tensors");
  const lua_Unsigned n = lua_rawlen(L_, i);
  need_room(static_cast<int64_t>(n * sizeof(Tensor)));
  out.reserve(n);
  for (lua_Unsigned k = 1; k <= n; ++k) {
    lua_rawgeti(L_, i, static_cast<lua_Integer>(k));
    TensorImpl* p = peek_tensor(L_, -1, in_);
    if (!p)
      throw type_error("'{}' must be a list of tensors, got {} at position {}", name,
                       describe_value(L_, lua_gettop(L_), in_), k);
    out.push_back(tensor_of(p));
    lua_settop(L_, -2);
  }
  return out;
}

double Call::number(int i, std::string_view name) const {
  if (!is_number(i)) wrong(i, name, "a number");
  return lua_tonumberx(L_, i, nullptr);
}

int64_t Call::integer(int i, std::string_view name) const {
  int good = 0;
  if (!is_number(i)) wrong(i, name, "an integer");
  const lua_Integer n = lua_tointegerx(L_, i, &good);
  if (!good) wrong(i, name, "an integer");
  return n;
}

bool Call::boolean(int i, std::string_view name) const {
  if (lua_type(L_, i) != LUA_TBOOLEAN) wrong(i, name, "true or false");
  return lua_toboolean(L_, i);
}

std::string Call::string(int i, std::string_view name) const {
  if (!is_string(i)) wrong(i, name, "a string");
  size_t n = 0;
  const char* s = lua_tolstring(L_, i, &n);
  return {s, n};
}

CallbackRef Call::function(int i, std::string_view name) const {
  if (!is_function(i)) wrong(i, name, "a function");
  return hold(L_, in_, i);
}

ObjectRef Call::any_object(int i) const {
  const ObjectRef* o = peek_object(L_, i, in_);
  return o ? *o : nullptr;
}

uint32_t Call::slot(int i) const { return slot_of(L_, i, in_); }

bool Call::plain_index(int i, IndexTerms& out) const { return read_plain_index(L_, i, out); }

// What was read out of a value so far. It is also freed at once where the run ends meanwhile, which
// takes 100 ns for each piece, so that there is a bound for how many there are.
struct Call::Reading {
  static constexpr int64_t kMost = 1 << 18;
  Poll poll;
  int64_t pieces = 0;  // tables, texts and entries with names

  void piece() {
    const Budget* b = Budget::current();
    if (++pieces > kMost && b && b->has_deadline())
      throw arg_error("more than {} tables, strings and fields are read out of one value", kMost)
          .hint("a limit of time holds");
  }
};

namespace {

// Before a table read out of another holds one more value, whose text is at the top of the stack. A
// table may stand in another many times and takes room for each here, so that all of them count as
// they are read.
void count_value(lua_State* L, Table& into, int64_t besides) {
  const auto text = lua_type(L, -1) == LUA_TSTRING ? static_cast<int64_t>(lua_rawlen(L, -1)) : 0;
  into.charge.more(static_cast<int64_t>(sizeof(Value)) + text + besides);
}

}  // namespace

Value Call::value(int i) const {
  Reading reading;
  return read(lua_absindex(L_, i), 0, reading);
}

Value Call::read(int i, int depth, Reading& reading) const {
  reading.poll(kValueWork);
  if (depth > kDepth) throw arg_error("tables are nested more than {} deep", kDepth);
  switch (lua_type(L_, i)) {
    case LUA_TBOOLEAN: return bool(lua_toboolean(L_, i));
    case LUA_TNUMBER:
      if (lua_isinteger(L_, i)) return int64_t{lua_tointegerx(L_, i, nullptr)};
      return lua_tonumberx(L_, i, nullptr);
    case LUA_TSTRING: reading.piece(); return string(i, "value");
    case LUA_TUSERDATA:
      if (TensorImpl* p = peek_tensor(L_, i, in_)) return tensor_of(p);
      if (ObjectRef o = any_object(i)) return o;
      throw type_error("a value of type {} can't be used here", describe_value(L_, i, in_));
    case LUA_TFUNCTION: return function(i, "value");
    case LUA_TTABLE: break;
    case LUA_TNIL: return {};
    default: throw type_error("a value of type {} can't be used here", describe_value(L_, i, in_));
  }
  if (!lua_checkstack(L_, 8)) throw std::bad_alloc();
  Table t;
  reading.piece();
  t.charge.more(kTableBytes);
  const lua_Unsigned n = lua_rawlen(L_, i);
  for (lua_Unsigned k = 1; k <= n; ++k) {
    lua_rawgeti(L_, i, static_cast<lua_Integer>(k));
    count_value(L_, t, sizeof(Value));  // the list copies as it grows
    t.list.push_back(read(lua_gettop(L_), depth + 1, reading));
    lua_settop(L_, -2);
  }
  for (lua_pushnil(L_); lua_next(L_, i); lua_settop(L_, -2)) {
    if (lua_type(L_, -2) == LUA_TSTRING) {
      reading.piece();
      count_value(L_, t, kNamedBytes + static_cast<int64_t>(lua_rawlen(L_, -2)));
      t.named.emplace(string(lua_gettop(L_) - 1, "key"), read(lua_gettop(L_), depth + 1, reading));
    } else {
      const bool listed = lua_isinteger(L_, -2) && lua_tointegerx(L_, -2, nullptr) >= 1 &&
                          static_cast<lua_Unsigned>(lua_tointegerx(L_, -2, nullptr)) <= n;
      if (listed) continue;
      Error e = type_error("keys must be strings or positions 1..n, got {}",
                           describe_value(L_, lua_gettop(L_) - 1, in_));
      if (lua_type(L_, -2) == LUA_TFUNCTION) e.hint("what a module holds is module:state_dict()");
      throw e;
    }
  }
  return t;
}

Value Call::option(int i, std::string_view key) const {
  if (!has(i)) return {};
  if (!is_table(i)) wrong(i, "options", "a table");
  Value found;
  for (lua_pushnil(L_); lua_next(L_, i); lua_settop(L_, -2))
    if (lua_type(L_, -2) == LUA_TSTRING && key == lua_tolstring(L_, -2, nullptr)) found = value(-1);
  return found;
}

namespace {

std::string_view kind_of(const Value& v) {
  constexpr std::string_view kinds[] = {"nil",      "a boolean", "a number",  "a number",
                                        "a string", "a tensor",  "an object", "a function",
                                        "a table",  "a table"};
  return kinds[v.v.index()];
}

}  // namespace

std::optional<std::string> Call::text_option(int i, std::string_view key) const {
  const Value v = option(i, key);
  if (v.is_nil()) return {};
  if (const auto* s = v.get<std::string>()) return *s;
  throw type_error("'{}' must be a string, got {}", key, kind_of(v));
}

bool Call::flag_option(int i, std::string_view key, bool otherwise) const {
  const Value v = option(i, key);
  if (v.is_nil()) return otherwise;
  if (const bool* b = v.get<bool>()) return *b;
  throw type_error("'{}' must be true or false, got {}", key, kind_of(v));
}

void Call::options(int i, const OpInfo& schema, void* into) const {
  if (has(i) && !is_table(i)) wrong(i, "options", "a table");
  if (!lua_checkstack(L_, kMaxFields + 8)) throw std::bad_alloc();
  const int top = lua_gettop(L_);
  Arranged from;
  for (lua_pushnil(L_); is_table(i) && lua_next(L_, i); lua_settop(L_, -2))
    if (lua_type(L_, -2) != LUA_TSTRING)
      throw option_error("options have names, got {}", describe_value(L_, lua_gettop(L_) - 1, in_));
  lua_settop(L_, top);
  if (is_table(i)) arrange_options(L_, schema, i, from);
  read_args(L_, in_, schema, from, into);
  lua_settop(L_, top);
}

void Call::only(int i, std::initializer_list<std::string_view> keys) const {
  if (!has(i)) return;
  if (!is_table(i)) wrong(i, "options", "a table");
  for (lua_pushnil(L_); lua_next(L_, i); lua_settop(L_, -2)) {
    if (lua_type(L_, -2) != LUA_TSTRING)
      throw option_error("options have names, got {}", describe_value(L_, lua_gettop(L_) - 1, in_));
    const std::string key = string(lua_gettop(L_) - 1, "key");
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::string near = nearest(key, keys);
    throw option_error("unknown option '{}'{}", key,
                       near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
        .fact(fmt::format("takes: {}", fmt::join(keys, ", ")));
  }
}

std::vector<TensorField> Call::tensor_fields(int i, std::string_view name) const {
  if (!is_table(i)) wrong(i, name, "a list of tables");
  std::vector<TensorField> out;
  const lua_Unsigned n = lua_rawlen(L_, i);
  for (lua_Unsigned k = 1; k <= n; ++k) {
    lua_rawgeti(L_, i, static_cast<lua_Integer>(k));
    if (lua_type(L_, -1) != LUA_TTABLE)
      throw type_error("'{}' must be a list of tables, got {} at position {}", name,
                       describe_value(L_, lua_gettop(L_), in_), k);
    for (lua_pushnil(L_); lua_next(L_, -2); lua_settop(L_, -2)) {
      TensorImpl* p =
          lua_type(L_, -2) == LUA_TSTRING ? peek_tensor(L_, lua_gettop(L_), in_) : nullptr;
      if (p)
        out.push_back({static_cast<size_t>(k) - 1, lua_tolstring(L_, -2, nullptr), tensor_of(p)});
    }
    lua_settop(L_, -2);
  }
  return out;
}

// ---- results
// -------------------------------------------------------------------------------------

namespace {

void push_table(lua_State* L, Interpreter& in, const Table& t) {
  luaL_checkstack(L, 8, "tables are nested too deep");
  constexpr size_t kMost = size_t{1} << 19;  // places that are made at once
  lua_createtable(L, static_cast<int>(std::min(t.list.size(), kMost)),
                  static_cast<int>(std::min(t.named.size(), kMost)));
  for (size_t i = 0; i < t.list.size(); ++i) {
    push_value(L, in, t.list[i]);
    lua_rawseti(L, -2, static_cast<lua_Integer>(i) + 1);
  }
  for (const auto& [key, v] : t.named) {
    lua_pushlstring(L, key.data(), key.size());
    push_value(L, in, v);
    lua_rawset(L, -3);
  }
}

}  // namespace

void push_object(lua_State* L, Interpreter& in, const ObjectRef& o) {
  Box* box = push_object_box(L, in, o->type());
  auto* owned = new (std::nothrow) ObjectRef(o);
  if (!owned) luaL_error(L, "not enough memory");
  fill(in, box, owned);
}

void push_value(lua_State* L, Interpreter& in, const Value& v) {
  if (v.is_nil())
    lua_pushnil(L);
  else if (const auto* b = v.get<bool>())
    lua_pushboolean(L, *b);
  else if (const auto* n = v.get<int64_t>())
    lua_pushinteger(L, *n);
  else if (const auto* d = v.get<double>())
    lua_pushnumber(L, *d);
  else if (const auto* s = v.get<std::string>())
    lua_pushlstring(L, s->data(), s->size());
  else if (const auto* t = v.get<Tensor>())
    fill(in, push_tensor_box(L, in), *t);
  else if (const auto* f = v.get<CallbackRef>())
    lua_rawgeti(L, LUA_REGISTRYINDEX, (*f)->reference());
  else if (const Table* table = v.table())
    push_table(L, in, *table);
  else if (const auto* lists = v.get<Lists>())
    push_lists(L, in, lists->values);
  else if (const auto* o = v.get<ObjectRef>()) {
    if ((*o)->type() == HostFunction::kType) return push_host_function(L, in, *o);
    push_object(L, in, *o);
  }
}

int push_results(lua_State* L, Interpreter& in, size_t first) {
  const int n = static_cast<int>(in.results.size() - first);
  luaL_checkstack(L, n + 8, "too many results");
  for (int i = 0; i < n; ++i) push_value(L, in, in.results[first + static_cast<size_t>(i)]);
  in.results.resize(first);
  return n;
}

void push_native(lua_State* L, Interpreter& in, Native f, const char* name) {
  lua_pushlightuserdata(L, reinterpret_cast<void*>(f));
  lua_pushlightuserdata(L, &in);
  lua_pushlightuserdata(L, const_cast<char*>(name));
  lua_pushcclosure(L, native_entry, 3);
}

namespace {

// What errors call it: the last part of a dotted name; nothing for metamethods.
const char* shown_name(std::string_view name) {
  if (name.starts_with("__")) return "";
  const size_t dot = name.rfind('.');
  return name.data() + (dot == name.npos ? 0 : dot + 1);
}

}  // namespace

void add_natives(lua_State* L, Interpreter& in, const NativeEntry* begin, const NativeEntry* end) {
  for (; begin != end; ++begin) {
    lua_pushlstring(L, begin->name.data(), begin->name.size());
    push_native(L, in, begin->function, shown_name(begin->name));
    lua_rawset(L, -3);
  }
}

}  // namespace rille::lua
