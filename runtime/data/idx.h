// IDX files, as MNIST and its kin are given: 0 0 <type> <rank>, the sizes, the data, big endian;
// plain or gzip, told apart by their first bytes. Memory grows only as far as data really come.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace rille::data {

struct IdxArray {
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  // row-major, in the machine's byte order
};

/// E_IO, or E_FORMAT naming path, byte, what was found and what was wanted. A file that unpacks to
/// more than max_bytes is refused.
IdxArray read_idx(const std::string& path, uint64_t max_bytes = uint64_t{1} << 34);

}  // namespace rille::data
