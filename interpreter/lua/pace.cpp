#include "interpreter/lua/pace.h"

#include <lua.hpp>

#include <algorithm>
#include <utility>

#include "core/allocator.h"
#include "core/rehearsal.h"
#include "interpreter/lua/interpreter.h"
#include "interpreter/lua/second_run.h"

namespace rille::lua {
namespace {

constexpr int64_t kSmallGraph = int64_t{4} << 20;
constexpr int64_t kSmallHeap = int64_t{16} << 20;
constexpr int64_t kEndlessRoom = int64_t{1} << 60;

int64_t heap_bytes(lua_State* L) { return int64_t{lua_gc(L, LUA_GCCOUNT)} << 10; }

int64_t live(const Interpreter& in) {
  if (const auto& r = Rehearsal::current()) return r->in_use();
  return in.budget && in.budget->counts() ? in.budget->tensors() : memory::allocated();
}

// What there is to spend.
int64_t room(const Interpreter& in) {
  if (Rehearsal::current()) return kEndlessRoom;  // as much as it will turn out to need
  const int64_t own = in.budget ? in.budget->tensor_room() : 0;
  return own > 0 ? own : memory::budget();
}

// Little room wants small steps.
int64_t least_quantum(const Interpreter& in) { return std::min(Pace::kQuantum, room(in) / 16); }

// A full collection takes about 0.2 ns for a byte of Lua's heap, making a tensor 0.1 ns for a byte
// at the very least: after this many bytes for each byte of heap it takes some percents of the
// time.
bool worth_full(lua_State* L, const Pace& pace) { return pace.since_full >= 64 * heap_bytes(L); }

// Garbage that has outlived two young collections is found by full ones only. Lua would run one
// once its heap has doubled, but not where steps of ours come before that: they put its count back.
bool has_grown(lua_State* L, const Interpreter& in) {
  const Pace& pace = in.pace;
  if (heap_bytes(L) > 2 * pace.heap + kSmallHeap) return true;
  const int64_t now = live(in), quantum = least_quantum(in);
  if (now < pace.base + std::max(pace.base / 4, 2 * quantum)) return false;
  if (worth_full(L, pace) || now > 2 * pace.base + 8 * quantum) return true;
  const int64_t most = room(in);
  return now > most / 10 * 9 && pace.since_full > most / 64;
}

// From a heap of this size on: a collection of so many bytes of small tables takes some 20 ms.
constexpr int64_t kLargeHeap = int64_t{32} << 20;

// What is garbage by the end of a cycle that has begun is found by the next.
void collect_whole(lua_State* L, const Interpreter& in) {
  if (!in.pace.in_steps) {
    lua_gc(L, LUA_GCCOLLECT);
    return;
  }
  for (int cycles = 0; cycles < 2 && !in.budget->over();) {
    const int ended = lua_gc(L, LUA_GCSTEP, 0);
    if (ended < 0) return;  // in a finalizer
    cycles += ended;
  }
}

void count_anew(Interpreter& in) { in.pace.calls = in.leaving ? Pace::kCalls : 0; }

class Collecting {
 public:
  Collecting(lua_State* L, Interpreter& in) : L_(L), in_(in), pace_(in.pace) {
    pace_.busy = true;
    pace_.since_full += std::exchange(in.context.allocated_since_collect, 0);
  }
  ~Collecting() {
    pace_.quantum = std::max(least_quantum(in_), live(in_) / 16);
    pace_.busy = false;
    count_anew(in_);
  }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;

  // A step visits some 100,000 objects and slots. A collector that knows no young objects takes as
  // many as make about half of a cycle.
  void young() {
    const int steps = pace_.incremental ? 1 + lua_gc(L_, LUA_GCCOUNT) / 2048 : 1;
    for (int i = 0; i < steps; ++i) lua_gc(L_, LUA_GCSTEP, 0);
    free_buried(in_);
  }
  void full() {
    collect_whole(L_, in_);
    free_buried(in_);
    pace_.since_full = 0;
    pace_.base = live(in_);
    pace_.heap = heap_bytes(L_);
  }

 private:
  lua_State* L_;
  Interpreter& in_;
  Pace& pace_;
};

}  // namespace

void follow_heap(lua_State* L, Interpreter& in) {
  const Budget& budget = *in.budget;
  if (in.pace.in_steps || budget.own_heap() < kLargeHeap) [[likely]]
    return;
  if (!in.owns_heap || !budget.has_deadline()) return;
  // A step for each 64 KiB that the heap grows by, of some 10,000 objects. Less work for each byte
  // than Lua's own steps do, since a string of megabytes is paid for at once.
  constexpr int kPause = 130, kWork = 8, kStep = 16;
  if (lua_gc(L, LUA_GCINC, kPause, kWork, kStep) < 0) return;  // in a finalizer
  in.pace.in_steps = in.pace.incremental = true;
}

void leave_steps(Interpreter& in) {
  if (!in.pace.in_steps || in.budget->own_heap() >= kLargeHeap) return;
  lua_gc(in.L, LUA_GCGEN, 0, 0);
  in.pace.in_steps = in.pace.incremental = false;
}

void collect(lua_State* L, Interpreter& in) {
  collect_whole(L, in);
  free_buried(in);
}

void free_buried(Interpreter& in) {
  const auto boxes = static_cast<int64_t>(in.owned.drop_buried());
  if (in.budget) in.budget->give(boxes * Owned::kBytes);
}

void call_at_the_door(Interpreter& in) { in.pace.calls = Pace::kCalls; }

void at_the_door(lua_State* L, Interpreter& in) {
  if (in.leaving) [[unlikely]]
    leave_second_run(L, in);
  step_collector(L, in);
}

void step_collector(lua_State* L, Interpreter& in) {
  if (in.stress.collect) return collect(L, in);
  if (in.pace.busy) return;
  if (in.pace.incremental && in.context.allocated_since_collect < in.pace.quantum) {
    count_anew(in);  // for boxes alone Lua's own steps are enough
    return;
  }
  Collecting now(L, in);
  now.young();
  if (has_grown(L, in)) now.full();
}

void collect_boxes(Interpreter& in) {
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
