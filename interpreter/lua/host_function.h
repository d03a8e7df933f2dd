// A C++ function that a host gives to scripts. As a value it is an object that becomes a Lua
// function when it is pushed; the function's box owns it, so it ends with the last reference of the
// script's, or when the interpreter closes.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "interpreter/lua/call.h"

namespace rille::lua {

class HostFunction final : public Object {
 public:
  static constexpr std::string_view kType = "rille.HostFunction";
  /// `name` is what errors call it. `body` may throw any std::exception.
  HostFunction(std::string name, std::function<void(Call&)> body)
      : name_(std::move(name)), body_(std::move(body)) {}
  std::string_view type() const override { return kType; }
  const std::string& name() const { return name_; }
  void operator()(Call& call) const { body_(call); }

 private:
  std::string name_;
  std::function<void(Call&)> body_;
};

/// Once for each interpreter, before such a function is pushed.
void define_host_functions(Interpreter& in);

/// Pushes one as a Lua function; may raise for want of memory.
void push_host_function(lua_State* L, Interpreter& in, const ObjectRef& function);

/// The value on top of the stack is what the host sets under that dotted name. Where it is a
/// function, bind_again sets it again, whatever scripts have put there since. May raise, both.
void remember_bound(lua_State* L, std::string_view name);
void bind_again(lua_State* L);

}  // namespace rille::lua
