// When Lua's collector runs. To it a tensor is a few dozen bytes, whatever its size, so it is run
// for the bytes of tensors that were made: a young collection, which costs some microseconds, for
// every sixteenth of what is alive; a full one, which costs as much as the Lua heap is large, where
// much was made since the last, or where what is alive or the Lua heap has grown well past what the
// last one left.
#pragma once
#include <cstdint>

struct lua_State;

namespace rille::lua {

struct Interpreter;

struct Pace {
  static constexpr int64_t kQuantum = int64_t{32} << 20;
  // Small tensors never reach a quantum: a young collection every few hundred calls keeps what they
  // are made of in the cache, which is worth more than it costs (W2 of the benchmarks).
  static constexpr int kCalls = 200;

  int64_t quantum = kQuantum;  // bytes of tensors from one step to the next
  int64_t since_full = 0;      // bytes of tensors made since the last full collection
  int64_t base = 0;            // bytes that were alive after it
  int64_t heap = 0;            // bytes of Lua's heap after it
  int calls = 0;               // since the last step
  bool incremental = false;    // the collector's mode is a host's: Lua's own, until it is changed
  bool in_steps = false;       // the heap is large and time is limited
  bool busy = false;

  /// As at the beginning: what was alive before says nothing of what comes.
  void begin() { quantum = kQuantum, since_full = base = heap = 0; }
};

/// Where time is limited and the heap is too large for a whole collection in a few milliseconds:
/// Lua collects in steps from then on.
void follow_heap(lua_State* L, Interpreter& in);
/// Between runs: back to young collections, where the heap has become small.
void leave_steps(Interpreter& in);

/// What is seldom done before a call: a step of the collector, and the end of a block's second run.
/// Raises, or yields.
void at_the_door(lua_State* L, Interpreter& in);
/// The next call comes by `at_the_door`.
void call_at_the_door(Interpreter& in);

/// A young collection, or a full one; pace_collector (interpreter.h) says when.
void step_collector(lua_State* L, Interpreter& in);
/// Where many tensors of the script's have just become garbage, a collection finds their boxes:
/// before backward, which frees the memory of the tape as it goes, and after a checkpoint block.
void collect_boxes(Interpreter& in);
/// A full collection, in steps where those are wanted: then it ends early where the run is over.
/// Raises nothing; may run scripts' finalizers.
void collect(lua_State* L, Interpreter& in);
/// Frees what the boxes owned that Lua has freed since (lua/owned.h).
void free_buried(Interpreter& in);

}  // namespace rille::lua
