// One Lua state with what Rille keeps beside it: the context that ops run in, the metatables by
// address, the sources of loaded chunks for error texts, results and errors on their way into Lua.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/context.h"
#include "core/error.h"
#include "interpreter/lua/value.h"

struct lua_State;

namespace rille::lua {

/// What a Lua error carries: the C++ error and where the script was.
struct Raised {
  Error error;
  std::string where;  // "mnist.lua:31"
  std::string text;   // everything, as __tostring shows it
  std::string kind;   // "shape"; scripts' own kinds, too
  int status = 1;     // what the program exits with if nobody catches it
};

struct Interpreter {
  lua_State* L = nullptr;        // the main thread; null once closed
  lua_State* running = nullptr;  // the coroutine that called us last
  Context context;
  const void* tensor_metatable = nullptr;
  std::map<std::string, std::unique_ptr<char>, std::less<>> classes;  // address: registry key
  std::set<const void*> object_metatables;
  std::unordered_map<std::string, std::string> chunks;  // "=(command line)" -> its text
  std::vector<std::string> arguments;

  // On their way from C++ to Lua. They live here, not on the C stack, so that an error of Lua's
  // allocator while they are pushed leaks nothing.
  std::vector<Value> results;
  std::vector<Tensor> tensors;
  std::optional<Raised> raised;

  lua_State* modes_of = nullptr;  // whose modes context.flags holds

  // Garbage the collector can't see: it is told of tensor bytes (reliability 5.4).
  int64_t bytes_after_collect = 0;
  int calls_since_step = 0;
  bool collecting = false;
};

/// The interpreter of a state.
Interpreter& interpreter_of(lua_State* L);

/// Lets Lua's collector follow the tensors: called where it may run finalizers.
void pace_collector(lua_State* L, Interpreter& in);

/// Enters the interpreter's context for the time of one call from Lua.
class Entered {
 public:
  Entered(Interpreter& in, lua_State* L)
      : in_(in), thread_(std::exchange(in.running, L)), before_(Context::enter(&in.context)) {}
  ~Entered() {
    Context::enter(before_);
    in_.running = thread_;
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Interpreter& in_;
  lua_State* thread_;
  Context* before_;
};

/// Modes (grad, inference, ...) belong to the coroutine: called where another one may be running.
/// May raise for want of memory.
void switch_modes(lua_State* L, Interpreter& in);
inline void follow_coroutine(lua_State* L, Interpreter& in) {
  if (L != in.modes_of) [[unlikely]]
    switch_modes(L, in);
}

}  // namespace rille::lua
