// Graphs that grow from step to step, because something keeps what an earlier step recorded: what
// rille.memory.watch looks for.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/storage.h"

namespace rille::lua {

struct Interpreter;

/// Results of one op of one line that outlive their step with their graph: used by an op of a later
/// step, or else held by the script.
struct Keeper {
  std::string op, used_by;  // used_by is empty where nothing uses them
  Site at, used_at;
  int64_t count = 0;
};

struct Graphs {
  int64_t old = 0;              // nodes from before the step that ended last
  std::vector<Keeper> keepers;  // those that occur most often first
};

/// Of all that the script's tensors lead to. `marks` are the numbers (autograd::last_seq) of the
/// newest node at the ends of steps, ascending; what was recorded before the first counts nothing.
Graphs graphs(const Interpreter& in, const std::vector<uint64_t>& marks);

}  // namespace rille::lua
