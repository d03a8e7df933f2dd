// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78): the checksum of tensors in files. One bit
// flipped, and any burst up to 32 bits, is always seen. Uses the processor's instructions, where it
// has them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rille::io {

/// Checksum of the bytes; pass the result of the part before to go on from there.
uint32_t crc32c(const void* data, size_t bytes, uint32_t before = 0);

/// Of two parts from the sum of each: parts can be summed side by side, and joined.
uint32_t crc32c_join(uint32_t first, uint32_t second, uint64_t second_bytes);

/// crc32c from tables alone; for processors without the instruction, and for tests.
uint32_t crc32c_tables(const void* data, size_t bytes, uint32_t before = 0);

}  // namespace rille::io
