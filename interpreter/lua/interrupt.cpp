#include "interpreter/lua/interrupt.h"

#include <cstring>
#include <lua.hpp>

#include "core/fail.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/unit.h"

namespace rille::lua {
namespace {

Error stopped_by(int signal) {
  return Error(Kind::interrupt, "E_INTERRUPTED",
               signal == SIGINT ? "stopped by SIGINT" : "stopped by SIGTERM");
}

// A signal stops once: what runs after its error is not to be stopped again.
void take_effect(lua_State* L, Interpreter& in) {
  watch_instructions(L, in);
  in.interrupted = in.policy.interactive;
  in.stop_requested = false;
  if (!in.signals) return;
  in.signals->end_run();
  in.signals->begin_run();
}

[[noreturn]] void raise_signal(lua_State* L, Interpreter& in) {
  take_effect(L, in);
  luaL_checkstack(L, 32, "rille");
  const size_t first = in.results.size();
  const int signal = in.signal;
  guarded(L, in, {}, [signal] { throw stopped_by(signal); });
  if (in.raised) in.raised->status = 128 + signal;
  raise_prepared(L, in, first);
  __builtin_unreachable();
}

// Only Lua code is stopped: a C function may be a step that one of our natives takes under a pcall
// of its own. The instruction after it comes soon enough.
void stop(lua_State* L, lua_Debug* at) {
  lua_getinfo(L, "S", at);
  if (*at->what == 'C') return;
  if (puts_off_stop(L)) return;
  Interpreter& in = interpreter_of(L);
  if (in.signal != 0) raise_signal(L, in);
  watch_instructions(L, in);  // it was forgotten
}

// Of the error on top.
bool is_interrupt(lua_State* L) {
  luaL_checkstack(L, 2, "rille");
  if (lua_type(L, -1) != LUA_TTABLE) return false;
  lua_pushliteral(L, "code");
  lua_rawget(L, -2);
  const char* code = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  const bool yes = std::strcmp(code, "E_INTERRUPTED") == 0;
  lua_pop(L, 1);
  return yes;
}

constexpr int kAnything = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;

// With the words of the stock interpreter.
void stop_in_lua(lua_State* L, lua_Debug* at) {
  lua_getinfo(L, "S", at);
  if (*at->what == 'C') return;
  lua_sethook(L, nullptr, 0, 0);
  luaL_error(L, "interrupted!");
}

}  // namespace

StoppableOps::StoppableOps(Interpreter& in)
    : in_(in),
      budget_(
          std::make_shared<Budget>(Limits{.may_be_stopped = true}, in.stop_requested, in.context)),
      before_(std::exchange(in.signals, budget_.get())),
      watched_before_(Budget::watch(budget_.get())) {
  budget_->begin_run();
}
StoppableOps::~StoppableOps() {
  Budget::watch(watched_before_);
  in_.signals = before_;
}

// Of all that Lua offers, lua_sethook alone may be called in a signal handler.
void interrupt(Interpreter& in, int signal) noexcept {
  in.signal = signal;
  in.stop_requested.store(true, std::memory_order_relaxed);
  if (in.running) lua_sethook(in.running, stop, kAnything, 1);
}

bool ended_by_signal(lua_State* L, Interpreter& in, Error& e) {
  if (!in.signals || !in.signals->is_over() || e.kind() != Kind::interrupt) return false;
  e = stopped_by(in.signal);
  take_effect(L, in);
  return true;
}

void stop_if_signalled(lua_State* L, Interpreter& in) {
  if (in.signals && in.stop_requested.load(std::memory_order_relaxed) && !puts_off_stop(L))
    raise_signal(L, in);
}

void pass_interrupt_on(lua_State* L, Interpreter& in, bool changed) {
  if (!in.interrupted || !(changed || is_interrupt(L))) return;
  lua_Debug caller;
  const bool known = lua_getstack(L, 1, &caller) != 0 && lua_getinfo(L, "S", &caller) != 0;
  if (known && is_library(caller)) return;
  if (is_interrupt(L)) lua_error(L);
  raise_signal(L, in);
}

void request_stop(Interpreter& in) noexcept {
  in.stop_requested.store(true, std::memory_order_relaxed);
}

void forget_interrupt(Interpreter& in) noexcept {
  in.signal = 0;
  take_effect(in.L, in);
  in.interrupted = false;
}

void stop_later(lua_State* L) noexcept {
  if (!lua_gethook(L)) lua_sethook(L, stop_in_lua, kAnything, 1);  // a hook that stays fires again
}

}  // namespace rille::lua
