// The second run of a checkpoint block that is a Lua function (autograd/block.h). It has a
// coroutine of its own: once all values that backward wants are there, the coroutine yields at its
// next call into C++ and is closed. So the run ends in the middle of the function without an error,
// which a pcall of the script's could take.
#pragma once
#include "interpreter/lua/interpreter.h"
#include "interpreter/lua/random_state.h"

namespace rille::lua {

/// Around a second run: those that run inside of it have coroutines of their own.
class SecondRunScope {
 public:
  explicit SecondRunScope(Interpreter& in);
  ~SecondRunScope();
  SecondRunScope(const SecondRunScope&) = delete;
  SecondRunScope& operator=(const SecondRunScope&) = delete;

 private:
  Interpreter& in_;
  lua_State* run_;
  lua_State* of_;
  lua_State* leaving_;
};

/// The coroutine that calls is the one of the second run.
void begin_second_run(Interpreter& in);
/// It may end now.
void end_second_run_early(Interpreter& in);
/// Whether it was told that it may.
bool may_end_early(const Interpreter& in);
/// Yields where `L` is the coroutine that may end, and can. Nothing of C++ may be alive.
void leave_second_run(lua_State* L, Interpreter& in);

}  // namespace rille::lua
