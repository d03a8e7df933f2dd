// Values on their way from one Lua state to another: taken out of the first into C++, rebuilt in
// the second, which may run on another thread. A parcel holds nothing of either state. Shared
// references and shared upvalues stay shared; tensors share their storage and leave their graph
// behind.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "interpreter/lua/call.h"

namespace rille::lua {

struct Parcel {
  /// The number of a node.
  struct Ref {
    size_t node;
  };
  using Item = std::variant<std::monostate, bool, int64_t, double, std::string, Tensor, Ref>;

  struct Globals {};
  /// A module of ours, or where `field` is not empty what that field of it holds.
  struct Named {
    std::string module, field;
  };
  struct Table {
    std::vector<std::pair<Item, Item>> entries;
    Item metatable;
  };
  struct Upvalue {
    Item value;
    bool joined = false;  // the variable is upvalue `index` of the function `node` instead
    size_t node = 0;
    int index = 0;
  };
  struct Function {
    std::string code;
    std::vector<Upvalue> upvalues;
  };

  std::vector<std::variant<Globals, Named, Table, Function>> nodes;
  Item root;
  Charge charge;  // for all of it
};

/// Makes what pack needs to be found. Called once, when the bindings are defined.
void prepare_shipping(Interpreter& in);

/// Takes out the value at stack index `i` of the running thread. Throws E_TYPE for what can't
/// cross, naming the upvalue; raises nothing.
Parcel pack(Interpreter& in, int i);

/// package.path, so that another state finds the same modules.
std::string search_path(Interpreter& in);

/// Pushes the value. May raise: under pcall only, where the parcel outlives the call.
void push_parcel(lua_State* L, Interpreter& in, const Parcel& parcel);

/// The value, held for being given to Lua.
Value unpack(Interpreter& in, const Parcel& parcel);

}  // namespace rille::lua
