// The one place of io that multiplies sizes: shapes come from strangers, so every product is
// checked.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace rille::io {

inline constexpr size_t kMaxRank = 16;
inline constexpr uint64_t kMaxBytes = uint64_t{1} << 47;  // what a process can address

/// Bytes of a dense tensor whose elements have `bits` bits; nothing where a size is negative, the
/// rank or the product is beyond its limit, or the last byte is not full. Zero sizes do not excuse
/// the others: {2^62, 0} is refused.
inline std::optional<uint64_t> dense_bytes(const std::vector<int64_t>& shape, unsigned bits) {
  if (shape.size() > kMaxRank) return std::nullopt;
  uint64_t total_bits = bits;
  bool empty = false;
  for (const int64_t n : shape) {
    if (n < 0) return std::nullopt;
    if (n == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(total_bits, static_cast<uint64_t>(n), &total_bits) ||
        total_bits > 8 * kMaxBytes)
      return std::nullopt;
  }
  if (empty) return 0;
  if (total_bits % 8 != 0) return std::nullopt;
  return total_bits / 8;
}

}  // namespace rille::io
