#include "interpreter/lua/second_run.h"

#include <lua.hpp>
#include <utility>

namespace rille::lua {

SecondRunScope::SecondRunScope(Interpreter& in)
    : in_(in),
      run_(std::exchange(in.second_run, nullptr)),
      of_(std::exchange(in.second_run_of, in.running)),
      leaving_(std::exchange(in.leaving, nullptr)) {}
SecondRunScope::~SecondRunScope() {
  in_.second_run = run_;
  in_.second_run_of = of_;
  in_.leaving = leaving_;
  if (leaving_) call_at_the_door(in_);
}

void begin_second_run(Interpreter& in) { in.second_run = in.running; }

void end_second_run_early(Interpreter& in) {
  in.leaving = in.second_run;
  call_at_the_door(in);
}

bool may_end_early(const Interpreter& in) { return in.leaving != nullptr; }

// Where it can't yield, below a metamethod or an iterator in C, it goes on to where it can.
void leave_second_run(lua_State* L, Interpreter& in) {
  call_at_the_door(in);
  if (L == in.leaving && lua_isyieldable(L)) lua_yieldk(L, 0, 0, nullptr);
}

}  // namespace rille::lua
