#include "interpreter/lua/host_function.h"

#include <lua.hpp>

#include "interpreter/lua/box.h"
#include "interpreter/lua/define.h"
#include "interpreter/lua/diagnose.h"
#include "interpreter/lua/guard.h"

namespace rille::lua {
namespace {

// Upvalues: the box of the function, the interpreter.
int host_entry(lua_State* L) {
  Interpreter& in = *static_cast<Interpreter*>(lua_touserdata(L, lua_upvalueindex(2)));
  luaL_checkstack(L, 32, "rille");
  follow_coroutine(L, in);
  pace_collector(L, in);
  const ObjectRef* held = peek_object(L, lua_upvalueindex(1), in);
  if (!held) return luaL_error(L, "a function of the host's was freed");
  const auto& function = static_cast<const HostFunction&>(**held);  // the running closure keeps it
  const size_t first = in.results.size();
  const bool done = guarded(L, in, Blame{function.name()}, [&] {
    Call call(L, in);
    function(call);
  });
  return done ? push_results(L, in, first) : raise_prepared(L, in, first);
}

}  // namespace

void define_host_functions(Interpreter& in) { define_class(in, HostFunction::kType, {}); }

void push_host_function(lua_State* L, Interpreter& in, const ObjectRef& function) {
  push_object(L, in, function);
  lua_pushlightuserdata(L, &in);
  lua_pushcclosure(L, host_entry, 2);
}

}  // namespace rille::lua
