// The userdata that scripts hold: a tag, and a slot of the interpreter's list of what boxes own
// (lua/owned.h), so that C++ can free what a box holds without reaching into Lua's memory. A value
// is taken for a box only if it is a full userdata that the list knows by its address; where it is
// closed, so that its slot holds nothing, if its metatable is ours and its tag is right.
#pragma once
#include <lua.hpp>

#include "core/tensor.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

struct Box {
  static constexpr uint32_t kMagic = 0x524c4c00;
  uint32_t tag;   // magic plus the kind
  uint32_t slot;  // of Interpreter::owned; kNone once finalized

  static uint32_t tag_of(BoxKind kind) { return kMagic + static_cast<uint32_t>(kind); }
};

/// Pushes an empty box with the tensor metatable: may raise for want of memory, owns nothing yet.
Box* push_tensor_box(lua_State* L, Interpreter& in);
/// The same where the metatable lies at a stack or upvalue index.
Box* push_tensor_box(lua_State* L, Interpreter& in, int metatable);
Box* push_object_box(lua_State* L, Interpreter& in, std::string_view type);

/// The tensor at a stack index, or null. Raises nothing. A closed tensor is no tensor.
TensorImpl* peek_tensor(lua_State* L, int i, const Interpreter& in);
/// The object at a stack index, or null.
ObjectRef* peek_object(lua_State* L, int i, const Interpreter& in);
/// The slot of a tensor, or kNone.
uint32_t slot_of(lua_State* L, int i, const Interpreter& in);
/// True for one of our boxes that a script has closed or freed.
bool is_closed_box(lua_State* L, int i, const Interpreter& in);
/// Where that was, for such a box.
Owned::Closing closing_of(lua_State* L, int i, const Interpreter& in);
/// True for a tensor, closed or not.
bool is_tensor_box(lua_State* L, int i, const Interpreter& in);

/// The box owns the value from now on.
inline void fill(Interpreter& in, Box* box, Tensor t) noexcept {
  if (t) in.owned.put(box->slot, BoxKind::tensor, t.release());
}
inline void fill(Interpreter& in, Box* box, ObjectRef* taken) noexcept {
  in.owned.put(box->slot, BoxKind::object, taken);
}

/// A counted look at the tensor of a box.
inline Tensor tensor_of(TensorImpl* p) {
  add_reference(p->refs);
  return Tensor(p);
}

/// Makes the metatables of tensors and objects; the former stays on the stack.
void make_tensor_metatable(lua_State* L, Interpreter& in);
void make_object_metatable(lua_State* L, Interpreter& in, std::string_view type);

}  // namespace rille::lua
