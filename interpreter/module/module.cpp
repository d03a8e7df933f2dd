// The entry of rille.so.
#include <cstdlib>

#include "interpreter/bind/bind.h"
#include "interpreter/lua/attach.h"

namespace {

rille::lua::Stress stress_wanted() {
  rille::lua::Stress stress;
  const char* collect = std::getenv("RILLE_GC_STRESS");
  stress.collect = collect && *collect && *collect != '0';
  return stress;
}

}  // namespace

/// What `require "rille"` calls. Gives the table `rille`.
extern "C" __attribute__((visibility("default"))) int luaopen_rille(lua_State* L) {
  return rille::lua::attach_state(L, rille::bind::bind_all, stress_wanted());
}
