// Updates that are whole (core/budget.h, Unit) where they are written in Lua: native.unit(f, ...)
// runs a function of the library's in one. Scripts' code that it calls is outside of it, and is
// stopped as ever.
#pragma once
#include "core/budget.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Whether the library's code, not a script's, runs in `L` or has called the C function that does.
bool library_runs(lua_State* L);

/// A stop is put off while the library's own code is in a unit.
bool puts_off_stop(lua_State* L);

/// For as long as it lives, a call from `L` counts to the budget; one that a script made from
/// inside of a unit stands outside of it. Does nothing without a budget.
class LimitedCall {
 public:
  LimitedCall(lua_State* L, Budget* budget) : spending_(budget) {
    if (budget) [[unlikely]]
      held_ = suspend(L);
  }
  ~LimitedCall() {
    if (held_ > 0) [[unlikely]]
      Unit::resume(held_);
  }
  LimitedCall(const LimitedCall&) = delete;
  LimitedCall& operator=(const LimitedCall&) = delete;

 private:
  static int suspend(lua_State* L);

  const Spending spending_;
  int held_ = 0;
};

/// Makes native.unit: the native module is on top of the stack. May raise.
void add_unit(lua_State* L);

}  // namespace rille::lua
