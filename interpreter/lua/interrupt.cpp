#include "interpreter/lua/interrupt.h"

#include <lua.hpp>

#include "core/fail.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"
#include "interpreter/lua/limits.h"

namespace rille::lua {
namespace {

// Only Lua code is stopped: a C function may be a step that one of our natives takes under a pcall
// of its own. The instruction after it comes soon enough.
void stop(lua_State* L, lua_Debug* at) {
  lua_getinfo(L, "S", at);
  if (*at->what == 'C') return;
  Interpreter& in = interpreter_of(L);
  watch_instructions(L, in);
  const int signal = in.signal;
  if (signal == 0) return;  // it was forgotten
  luaL_checkstack(L, 32, "rille");
  const size_t first = in.results.size();
  guarded(L, in, {}, [signal] {
    throw Error(Kind::interrupt, "E_INTERRUPTED",
                signal == SIGINT ? "stopped by SIGINT" : "stopped by SIGTERM");
  });
  if (in.raised) in.raised->status = 128 + signal;
  raise_prepared(L, in, first);
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

// Of all that Lua offers, lua_sethook alone may be called in a signal handler.
void interrupt(Interpreter& in, int signal) noexcept {
  in.signal = signal;
  if (in.running) lua_sethook(in.running, stop, kAnything, 1);
}

void request_stop(Interpreter& in) noexcept {
  in.stop_requested.store(true, std::memory_order_relaxed);
}

void forget_interrupt(Interpreter& in) noexcept {
  in.signal = 0;
  watch_instructions(in.L, in);
}

void stop_later(lua_State* L) noexcept {
  if (!lua_gethook(L)) lua_sethook(L, stop_in_lua, kAnything, 1);  // a hook that stays fires again
}

}  // namespace rille::lua
