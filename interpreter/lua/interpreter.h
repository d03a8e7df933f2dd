// One Lua state with what Rille keeps beside it: the context that ops run in, the metatables by
// address, the sources of loaded chunks for error texts, results and errors on their way into Lua.
#pragma once
#include <atomic>
#include <csignal>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/budget.h"
#include "core/context.h"
#include "core/error.h"
#include "interpreter/lua/block_sizes.h"
#include "interpreter/lua/gate.h"
#include "interpreter/lua/owned.h"
#include "interpreter/lua/pace.h"
#include "interpreter/lua/policy.h"
#include "interpreter/lua/small_blocks.h"
#include "interpreter/lua/sources.h"
#include "interpreter/lua/value.h"

struct lua_State;

namespace rille::lua {

class Call;

/// What a program exits with where a script met one of its limits.
inline constexpr int kLimitStatus = 3;

/// What a Lua error carries: the C++ error and where the script was.
struct Raised {
  Error error;
  std::string where;  // "mnist.lua:31"
  std::string text;   // everything, as __tostring shows it
  std::string kind;   // "shape"; scripts' own kinds, too
  int status = 1;     // what the program exits with if nobody catches it
};

/// What tests ask of an interpreter before it opens: RILLE_GC_STRESS and RILLE_FAIL_ALLOC.
struct Stress {
  bool collect = false;    // a full collection at every call from Lua
  int64_t fail_at = 0;     // the number of the Lua allocation that fails first; 0: none does
  int64_t fail_count = 1;  // how many fail in a row; 0: all from then on
  bool repeat = false;     // after each fail_at allocations again
  int64_t allocations = 0;
  int64_t failures = 0;
};

/// Values on their way to Lua. References stay good while others are added; an empty list holds no
/// memory.
class Pending {
 public:
  size_t size() const { return size_; }
  Value& operator[](size_t i) { return (*list_)[i]; }
  template <class T>
  void push_back(T&& value) {
    if (!list_) [[unlikely]]
      list_ = std::make_unique<std::deque<Value>>();
    list_->emplace_back(std::forward<T>(value));
    ++size_;
  }
  /// Drops what was added since there were `size`.
  void resize(size_t size) {
    for (; size_ > size; --size_) list_->pop_back();
  }
  void clear() {
    list_.reset();
    size_ = 0;
  }

 private:
  size_t size_ = 0;  // asked at every call, and a deque has to compute it
  std::unique_ptr<std::deque<Value>> list_;
};

/// One that was never opened allocates nothing, so that it may be forgotten (lua/attach.h).
struct Interpreter {
  lua_State* L = nullptr;        // the main thread; null once closed
  lua_State* running = nullptr;  // the coroutine whose code runs
  Context context;
  const void* tensor_metatable = nullptr;
  Tensor (*get_index)(Call&) = nullptr;                               // what t[i] is
  std::map<std::string, std::unique_ptr<char>, std::less<>> classes;  // address: registry key
  std::set<const void*> object_metatables;
  Sources sources;  // "=(command line)" and its text
  std::vector<std::string> arguments;
  std::FILE* out = stdout;  // what print writes to
  std::FILE* log = stderr;  // warnings
  bool hosted = false;      // the process is a host's: its signals and terminal are its own
  bool owns_heap = false;   // Lua's heap is ours (lua/heap.h)

  // On their way from C++ to Lua. They live here, not on the C stack, so that an error of Lua's
  // allocator while they are pushed leaks nothing.
  Pending results;
  std::optional<Raised> raised;
  CallbackRef raised_value;  // an error that is a Lua value already
  std::string last_error;    // text of the one raised last, for warnings
  std::string traceback;     // of an error on its way to a host

  Owned owned;
  SmallBlocks small_blocks;
  BlockSizes block_sizes;  // kept where time is limited
  Stress stress;
  volatile std::sig_atomic_t signal = 0;  // that asked the script to stop
  int closing = 0;                        // depth of coroutines that close one another
  bool warned = false;                    // a warning is half written
  bool interrupted = false;               // a signal stopped what the shell runs: no pcall hides it

  lua_State* modes_of = nullptr;  // whose modes context.flags holds

  lua_State* second_run = nullptr;     // the coroutine of a block's second run (lua/second_run.h)
  lua_State* second_run_of = nullptr;  // the one whose backward wants it
  lua_State* leaving = nullptr;        // the first, once it has done what was wanted of it

  Pace pace;
  Policy policy;                            // set before open_state
  std::atomic<bool> stop_requested{false};  // by request_stop, and by signals
  Budget* signals = nullptr;                // what ops ask whether a signal ends them
  std::shared_ptr<Budget> budget;           // null without limits
  std::shared_ptr<Budget> owner_budget;     // of a worker: that of the run that it works for
  bool looks_soon = false;                  // the hook was told to come early
  std::string over_text;                    // the first error that told that a run is over
  int runs = 0;                             // chunks that run inside one another

  // The thread that opens it is inside until it is closed, or until it leaves.
  std::shared_ptr<Gate> gate;  // made when it opens
};

/// Lets Lua's collector follow the tensors. Called at the door, before a call reads its arguments:
/// it may run finalizers.
inline void pace_collector(lua_State* L, Interpreter& in) {
  if (in.owned.any_buried()) [[unlikely]]
    free_buried(in);
  if (++in.pace.calls >= Pace::kCalls || in.context.allocated_since_collect >= in.pace.quantum)
      [[unlikely]]
    at_the_door(L, in);
}

/// The interpreter of a state.
Interpreter& interpreter_of(lua_State* L);

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

/// Modes (grad, inference, ...) belong to the coroutine, but for deterministic mode, which is the
/// interpreter's: called where another one may be running.
/// May raise, for want of memory or because the interpreter is closed: a finalizer of an object
/// that is older than Rille in its state may still call.
void switch_modes(lua_State* L, Interpreter& in);
inline void follow_coroutine(lua_State* L, Interpreter& in) {
  if (L != in.modes_of) [[unlikely]]
    switch_modes(L, in);
}

/// Around Lua that a native calls: coroutines that run meanwhile keep their modes, the caller gets
/// its own back.
class KeptModes {
 public:
  explicit KeptModes(Interpreter& in) : in_(in), flags_(in.context.flags) {}
  ~KeptModes();
  KeptModes(const KeptModes&) = delete;
  KeptModes& operator=(const KeptModes&) = delete;

 private:
  Interpreter& in_;
  uint32_t flags_;
};

}  // namespace rille::lua
