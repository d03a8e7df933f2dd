// What an interpreter allows its scripts and how much they may use of it: set before open_state.
#pragma once
#include <cstdint>

namespace rille::lua {

struct Interpreter;

/// Without a limit (0) and out of the sandbox nothing is counted and no hook is set.
struct Policy {
  bool sandbox = false;             // no files, processes, environment, addresses
  bool interruptible = false;       // request_stop works; costs a count hook
  bool interactive = false;         // signals stop the loops of Lua's libraries, too
  int64_t memory_limit = 0;         // bytes of Lua's heap and of tensors together
  int64_t lua_memory_limit = 0;     // bytes of Lua's heap
  int64_t tensor_memory_limit = 0;  // bytes of tensors
  int64_t instruction_limit = 0;    // Lua instructions of a run
  double time_limit = 0;            // seconds of a run

  /// Whether scripts are not trusted to end by themselves.
  bool limited() const {
    return memory_limit > 0 || lua_memory_limit > 0 || tensor_memory_limit > 0 ||
           instruction_limit > 0 || time_limit > 0;
  }
};

/// From any thread: the script of an interruptible interpreter stops with E_INTERRUPTED. One that
/// comes while nothing runs stops the next run.
void request_stop(Interpreter& in) noexcept;

}  // namespace rille::lua
