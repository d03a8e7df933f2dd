#include "interpreter/lua/define.h"

#include <lua.hpp>

#include "interpreter/lua/box.h"
#include "interpreter/lua/index_entry.h"
#include "interpreter/lua/op_entry.h"
#include "interpreter/lua/sandbox.h"
#include "ops/op_info.h"

namespace rille::lua {
namespace {

const char kMethodsKey = 0;  // registry: the table of tensors' methods

void set_natives(lua_State* L, Interpreter& in, std::span<const NativeEntry> list) {
  add_natives(L, in, list.data(), list.data() + list.size());
}

void push_methods(lua_State* L, Interpreter& in, std::span<const NativeEntry> natives) {
  lua_newtable(L);
  for (const OpInfo* op : public_ops()) {
    if (!op->method) continue;
    lua_pushlstring(L, op->name.data(), op->name.size());  // no string of C++'s: Lua may raise here
    push_op(L, in, *op, OpForm::plain);
    lua_rawset(L, -3);
    if (!op->in_place) continue;
    push_op(L, in, *op, OpForm::in_place);
    lua_setfield(L, -2, op->in_place_name);
  }
  set_natives(L, in, natives);
}

void set_operators(lua_State* L, Interpreter& in) {
  struct Operator {
    const char* metamethod;
    const char* op;
    OpForm form;
  };
  constexpr Operator operators[] = {
      {"__add", "add", OpForm::plain},           {"__sub", "sub", OpForm::plain},
      {"__mul", "mul", OpForm::plain},           {"__div", "div", OpForm::plain},
      {"__idiv", "floor_divide", OpForm::plain}, {"__mod", "remainder", OpForm::plain},
      {"__pow", "pow", OpForm::plain},           {"__unm", "neg", OpForm::unary_operator}};
  for (const Operator& o : operators) {
    const OpInfo* op = find_op(o.op);
    if (!op) continue;
    push_op(L, in, *op, o.form);
    lua_setfield(L, -2, o.metamethod);
  }
}

// The table that a dotted name's last part goes into, made as needed.
void push_holder(lua_State* L, std::string_view& name) {
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
    const std::string_view part = name.substr(0, dot);
    name.remove_prefix(dot + 1);
    lua_pushlstring(L, part.data(), part.size());
    if (lua_rawget(L, -2) != LUA_TTABLE) {
      lua_pop(L, 1);
      lua_newtable(L);
      lua_pushlstring(L, part.data(), part.size());
      lua_pushvalue(L, -2);
      lua_rawset(L, -4);
    }
    lua_remove(L, -2);
  }
}

}  // namespace

void define_tensor(Interpreter& in, const TensorClass& c) {
  lua_State* L = in.L;
  make_tensor_metatable(L, in);
  set_operators(L, in);
  set_natives(L, in, c.operators);

  push_methods(L, in, c.methods);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kMethodsKey);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, -1, "rille.native");
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "tensor_methods");  // the Lua half adds its own
  lua_pop(L, 2);
  lua_newtable(L);
  set_natives(L, in, c.getters);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "rille.native");
  lua_pushvalue(L, -3);
  lua_setfield(L, -2, "tensor_fields");
  lua_pop(L, 2);
  push_tensor_index(L, in, c.get_index);
  lua_setfield(L, -2, "__index");

  lua_newtable(L);
  set_natives(L, in, c.setters);
  push_tensor_newindex(L, in, c.set_index);
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
}

void add_tensor_methods(Interpreter& in, std::span<const NativeEntry> methods) {
  lua_rawgetp(in.L, LUA_REGISTRYINDEX, &kMethodsKey);
  set_natives(in.L, in, methods);
  lua_pop(in.L, 1);
}

void define_ops(Interpreter& in) {
  lua_State* L = in.L;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, -1, "rille");
  for (const OpInfo* op : public_ops()) {
    lua_pushlstring(L, op->name.data(), op->name.size());
    push_op(L, in, *op, OpForm::plain);
    lua_rawset(L, -3);
  }
  luaL_getsubtable(L, -2, "rille.native");
  push_share_op(L, in);
  lua_setfield(L, -2, "share_op");
  lua_pop(L, 3);
}

void define_class(Interpreter& in, std::string_view type, std::span<const NativeEntry> methods,
                  std::span<const NativeEntry> metamethods) {
  lua_State* L = in.L;
  make_object_metatable(L, in, type);
  lua_newtable(L);
  set_natives(L, in, methods);
  lua_setfield(L, -2, "__index");
  set_natives(L, in, metamethods);
  lua_pop(L, 1);
}

namespace {

void define_each(Interpreter& in, std::string_view module, std::span<const NativeEntry> list,
                 bool granted) {
  lua_State* L = in.L;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, -1, std::string(module).c_str());
  for (const NativeEntry& e : list) {
    std::string_view name = e.name;
    lua_pushvalue(L, -1);
    push_holder(L, name);
    lua_pushlstring(L, name.data(), name.size());
    if (granted)
      push_native(L, in, e.function, name.data());
    else
      push_refusal(L, e.name.data());
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
}

}  // namespace

void define_functions(Interpreter& in, std::string_view module, std::span<const NativeEntry> list) {
  define_each(in, module, list, true);
}

void define_outside(Interpreter& in, std::string_view module, std::span<const NativeEntry> list) {
  define_each(in, module, list, !in.policy.sandbox);
}

void define_value(Interpreter& in, std::string_view module, std::string_view name, const Value& v) {
  lua_State* L = in.L;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, -1, std::string(module).c_str());
  lua_pushlstring(L, name.data(), name.size());
  push_value(L, in, v);
  lua_rawset(L, -3);
  lua_pop(L, 2);
}

}  // namespace rille::lua
