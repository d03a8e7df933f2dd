// Many pieces of memory as one run of bytes in a file: how tensors reach the disk.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "io/file.h"

namespace rille::io {

struct Part {
  const void* data;
  uint64_t bytes;
};

/// Writes the parts behind each other from byte `start` on, on a few threads: while one gathers
/// the next few megabytes, others write. Gives the CRC-32C of each part, zeros unless `sum_up`.
std::vector<uint32_t> write_joined(AtomicFile& file, uint64_t start, std::span<const Part> parts,
                                   bool sum_up);

}  // namespace rille::io
