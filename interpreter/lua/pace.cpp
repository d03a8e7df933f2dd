#include "interpreter/lua/pace.h"

#include <lua.hpp>

#include <algorithm>
#include <utility>

#include "core/allocator.h"
#include "interpreter/lua/interpreter.h"

namespace rille::lua {
namespace {

constexpr int64_t kSmallGraph = int64_t{4} << 20;

int64_t live() { return memory::allocated(); }

// A full collection takes about 0.2 ns for a byte of Lua's heap, making a tensor 0.1 ns for a byte
// at the very least: after this many bytes for each byte of heap it takes some percents of the
// time.
bool worth_full(lua_State* L, const Pace& pace) {
  const int64_t heap = int64_t{lua_gc(L, LUA_GCCOUNT)} << 10;
  return pace.since_full >= 64 * heap;
}

// Garbage that has outlived two young collections is found by full ones only.
bool has_grown(lua_State* L, const Pace& pace) {
  const int64_t now = live();
  if (now < pace.base + std::max(pace.base / 4, 2 * Pace::kQuantum)) return false;
  if (worth_full(L, pace) || now > 2 * pace.base + 8 * Pace::kQuantum) return true;
  const int64_t budget = memory::budget();
  return now > budget / 10 * 9 && pace.since_full > budget / 64;
}

class Collecting {
 public:
  Collecting(lua_State* L, Interpreter& in) : L_(L), pace_(in.pace) {
    pace_.busy = true;
    pace_.calls = 0;
    pace_.since_full += std::exchange(in.context.allocated_since_collect, 0);
  }
  ~Collecting() {
    pace_.quantum = std::max(Pace::kQuantum, live() / 16);
    pace_.busy = false;
  }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

  // A collector that knows no young objects does half of a cycle: a kilobyte of debt makes it visit
  // some 6,000 objects and slots, and a kilobyte of heap has about 50.
  void young() {
    lua_gc(L_, LUA_GCSTEP, pace_.incremental ? lua_gc(L_, LUA_GCCOUNT) / 256 + 1 : 0);
  }
  void full() {
    lua_gc(L_, LUA_GCCOLLECT);
    pace_.since_full = 0;
    pace_.base = live();
  }

 private:
  lua_State* L_;
  Pace& pace_;
};

}  // namespace

void collect(lua_State* L) { lua_gc(L, LUA_GCCOLLECT); }

void step_collector(lua_State* L, Interpreter& in) {
  if (in.stress.collect) return collect(L);
  if (in.pace.busy) return;
  if (in.pace.incremental && in.context.allocated_since_collect < in.pace.quantum) {
    in.pace.calls = 0;  // for boxes alone Lua's own steps are enough
    return;
  }
  Collecting now(L, in);
  now.young();
  if (has_grown(L, in.pace)) now.full();
}

void collect_before_backward(Interpreter& in) {
  const int64_t made = in.context.allocated_since_collect;
  if (in.pace.busy || made < kSmallGraph) return;
  const KeptModes kept(in);
  Collecting now(in.running, in);
  if (worth_full(in.running, in.pace))
    now.full();
  else
    now.young();
}

}  // namespace rille::lua
