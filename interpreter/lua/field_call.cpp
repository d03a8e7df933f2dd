#include "interpreter/lua/field_call.h"

#include <lua.hpp>

#include "core/fail.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/read_args.h"

namespace rille::lua {
namespace {

constexpr int kMaxResults = 4;

// Where the parts of a call lie on the stack.
struct Places {
  FieldCall* object = nullptr;
  int layer = 1;     // the object
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

void push_field(lua_State* L, int table, std::string_view name) {
  lua_pushlstring(L, name.data(), name.size());
  lua_rawget(L, table);
}

// Finds the parts and makes boxes for the results. The object stays on the stack, so it stays alive
// unless a script closes it.
void arrange_call(lua_State* L, Interpreter& in, Places& at) {
  luaL_checktype(L, 2, LUA_TTABLE);
  const OpInfo& schema = at.object->inputs();
  const int count = static_cast<int>(at.object->fields().size()), top = lua_gettop(L) - 2;
  luaL_checkstack(L, count + 2 * kMaxFields + 16, "rille");
  lua_rotate(L, 1, -2);  // the inputs first, then object and table
  at.layer = top + 1;
  at.fields = top + 3;
  for (const std::string& name : at.object->fields()) push_field(L, top + 2, name);
  push_field(L, top + 2, "training");
  at.training = lua_gettop(L);
  arrange(L, schema, top, at.inputs);
  for (int i = 0; i < at.object->results(); ++i) at.boxes[i] = push_tensor_box(L, in);
}

FieldCall* peek_layer(lua_State* L, const Interpreter& in, int i) {
  const ObjectRef* object = peek_object(L, i, in);
  return object ? dynamic_cast<FieldCall*>(object->get()) : nullptr;
}

void run(lua_State* L, Interpreter& in, const Places& at) {
  if (!peek_layer(L, in, at.layer))
    throw type_error("'layer' must be a layer, got {}", describe_value(L, at.layer, in));
  const ObjectRef kept = *peek_object(L, at.layer, in);  // a hook may close it
  FieldCall& layer = *at.object;
  const ArgBlock inputs(layer.inputs());
  read_args(L, in, layer.inputs(), at.inputs, inputs.get());
  Results results;
  layer.call(read_fields(L, in, at), inputs.get(), lua_toboolean(L, at.training), results);
  for (size_t i = 0; i < results.size(); ++i) fill(in, at.boxes[i], std::move(results[i]));
}

int entry(lua_State* L) {
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(1)));
  luaL_checkstack(L, 32, "rille");
  follow_coroutine(L, in);
  pace_collector(L, in);
  const size_t first = in.results.size();
  Places at;
  Blame blame;
  at.object = peek_layer(L, in, 1);
  if (at.object) {
    const OpInfo& schema = at.object->inputs();
    arrange_call(L, in, at);
    blame = {schema.name, &schema, at.inputs.at};
  }
  if (!guarded(L, in, blame, [&] { run(L, in, at); })) return raise_prepared(L, in, first);
  const int results = at.object->results();
  return results;
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
