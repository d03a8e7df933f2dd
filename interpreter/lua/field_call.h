// Calls of C++ objects whose tensors are fields of a Lua table: layers of nn, whose module is such
// a table. What stands in the fields at the time of the call is what the object computes with.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "interpreter/lua/interpreter.h"
#include "ops/op_info.h"

namespace rille::lua {

class FieldCall : public Object {
 public:
  /// What the call takes.
  virtual const OpInfo& inputs() const = 0;
  /// How many tensors it gives.
  virtual int results() const = 0;
  /// Names of the fields that hold tensors.
  virtual std::span<const std::string> fields() const = 0;
  /// `tensors` are those of the fields, empty where the table has none. `training` is the table's
  /// field of that name.
  virtual void call(std::span<const Tensor> tensors, const void* inputs, bool training,
                    Results& out) = 0;
};

/// Defines module.name(object, table, inputs...).
void define_field_call(Interpreter& in, std::string_view module, std::string_view name);

}  // namespace rille::lua
