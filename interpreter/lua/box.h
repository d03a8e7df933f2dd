// The userdata that scripts hold. 16 bytes: a magic number, the kind, and a pointer that C++ owns.
// A value is taken for a box only if it is a full userdata whose metatable is, by address, ours.
#pragma once
#include <lua.hpp>

#include "core/tensor.h"
#include "interpreter/lua/value.h"

namespace rille::lua {

enum class BoxKind : uint16_t { tensor = 1, object = 2 };

struct Box {
  static constexpr uint32_t kMagic = 0x524c4c45;
  uint32_t magic;
  BoxKind kind;
  uint16_t unused;
  void* impl;  // TensorImpl*, or ObjectRef*; null once freed
};

struct Interpreter;

/// Pushes an empty box with the tensor metatable: may raise for want of memory, owns nothing yet.
Box* push_tensor_box(lua_State* L, Interpreter& in);
Box* push_object_box(lua_State* L, Interpreter& in, std::string_view type);

/// The tensor at a stack index, or null. Raises nothing. A closed tensor is no tensor.
TensorImpl* peek_tensor(lua_State* L, int i, const Interpreter& in);
/// The object at a stack index, or null.
ObjectRef* peek_object(lua_State* L, int i, const Interpreter& in);
/// True for one of our boxes that a script has closed or freed.
bool is_closed_box(lua_State* L, int i, const Interpreter& in);

inline void fill(Box* box, Tensor t) {
  box->impl = t.impl();
  if (t) t.impl()->refs.fetch_add(1, std::memory_order_relaxed);
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
