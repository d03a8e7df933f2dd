// Who holds the memory: what rille.memory.snapshot shows and an error for want of memory tells.
#pragma once
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "core/storage.h"

namespace rille::lua {

struct Interpreter;

/// Memory of tensors of one dtype and shape that the script can reach or the collector has not
/// found yet; or of large blocks that only the tape (or a host) holds, whose shape nobody knows.
struct Holding {
  DType dtype = DType::f32;
  Shape shape;
  bool gradient = false;     // of a tensor that the script holds
  bool of_tape = false;      // neither dtype nor shape
  const char* op = nullptr;  // from kRemembered bytes: the op that made them, where one did,
  Site at;                   // and the script's line
  int64_t count = 0;
  int64_t bytes = 0;
};

/// The largest first. Memory that several tensors share counts once, for one of them.
std::vector<Holding> holdings(const Interpreter& in);
/// Lines for an error: "held by      12 x f32[1024, 1024]  48.00 MiB  zeros train.lua:3", the `n`
/// largest and the rest.
std::vector<std::string> largest_owners(const Interpreter& in, size_t n);

}  // namespace rille::lua
