#include "interpreter/lua/ask.h"

#include <lua.hpp>

#include <optional>

#include "core/fail.h"
#include "interpreter/lua/host_function.h"
#include "interpreter/lua/kept_state.h"
#include "interpreter/lua/limits.h"

namespace rille::lua {
namespace {

struct Asked {
  Interpreter* in;
  std::string_view name;
  const Callback* function = nullptr;  // instead of the name
  const std::vector<Value>* arguments = nullptr;
  const Value* value = nullptr;
  bool missing = false;        // there is nothing of that name to call
  std::string_view not_table;  // the part that is something else
};

// Calls body(argument) in protected mode, then read(Call, first, last) with where its results are.
template <class Read>
auto protected_call(Interpreter& in, lua_CFunction body, void* argument, Read&& read) {
  lua_State* L = in.running;
  if (!lua_checkstack(L, 24)) throw std::bad_alloc();
  const KeptState kept(L, in);
  pace_collector(L, in);
  const int handler = kept.top() + 1;
  lua_pushcfunction(L, keep_traceback);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, argument);
  const int status = lua_pcall(L, 1, LUA_MULTRET, handler);
  if (status != LUA_OK) throw read_script_error(L, in, status);
  return read(Call(L, in), handler + 1, lua_gettop(L));
}

// The same where limits hold: a run that is over failed, whatever the script made of the error.
template <class Read>
auto limited_call(Interpreter& in, lua_CFunction body, void* argument, Read&& read) {
  const LimitedRun limited(in);
  const auto over = [&] { return limited.ended_early().has_value(); };
  try {
    auto out = protected_call(in, body, argument, std::forward<Read>(read));
    if (over()) in.budget->raise();
    return out;
  } catch (const ScriptError& e) {
    if (over() && e.kind != name(Kind::interrupt)) in.budget->raise();
    throw;
  }
}

std::string_view take_part(std::string_view& name) {
  const size_t dot = name.find('.');
  const std::string_view part = name.substr(0, dot);
  name = dot == name.npos ? std::string_view() : name.substr(dot + 1);
  return part;
}

// The value that a dotted name means, pushed; nil where a part is missing. Globals are read raw:
// what isn't there is no error to a host.
void push_named(lua_State* L, std::string_view name) {
  lua_pushglobaltable(L);
  for (bool raw = true; !name.empty(); raw = false) {
    const std::string_view part = take_part(name);
    const int type = lua_type(L, -1);
    if (type != LUA_TTABLE && type != LUA_TUSERDATA) {
      lua_pop(L, 1);
      return lua_pushnil(L);
    }
    lua_pushlstring(L, part.data(), part.size());
    if (raw)
      lua_rawget(L, -2);
    else
      lua_gettable(L, -2);
    lua_remove(L, -2);
  }
}

int get_body(lua_State* L) {
  const auto& asked = *static_cast<const Asked*>(lua_touserdata(L, 1));
  push_named(L, asked.name);
  return 1;
}

int call_body(lua_State* L) {
  auto& asked = *static_cast<Asked*>(lua_touserdata(L, 1));
  const int n = static_cast<int>(asked.arguments->size());
  luaL_checkstack(L, n + 8, "too many arguments");
  lua_settop(L, 0);
  if (asked.function)
    lua_rawgeti(L, LUA_REGISTRYINDEX, asked.function->reference());
  else
    push_named(L, asked.name);
  if (lua_isnil(L, -1)) {
    asked.missing = true;
    return 0;
  }
  for (const Value& v : *asked.arguments) push_value(L, *asked.in, v);
  lua_call(L, n, LUA_MULTRET);
  return lua_gettop(L);
}

int set_body(lua_State* L) {
  auto& asked = *static_cast<Asked*>(lua_touserdata(L, 1));
  std::string_view name = asked.name;
  lua_pushglobaltable(L);
  bool raw = true;
  for (std::string_view part = take_part(name); !name.empty();
       part = take_part(name), raw = false) {
    lua_pushlstring(L, part.data(), part.size());
    lua_pushvalue(L, -1);
    const int type = raw ? lua_rawget(L, -3) : lua_gettable(L, -3);
    if (type == LUA_TNIL) {
      lua_pop(L, 1);
      lua_newtable(L);
      lua_insert(L, -2);
      lua_pushvalue(L, -2);  // container, table, part, table
      if (raw)
        lua_rawset(L, -4);
      else
        lua_settable(L, -4);
    } else if (type == LUA_TTABLE) {
      lua_remove(L, -2);
    } else {
      asked.not_table = part;
      return 0;
    }
    lua_remove(L, -2);
  }
  const std::string_view last = asked.name.substr(asked.name.rfind('.') + 1);
  lua_pushlstring(L, last.data(), last.size());
  push_value(L, *asked.in, *asked.value);
  if (asked.in->policy.sandbox) remember_bound(L, asked.name);
  if (raw)
    lua_rawset(L, -3);
  else
    lua_settable(L, -3);
  return 0;
}

std::vector<Value> call_asked(Interpreter& in, Asked& asked) {
  return limited_call(in, call_body, &asked, [&](const Call& reader, int first, int last) {
    std::vector<Value> out;
    if (asked.missing)
      throw type_error("there is no function '{}'", asked.name)
          .hint("hosts find globals: a function that is `local` is not seen");
    for (int i = first; i <= last; ++i) out.push_back(reader.value(i));
    return out;
  });
}

}  // namespace

int ask_run(Interpreter& in, const Run& run) {
  return limited_call(in, run_body, const_cast<Run*>(&run),
                      [](const Call& reader, int first, int last) {
                        if (first > last || !reader.is_number(first)) return 0;
                        return static_cast<int>(reader.number(first, "status"));
                      });
}

std::vector<Value> ask_call(Interpreter& in, std::string_view name,
                            const std::vector<Value>& args) {
  Asked asked{&in, name};
  asked.arguments = &args;
  return call_asked(in, asked);
}

std::vector<Value> ask_call(Interpreter& in, const Callback& f, const std::vector<Value>& args) {
  Asked asked{&in, "function"};
  asked.function = &f;
  asked.arguments = &args;
  return call_asked(in, asked);
}

Value ask_get(Interpreter& in, std::string_view name) {
  Asked asked{&in, name};
  return protected_call(in, get_body, &asked,
                        [](const Call& reader, int first, int) { return reader.value(first); });
}

void ask_set(Interpreter& in, std::string_view name, const Value& value) {
  Asked asked{&in, name};
  asked.value = &value;
  protected_call(in, set_body, &asked, [&](const Call&, int, int) {
    if (!asked.not_table.empty())
      throw type_error("'{}' of '{}' is no table that could hold a value", asked.not_table, name);
  });
}

}  // namespace rille::lua
