// Where the codes of packed formats lie: 6-bit ones four to three bytes, 4-bit ones two to a byte,
// each at the next free bit, from the lowest. Kernels see none of this: for them a code has a byte
// of its own ("loose", see tensor.h), and these functions bring codes there and back. Positions
// count elements from the start of the memory.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille {

uint8_t packed_code(DType d, const void* memory, int64_t position);
void set_packed_code(DType d, void* memory, int64_t position, uint8_t code);

/// codes[i] = the code at first + i, for n of them.
void unpack(DType d, const void* memory, int64_t first, int64_t n, uint8_t* codes);
/// The way back; what else lies in the first and the last byte stays.
void pack(DType d, const uint8_t* codes, int64_t n, void* memory, int64_t first);

}  // namespace rille
