// A script's nested table as a safetensors file: every tensor is an entry named by its path in the
// table ("model.layers.1.weight"), so that other programs can use the file; numbers, strings and
// the structure go to the metadata, as data that can never run. Depth is limited to 64.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "io/value.h"

namespace rille::io {

inline constexpr std::string_view kTreeKey = "rille.tree";
inline constexpr size_t kTreeDepth = 64;

struct FlatTree {
  std::vector<std::string> names;  // entry of each tensor, by TensorRef::index
  std::string tree;                // for metadata[kTreeKey]; empty where the names say it all
};

/// Names `tensors` tensors that the value refers to and writes its structure down. A tensor that
/// occurs twice is one entry and two references, so sharing survives.
FlatTree flatten(const Value& value, size_t tensors);

/// The value of a file with these entries; TensorRef::index counts in `names`. Without a tree the
/// file is a plain one: a table of its names. E_FORMAT where tree and names do not fit.
Value unflatten(std::string_view tree, const std::vector<std::string>& names);

}  // namespace rille::io
