// The userdata that scripts hold. 16 bytes: a tag, its slot in the interpreter's list, and a pointer
// that C++ owns. A value is taken for a box only if it is a full userdata whose metatable is, by
// address, ours, and whose tag is right.
#pragma once
#include <lua.hpp>

#include "core/tensor.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

struct Box {
  static constexpr uint32_t kMagic = 0x524c4c00;
  uint32_t tag;   // magic plus the kind
  uint32_t slot;  // of Interpreter::owned
  void* impl;     // TensorImpl*, or ObjectRef*; null until filled and once freed

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
/// True for one of our boxes that a script has closed or freed.
bool is_closed_box(lua_State* L, int i, const Interpreter& in);

/// The box owns the value from now on.
inline void fill(Interpreter& in, Box* box, const Tensor& t) noexcept {
  if (!t) return;
  t.impl()->refs.fetch_add(1, std::memory_order_relaxed);
  box->impl = t.impl();
  in.owned.put(box->slot, BoxKind::tensor, t.impl());
}
inline void fill(Interpreter& in, Box* box, ObjectRef* taken) noexcept {
  box->impl = taken;
  in.owned.put(box->slot, BoxKind::object, taken);
}

/// A counted look at the tensor of a box.
inline Tensor tensor_of(TensorImpl* p) {
  p->refs.fetch_add(1, std::memory_order_relaxed);
  return Tensor(p);
}

/// Makes the metatables of tensors and objects; the former stays on the stack.
void make_tensor_metatable(lua_State* L, Interpreter& in);
void make_object_metatable(lua_State* L, Interpreter& in, std::string_view type);

}  // namespace rille::lua
