// The middle phase of a call from Lua: C++ lives and dies inside `guarded`, where Lua is asked and
// never told to raise; only then, with nothing left to destroy, does raise_prepared raise.
#pragma once
#include <exception>
#include <string_view>

#include "interpreter/lua/interpreter.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/unit.h"
#include "ops/op_info.h"

namespace rille::lua {

/// Whom an error names where it names nobody, and the stack indices of the op's fields.
struct Blame {
  std::string_view op;
  const OpInfo* schema = nullptr;
  const int* args = nullptr;
};

/// Called in a catch block: puts the exception at hand into `in.raised`.
void prepare_error(lua_State* L, Interpreter& in, const Blame& blame) noexcept;

/// False: an error was prepared. Only std::exception is caught: in the C++ build of Lua an error of
/// Lua's own is another type, and must pass.
template <class Work>
bool guarded(lua_State* L, Interpreter& in, const Blame& blame, Work&& work) noexcept {
  if (in.stress.collect) [[unlikely]]
    collect(L, in);
  const Entered entered(in, L);
  const LimitedCall call(L, in.budget.get());
  try {
    if (in.budget) [[unlikely]]
      check_budget(L, in);
    work();
    return true;
  } catch (const std::exception&) {
    prepare_error(L, in, blame);
  }
  return false;
}

/// After a protected step of ours that nothing but want of memory can fail: takes its error off the
/// stack and throws. A hook that the host has set (Ctrl-C in the stock interpreter) may have raised
/// it, too: that is E_INTERRUPTED, with the hook's own text.
[[noreturn]] void throw_stopped(lua_State* L, int status);

}  // namespace rille::lua
