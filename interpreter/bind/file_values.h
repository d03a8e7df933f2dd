// Scripts' values as files hold them: a nested table becomes entries and metadata of a safetensors
// file, and comes back as it was.
#pragma once
#include <vector>

#include "core/error.h"
#include "interpreter/bind/bind.h"
#include "io/safetensors.h"
#include "io/value.h"

namespace rille::bind {

std::vector<int64_t> sizes_of(const Tensor& t);
Shape shape_of(const std::vector<int64_t>& sizes);

/// Tensors leave by their position in `tensors`; one that occurs twice is one entry.
io::Value to_file(const Value& v, std::vector<Tensor>& tensors);
Value from_file(const io::Value& v, const std::vector<Tensor>& tensors);

/// Everything that a file will hold, and the memory that it points into.
struct Snapshot {
  std::vector<Tensor> dense;
  std::vector<io::TensorItem> items;
  io::Metadata metadata;
};

/// With `own` no tensor shares its bytes with one of the script's, which may go on changing them.
Snapshot snapshot_of(const Value& root, bool own);

Tensor read_tensor(const io::SafetensorsFile& file, const io::TensorEntry& e);
/// The whole file as the table that was saved. `mapped`: tensors use the file's pages where they
/// can.
Value tree_of(io::SafetensorsFile& file, Device to, bool mapped);

}  // namespace rille::bind
