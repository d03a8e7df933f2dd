#include "interpreter/lua/guard.h"

#include <lua.hpp>

#include "core/fail.h"
#include "interpreter/lua/call.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/holdings.h"
#include "interpreter/lua/interrupt.h"

namespace rille::lua {
namespace {

constexpr size_t kOwners = 10;

void sort_out(lua_State* L, Interpreter& in, const Blame& blame) {
  try {
    throw;
  } catch (const LuaError& e) {
    in.raised_value = e.value();
  } catch (Error& e) {
    const bool signal = ended_by_signal(L, in, e);
    if (e.op().empty()) e.op(blame.op);
    if (e.kind() == Kind::memory && e.facts().empty())
      for (std::string& line : largest_owners(in, kOwners)) e.fact(std::move(line));
    diagnose(L, in, std::move(e), blame.schema, blame.args);
    if (signal) in.raised->status = 128 + in.signal;
    const bool over = in.budget && in.budget->is_over() && in.over_text.empty();
    if (over && in.raised->error.kind() == Kind::interrupt) in.over_text = in.raised->text;
  } catch (const std::bad_alloc&) {
    diagnose(L, in, Error(Kind::memory, "E_OOM", "out of memory").op(blame.op), blame.schema,
             blame.args);
  } catch (const std::exception& e) {
    diagnose(L, in, internal_error("{}", e.what()).op(blame.op), blame.schema, blame.args);
  }
}

}  // namespace

void prepare_error(lua_State* L, Interpreter& in, const Blame& blame) noexcept {
  try {
    sort_out(L, in, blame);
  } catch (const std::exception&) {  // no memory even for the text: these strings need none
    in.raised.emplace(Raised{Error(Kind::memory, "E_OOM", ""), {}, "out of memory", "memory", 1});
  }
}

void throw_stopped(lua_State* L, int status) {
  std::string text;
  if (status == LUA_ERRRUN && lua_type(L, -1) == LUA_TSTRING) text = lua_tolstring(L, -1, nullptr);
  lua_settop(L, -2);
  if (status == LUA_ERRMEM) throw std::bad_alloc();
  throw Error(Kind::interrupt, "E_INTERRUPTED", text.empty() ? "stopped by a hook" : text);
}

}  // namespace rille::lua
