// Around Lua that C++ runs: stack, modes and the results on their way are put back to what they
// were, on errors too.
#pragma once
#include <lua.hpp>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

class KeptState {
 public:
  KeptState(lua_State* L, Interpreter& in)
      : L_(L), in_(in), top_(lua_gettop(L)), results_(in.results.size()), modes_(in) {}
  ~KeptState() {
    lua_settop(L_, top_);
    in_.results.resize(results_);
  }
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;
  int top() const { return top_; }

 private:
  lua_State* L_;
  Interpreter& in_;
  int top_;
  size_t results_;
  KeptModes modes_;
};

}  // namespace rille::lua
