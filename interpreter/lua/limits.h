// How the limits of a policy reach scripts: a count hook on every coroutine, looks at the budget
// where scripts enter natives, and errors that no pcall can hide.
#pragma once
#include <optional>
#include <string>

#include "interpreter/lua/interpreter.h"

namespace rille::lua {

/// Gives `in` the budget that its policy asks for, if any. Before the state is made.
void make_budget(Interpreter& in);

/// Sets the hook that counts instructions, or takes another one away where nothing is limited.
void watch_instructions(lua_State* L, const Interpreter& in);

/// Has the hook come after the next instruction, for one may take longer now. Called by the heap.
void look_soon(Interpreter& in) noexcept;

/// Before the coroutine `co` runs: its count may be from a time when instructions were faster.
/// Raises where the run is over.
void watch_resumed(lua_State* L, lua_State* co, Interpreter& in);

/// Counts work that a C function does in a loop as so many instructions; raises where the run is
/// over. For functions that own nothing.
void spend(lua_State* L, Interpreter& in, int64_t instructions);

/// Inside `guarded`: throws where the run is over or too much memory is in use.
void check_budget(lua_State* L, Interpreter& in);

/// Puts E_BUDGET in the place of Lua's "not enough memory" on top of the stack, where it was the
/// budget that refused. May raise.
void name_the_limit(lua_State* L, Interpreter& in, int status);

/// Whether a traceback would take longer than a run may go on after its end: the time grows with
/// the stack.
bool too_deep_to_show(lua_State* L);

/// A run of a chunk or function: limits hold, and count from its beginning. Runs inside it belong
/// to it. What a run in the sandbox, or one that had to end early, left of modes, defaults and
/// scopes ends with it.
class LimitedRun {
 public:
  explicit LimitedRun(Interpreter& in);
  ~LimitedRun();
  LimitedRun(const LimitedRun&) = delete;
  LimitedRun& operator=(const LimitedRun&) = delete;

  /// The text of the error that ended it early, also where the script hid that error; nothing
  /// for a run that ended by itself.
  std::optional<std::string> ended_early() const;

 private:
  void leave_modes();
  Interpreter& in_;
  bool outermost_;
  uint32_t flags_;
  DType dtype_;
  Device device_;
  size_t saved_hooks_;
};

}  // namespace rille::lua
