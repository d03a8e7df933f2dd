// What a rehearsal is made of (core/rehearsal.h): stdlib/rille/rehearsal.lua begins, reads and ends
// it.
#include "core/rehearsal.h"

#include <algorithm>

#include "core/allocator.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"

namespace rille::bind {
namespace {

// native.rehearse(on): from here on meta tensors are counted, or no longer.
void rehearse(Call& c) {
  const bool on = c.boolean(1, "on");
  if (on && Rehearsal::current())
    throw fail(Kind::state, "E_STATE", "a rehearsal is under way already");
  Rehearsal::enter(on ? std::make_shared<Rehearsal>(c.context()) : nullptr);
  c.interpreter().pace.begin();
}

// native.rehearsed() -> bytes in use, the most there were, additions and multiplications; nothing
// outside of a rehearsal
void rehearsed(Call& c) {
  const auto& r = Rehearsal::current();
  if (!r) return;
  c.give(r->in_use());
  c.give(r->peak());
  c.give(r->flops);
}

// native.rehearse_from_here(): the peak and the work count from now on.
void rehearse_from_here(Call&) {
  const auto& r = Rehearsal::current();
  if (!r) return;
  r->reset_peak();
  r->flops = 0;
}

// native.memory_room() -> the most bytes that tensors may take here, whether that is a limit: the
// run's own or that of rille.memory.limit, else the memory of this machine or control group
void memory_room(Call& c) {
  const auto& mine = c.interpreter().budget;
  const int64_t own = mine ? mine->tensor_room() : 0;
  c.give(own > 0 ? std::min(own, memory::budget()) : memory::budget());
  c.give(own > 0 || memory::limit() > 0);
}

}  // namespace

void bind_rehearsal(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"rehearse", rehearse},
                                            {"rehearsed", rehearsed},
                                            {"rehearse_from_here", rehearse_from_here},
                                            {"memory_room", memory_room}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
