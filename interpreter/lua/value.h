// A Lua value in C++ hands: what natives take and return, deep copies of tables included. Nothing
// here knows lua.h, so that bindings don't either.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/budget.h"
#include "core/tensor.h"

namespace rille::lua {

/// A C++ object that scripts hold. `type()` names its class, whose methods were defined by
/// Interpreter::define_class.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type() const = 0;
};
using ObjectRef = std::shared_ptr<Object>;

class Callback;
using CallbackRef = std::shared_ptr<Callback>;

struct Value;
/// A table: positions from 1 in `list`, string keys in the order of their names.
struct Table {
  std::vector<Value> list;
  std::map<std::string, Value, std::less<>> named;
  Charge charge;  // for what was read out of a script's table (lua/call.h)
};

/// A contiguous tensor that becomes nested lists where it is given to a script.
struct Lists {
  Tensor values;
};

struct Value {
  std::variant<std::monostate, bool, int64_t, double, std::string, Tensor, ObjectRef, CallbackRef,
               std::shared_ptr<Table>, Lists>
      v;

  Value() = default;
  Value(bool b) : v(b) {}
  Value(int n) : v(static_cast<int64_t>(n)) {}
  Value(int64_t n) : v(n) {}
  Value(size_t n) : v(static_cast<int64_t>(n)) {}
  Value(double n) : v(n) {}
  Value(const char* s) : v(std::string(s)) {}
  Value(std::string_view s) : v(std::string(s)) {}
  Value(std::string s) : v(std::move(s)) {}
  Value(Tensor t) {
    if (t) v = std::move(t);
  }
  Value(ObjectRef o) : v(std::move(o)) {}
  Value(CallbackRef f) : v(std::move(f)) {}
  Value(Table t) : v(std::make_shared<Table>(std::move(t))) {}

  Value(Lists l) : v(std::move(l)) {}

  bool is_nil() const { return v.index() == 0; }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&v);
  }
  const Table* table() const {
    const auto* t = std::get_if<std::shared_ptr<Table>>(&v);
    return t ? t->get() : nullptr;
  }
};

}  // namespace rille::lua
