// What an interpreter allows its scripts and how much they may use of it: set before open_state.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/device.h"

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
  std::vector<Device> devices;      // granted to scripts, the first by default; empty: all

  /// Whether scripts are not trusted to end by themselves.
  bool limited() const {
    return memory_limit > 0 || lua_memory_limit > 0 || tensor_memory_limit > 0 ||
           instruction_limit > 0 || time_limit > 0;
  }
};

/// The device that a script means by `text`; "auto" is the default of what is granted to it. Shapes
/// alone (meta) take nothing and are always granted. Throws what parse_device throws, and E_SANDBOX
/// for a device that the policy withholds.
Device granted_device(const Policy& policy, std::string_view text);

/// From any thread: the script of an interruptible interpreter stops with E_INTERRUPTED. One that
/// comes while nothing runs stops the next run.
void request_stop(Interpreter& in) noexcept;

}  // namespace rille::lua
