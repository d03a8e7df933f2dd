// What bindings say to the interpreter when it is opened: methods, fields, classes, modules.
#pragma once
#include <span>
#include <string_view>

#include "interpreter/lua/call.h"

namespace rille::lua {

/// Scripts' tensors: ops as methods, these natives, fields that are read (t.dtype) and set
/// (t.grad = x), and what indexing by anything else does.
struct TensorClass {
  std::span<const NativeEntry> methods, getters, setters, operators;
  GetIndex get_index;
  Native set_index;
};
void define_tensor(Interpreter& in, const TensorClass& c);

/// More methods for tensors, from another file.
void add_tensor_methods(Interpreter& in, std::span<const NativeEntry> methods);

/// Every op as a function of `rille`.
void define_ops(Interpreter& in);

/// A class of objects with methods.
void define_class(Interpreter& in, std::string_view type, std::span<const NativeEntry> methods,
                  std::span<const NativeEntry> metamethods = {});

/// Fields of `rille` (dots make tables: "memory.peak") or of `rille.native`.
void define_functions(Interpreter& in, std::string_view module, std::span<const NativeEntry> list);

/// The same for functions that reach outside of the interpreter: files, threads, signals, settings
/// of the process. In the sandbox they raise E_SANDBOX.
void define_outside(Interpreter& in, std::string_view module, std::span<const NativeEntry> list);

/// A constant of such a module.
void define_value(Interpreter& in, std::string_view module, std::string_view name, const Value& v);

}  // namespace rille::lua
