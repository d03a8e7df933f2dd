// What rille.scope is made of: the interpreter's list knows which boxes were made since when.
#include "interpreter/bind/bind.h"

namespace rille::bind {
namespace {

using lua::Owned;

// native.scope_begin() -> where it began
void scope_begin(Call& c) { c.give(c.interpreter().owned.begin_scope()); }

// native.scope_end(began): frees the tensors this coroutine made since, but for those kept.
void scope_end(Call& c) {
  c.interpreter().owned.end_scope(static_cast<size_t>(c.integer(1, "began")), c.thread(),
                                  c.where());
}

// native.scope_keep(t)
void scope_keep(Call& c) {
  if (const uint32_t slot = c.slot(1); slot != Owned::kNone) c.interpreter().owned.keep(slot);
}

// native.scope_pause(on) -> what it was: while on, what is made belongs to no scope.
void scope_pause(Call& c) {
  bool& paused = c.interpreter().owned.paused;
  c.give(paused);
  paused = c.boolean(1, "on");
}

}  // namespace

void bind_scopes(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"scope_begin", scope_begin},
                                            {"scope_end", scope_end},
                                            {"scope_keep", scope_keep},
                                            {"scope_pause", scope_pause}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
