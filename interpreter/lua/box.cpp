#include "interpreter/lua/box.h"

#include <utility>

#include "interpreter/lua/diagnose.h"

namespace rille::lua {
namespace {

// Of the metatable of tensors: four times what it holds, so that few names share a place. Lua looks
// one up for every operator.
constexpr int kRoom = 128;

// The box that an event is about: null where it is none, or finalized already. (For strings and
// tables lua_touserdata gives null, for light userdata lua_rawlen gives 0.)
Box* box_of_event(lua_State* L) {
  Box* b = static_cast<Box*>(lua_touserdata(L, 1));
  if (!b || lua_rawlen(L, 1) < sizeof(Box)) return nullptr;
  const bool ours =
      b->tag == Box::tag_of(BoxKind::tensor) || b->tag == Box::tag_of(BoxKind::object);
  return ours && b->slot != Owned::kNone ? b : nullptr;
}

// Both take any argument, any number of times, and call no Lua that raises.

// __gc: drops what a box owns, and its slot.
int finalize(lua_State* L) {
  Box* b = box_of_event(L);
  if (!b) return 0;
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(1)));
  in.owned.drop(std::exchange(b->slot, Owned::kNone));
  if (in.budget) in.budget->give(Owned::kBytes);
  return 0;
}

// __close: drops what a box owns. The slot stays, to tell where that was.
int close(lua_State* L) {
  if (const Box* b = box_of_event(L)) {
    Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(1)));
    in.owned.close(b->slot, {user_site(L), false});
  }
  return 0;
}

const Box* as_box(lua_State* L, int i, const Interpreter& in, BoxKind kind) {
  if (lua_type(L, i) != LUA_TUSERDATA || !lua_getmetatable(L, i)) return nullptr;
  const void* mt = lua_topointer(L, -1);
  lua_pop(L, 1);
  const bool ours =
      kind == BoxKind::tensor ? mt == in.tensor_metatable : in.object_metatables.contains(mt);
  if (!ours || lua_rawlen(L, i) < sizeof(Box)) return nullptr;
  const Box* b = static_cast<const Box*>(lua_touserdata(L, i));
  return b->tag == Box::tag_of(kind) ? b : nullptr;
}

// What a live box holds. The interpreter's list knows the address of each box, and a box leaves the
// list before Lua frees it, so what a foreign userdata of that size says of itself is never
// believed.
void* held(lua_State* L, int i, const Interpreter& in, BoxKind kind) {
  const Box* b = static_cast<const Box*>(lua_touserdata(L, i));
  if (!b || lua_rawlen(L, i) < sizeof(Box)) return nullptr;
  return in.owned.held_by(b, b->slot, kind);
}

// A box without metatable or slot: its finalizer does nothing yet.
Box* push_box(lua_State* L, BoxKind kind) {
  Box* b = static_cast<Box*>(lua_newuserdatauv(L, sizeof(Box), 0));
  *b = {Box::tag_of(kind), Owned::kNone};
  return b;
}

// The metatable is on top of the stack.
Box* finish_box(lua_State* L, Interpreter& in, Box* b) {
  lua_setmetatable(L, -2);
  b->slot = in.owned.take(b);
  if (b->slot == Owned::kNone) luaL_error(L, "not enough memory");
  in.owned.note(b->slot, L);
  if (in.budget) in.budget->add(Owned::kBytes);
  return b;
}

void set_event(lua_State* L, Interpreter& in, const char* event, lua_CFunction function) {
  lua_pushlightuserdata(L, &in);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, event);
}

void finish_metatable(lua_State* L, Interpreter& in, BoxKind kind) {
  if (kind == BoxKind::object || !in.owns_heap) set_event(L, in, "__gc", finalize);
  set_event(L, in, "__close", close);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
}

}  // namespace

Box* push_tensor_box(lua_State* L, Interpreter& in) {
  Box* b = push_box(L, BoxKind::tensor);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &in.tensor_metatable);
  return finish_box(L, in, b);
}

Box* push_tensor_box(lua_State* L, Interpreter& in, int metatable) {
  Box* b = push_box(L, BoxKind::tensor);
  lua_pushvalue(L, metatable);
  return finish_box(L, in, b);
}

Box* push_object_box(lua_State* L, Interpreter& in, std::string_view type) {
  Box* b = push_box(L, BoxKind::object);
  lua_rawgetp(L, LUA_REGISTRYINDEX, in.classes.find(type)->second.get());
  return finish_box(L, in, b);
}

TensorImpl* peek_tensor(lua_State* L, int i, const Interpreter& in) {
  return static_cast<TensorImpl*>(held(L, i, in, BoxKind::tensor));
}

ObjectRef* peek_object(lua_State* L, int i, const Interpreter& in) {
  return static_cast<ObjectRef*>(held(L, i, in, BoxKind::object));
}

bool is_closed_box(lua_State* L, int i, const Interpreter& in) {
  const Box* b = as_box(L, i, in, BoxKind::tensor);
  if (!b) b = as_box(L, i, in, BoxKind::object);
  return b && !in.owned.held(b->slot);
}

Owned::Closing closing_of(lua_State* L, int i, const Interpreter& in) {
  const Box* b = as_box(L, i, in, BoxKind::tensor);
  if (!b) b = as_box(L, i, in, BoxKind::object);
  return b ? in.owned.closing(b->slot) : Owned::Closing{};
}

uint32_t slot_of(lua_State* L, int i, const Interpreter& in) {
  const Box* b = as_box(L, i, in, BoxKind::tensor);
  return b ? b->slot : Owned::kNone;
}

bool is_tensor_box(lua_State* L, int i, const Interpreter& in) {
  return as_box(L, i, in, BoxKind::tensor) != nullptr;
}

void make_tensor_metatable(lua_State* L, Interpreter& in) {
  lua_createtable(L, 0, kRoom);
  lua_pushliteral(L, "rille.Tensor");
  lua_setfield(L, -2, "__name");
  finish_metatable(L, in, BoxKind::tensor);
  in.tensor_metatable = lua_topointer(L, -1);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &in.tensor_metatable);
}

void make_object_metatable(lua_State* L, Interpreter& in, std::string_view type) {
  auto& key = in.classes[std::string(type)];
  key = std::make_unique<char>();
  lua_newtable(L);
  lua_pushlstring(L, type.data(), type.size());
  lua_setfield(L, -2, "__name");
  finish_metatable(L, in, BoxKind::object);
  in.object_metatables.insert(lua_topointer(L, -1));
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key.get());
}

}  // namespace rille::lua
