#include "interpreter/lua/field_call.h"

#include <lua.hpp>

#include "core/fail.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/read_args.h"

namespace rille::lua {
namespace {

constexpr int kMaxResults = 4;

// Where the parts of a call lie on the stack.
struct Places {
  FieldCall* object = nullptr;
  int fields = 0;    // the first field's value
  int training = 0;  // the value of that field
  Arranged inputs;
  Box* boxes[kMaxResults] = {};
};

std::vector<Tensor> read_fields(lua_State* L, const Interpreter& in, const Places& at) {
  std::vector<Tensor> out;
  int i = at.fields;
  for (const std::string& name : at.object->fields()) {
    TensorImpl* p = peek_tensor(L, i, in);
    if (!p && lua_type(L, i) != LUA_TNIL)
      throw type_error("'{}' must be a tensor, got {}", name, describe_value(L, i, in));
    out.push_back(p ? tensor_of(p) : Tensor());
    ++i;
  }
  return out;
}

// C++ lives and dies in here. False: an error was prepared.
bool call_guarded(lua_State* L, Interpreter& in, const Places& at) noexcept {
  const Entered entered(in, L);
  const OpInfo* schema = nullptr;
  try {
    if (!at.object) throw type_error("'layer' must be a layer, got {}", describe_value(L, 1, in));
    schema = &at.object->inputs();
    const ArgBlock inputs(*schema);
    read_args(L, in, *schema, at.inputs, inputs.get());
    Results results;
    at.object->call(read_fields(L, in, at), inputs.get(), lua_toboolean(L, at.training), results);
    for (size_t i = 0; i < results.size(); ++i) fill(at.boxes[i], results[i]);
    return true;
  } catch (Error& e) {
    if (schema && e.op().empty()) e.op(schema->name);
    diagnose(L, in, std::move(e), schema, at.inputs.at);
  } catch (const std::bad_alloc&) {
    diagnose(L, in, Error(Kind::memory, "E_OOM", "out of memory"), nullptr, nullptr);
  } catch (const std::exception& e) {
    diagnose(L, in, internal_error("{}", e.what()), nullptr, nullptr);
  }
  return false;
}

void push_field(lua_State* L, int table, std::string_view name) {
  lua_pushlstring(L, name.data(), name.size());
  lua_rawget(L, table);
}

int entry(lua_State* L) {
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(1)));
  follow_coroutine(L, in);
  Places at;
  const ObjectRef* object = peek_object(L, 1, in);
  at.object = object ? dynamic_cast<FieldCall*>(object->get()) : nullptr;
  if (at.object) {
    luaL_checktype(L, 2, LUA_TTABLE);
    const OpInfo& schema = at.object->inputs();
    const int count = static_cast<int>(at.object->fields().size()), top = lua_gettop(L) - 2;
    luaL_checkstack(L, count + 2 * kMaxFields + 16, "rille");
    lua_rotate(L, 1, -2);  // the inputs first, then object and table
    at.fields = top + 3;
    for (const std::string& name : at.object->fields()) push_field(L, top + 2, name);
    push_field(L, top + 2, "training");
    at.training = lua_gettop(L);
    arrange(L, schema, top, at.inputs);
    for (int i = 0; i < at.object->results(); ++i) at.boxes[i] = push_tensor_box(L, in);
  }
  if (!call_guarded(L, in, at)) return raise_prepared(L, in);
  pace_collector(L, in);
  return at.object->results();
}

}  // namespace

void define_field_call(Interpreter& in, std::string_view module, std::string_view name) {
  lua_State* L = in.L;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, -1, std::string(module).c_str());
  lua_pushlstring(L, name.data(), name.size());
  lua_pushlightuserdata(L, &in);
  lua_pushcclosure(L, entry, 1);
  lua_rawset(L, -3);
  lua_pop(L, 2);
}

}  // namespace rille::lua
