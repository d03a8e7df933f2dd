#include "interpreter/lua/limits.h"

#include <lua.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/rehearsal.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/interrupt.h"
#include "interpreter/lua/unit.h"

namespace rille::lua {
namespace {

constexpr int kStep = 1000;  // instructions from hook to hook

// The hook's own work is done in C++; what it prepared is raised last, with nothing left to
// destroy.
[[noreturn]] void raise_over(lua_State* L, Interpreter& in) {
  luaL_checkstack(L, 32, "rille");
  const size_t first = in.results.size();
  guarded(L, in, {}, [] {});
  raise_prepared(L, in, first);
  __builtin_unreachable();
}

// The nearer the deadline, the sooner the next look, so that instructions that take long, which
// work on long strings or large tables, are no more than the time that is left allows.
int step_of(const Interpreter& in) {
  if (in.budget->is_over()) return 1;
  const int64_t step = in.budget->left(kStep);
  if (!in.budget->has_deadline()) return static_cast<int>(step);
  const double slowest = in.block_sizes.slowest_instruction(), left = in.budget->seconds_left();
  if (slowest * static_cast<double>(step) <= left) return static_cast<int>(step);
  return static_cast<int>(std::max(1.0, left / slowest));
}

// Once the run is over it is called for every instruction, so that whoever catches its error gets
// no further. Where the heap had it come early, as many count as would have passed.
void count(lua_State* L, lua_Debug*) {
  Interpreter& in = interpreter_of(L);
  const int counted = lua_gethookcount(L);
  const bool early = std::exchange(in.looks_soon, false);
  bool over = in.budget->spend(early ? kStep : counted);
  if (!over && counted < kStep) over = in.budget->look();
  if (early || step_of(in) != counted) watch_instructions(L, in);
  if (over && !puts_off_stop(L)) raise_over(L, in);
  follow_heap(L, in);
}

// Garbage that holds tensors is found by a collection only, and Lua's emergency one frees none.
bool nearly_full(const Interpreter& in) {
  const int64_t room = in.budget->tensor_room();
  return room > 0 && in.budget->tensors() > room / 8 * 7 &&
         in.context.allocated_since_collect > room / 16;
}

}  // namespace

void make_budget(Interpreter& in) {
  const Policy& p = in.policy;
  if (!p.interruptible && !p.limited()) return;
  const Limits limits{.memory = p.memory_limit,
                      .heap = p.lua_memory_limit,
                      .tensors = p.tensor_memory_limit,
                      .instructions = p.instruction_limit,
                      .seconds = p.time_limit,
                      .may_be_stopped = p.interruptible};
  in.budget = std::make_shared<Budget>(limits, in.stop_requested, in.context, in.owner_budget);
  in.pace.quantum = 0;  // the first step finds the right one
}

void watch_instructions(lua_State* L, const Interpreter& in) {
  if (in.budget)
    lua_sethook(L, count, LUA_MASKCOUNT, step_of(in));
  else
    lua_sethook(L, nullptr, 0, 0);
}

void look_soon(Interpreter& in) noexcept {
  if (!in.running || !in.budget->has_deadline()) return;
  in.looks_soon = true;
  lua_sethook(in.running, count, LUA_MASKCOUNT, 1);
}

void watch_resumed(lua_State* L, lua_State* co, Interpreter& in) {
  if (!in.budget || !in.budget->has_deadline()) return;
  // Looks at the clock are as far apart as a hundred of these, each with as many instructions.
  constexpr double kBetween = 100.0 * kStep;
  if (in.block_sizes.slowest_instruction() * kBetween <= in.budget->seconds_left()) return;
  if (in.budget->look() && !puts_off_stop(L)) raise_over(L, in);
  if (step_of(in) < lua_gethookcount(co)) watch_instructions(co, in);
}

void spend(lua_State* L, Interpreter& in, int64_t instructions) {
  stop_if_signalled(L, in);
  if (in.budget && in.budget->spend(instructions) && !puts_off_stop(L)) raise_over(L, in);
}

void check_budget(lua_State* L, Interpreter& in) {
  Budget& budget = *in.budget;
  if (budget.over() && !Unit::held()) {
    watch_instructions(L, in);
    budget.raise();
  }
  follow_heap(L, in);
  if (nearly_full(in) || budget.too_much()) step_collector(L, in);
  if (!budget.too_much()) return;
  collect(L, in);
  if (budget.too_much()) budget.raise_out_of_memory(0);
}

void name_the_limit(lua_State* L, Interpreter& in, int status) {
  if (status != LUA_ERRMEM || !in.budget || !in.budget->refused_heap()) return;
  luaL_checkstack(L, 32, "rille");
  in.budget->let_tell(true);
  guarded(L, in, {}, [&in] { in.budget->raise_heap_full(); });
  push_prepared(L, in);
  in.budget->let_tell(false);
  lua_replace(L, -2);
}

bool too_deep_to_show(lua_State* L) {
  constexpr int kDeep = 10000;
  lua_Debug far;
  return lua_getstack(L, kDeep, &far) != 0;
}

// ---- runs
// ----------------------------------------------------------------------------------------

LimitedRun::LimitedRun(Interpreter& in)
    : in_(in),
      outermost_(in.runs++ == 0),
      flags_(in.context.flags),
      dtype_(in.context.default_dtype),
      device_(in.context.default_device),
      saved_hooks_(in.context.saved_hooks.size()) {
  if (!outermost_ || !in.budget) return;
  in.over_text.clear();
  in.budget->begin_run();
  in.budget->over();  // a stop that came before counts from the first instruction
  leave_steps(in);
  if (in.budget->refuses(in.budget->tensor_room() / 8)) collect(in.L, in);  // of the run before
  watch_instructions(in.L, in);
}

LimitedRun::~LimitedRun() {
  --in_.runs;
  if (!outermost_) return;
  free_buried(in_);  // what its last collections found
  bool early = false;
  if (in_.budget) {
    early = in_.budget->is_over();
    in_.budget->end_run();
    watch_instructions(in_.L, in_);
  }
  if (early || in_.policy.sandbox) leave_modes();
}

void LimitedRun::leave_modes() {
  const Entered entered(in_, in_.L);
  in_.context.flags = flags_;
  const KeptModes main(in_);  // where it ended in a coroutine, those are the coroutine's flags
  in_.context.default_dtype = dtype_;
  in_.context.default_device = device_;
  in_.context.saved_hooks.resize(saved_hooks_);
  in_.owned.forget_scopes();
  if (Rehearsal::current()) Rehearsal::enter(nullptr);
}

std::optional<std::string> LimitedRun::ended_early() const {
  if (!outermost_ || !in_.budget || !in_.budget->is_over()) return {};
  if (!in_.over_text.empty()) return in_.over_text;
  try {
    in_.budget->raise();
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace rille::lua
