#include "core/packed.h"

#include "core/threads.h"

namespace rille {
namespace {

constexpr int64_t kGrain = int64_t{1} << 16;  // a whole number of groups of either format

// Codes that fill whole bytes together.
constexpr int64_t group_of(DType d) { return d == DType::f4_e2m1 ? 2 : 4; }

void unpack_groups(DType d, const uint8_t* from, int64_t groups, uint8_t* to) {
  if (d == DType::f4_e2m1) {
    for (int64_t i = 0; i < groups; ++i) {
      to[2 * i] = from[i] & 15;
      to[2 * i + 1] = from[i] >> 4;
    }
    return;
  }
  for (int64_t i = 0; i < groups; ++i, from += 3, to += 4) {
    to[0] = from[0] & 63;
    to[1] = static_cast<uint8_t>((from[0] >> 6 | from[1] << 2) & 63);
    to[2] = static_cast<uint8_t>((from[1] >> 4 | from[2] << 4) & 63);
    to[3] = from[2] >> 2;
  }
}

void pack_groups(DType d, const uint8_t* from, int64_t groups, uint8_t* to) {
  if (d == DType::f4_e2m1) {
    for (int64_t i = 0; i < groups; ++i)
      to[i] = static_cast<uint8_t>((from[2 * i] & 15) | from[2 * i + 1] << 4);
    return;
  }
  for (int64_t i = 0; i < groups; ++i, from += 4, to += 3) {
    to[0] = static_cast<uint8_t>((from[0] & 63) | from[1] << 6);
    to[1] = static_cast<uint8_t>((from[1] & 63) >> 2 | from[2] << 4);
    to[2] = static_cast<uint8_t>((from[2] & 63) >> 4 | from[3] << 2);
  }
}

// Cuts n codes from `first` on into single ones up to the next whole byte, groups, and the rest.
template <class One, class Groups>
void by_groups(DType d, int64_t first, int64_t n, One&& one, Groups&& groups) {
  const int64_t group = group_of(d), bytes = group * bits_of(d) / 8;
  int64_t i = 0;
  for (; i < n && (first + i) % group != 0; ++i) one(i);
  const int64_t whole = (n - i) / group * group, start = i;
  parallel_for(whole, kGrain, [&](int64_t begin, int64_t end) {
    const int64_t byte = (first + start + begin) / group * bytes;
    groups(start + begin, byte, (end - begin) / group);
  });
  for (i += whole; i < n; ++i) one(i);
}

}  // namespace

uint8_t packed_code(DType d, const void* memory, int64_t position) {
  const auto* bytes = static_cast<const uint8_t*>(memory);
  const int64_t bit = position * bits_of(d), at = bit / 8;
  const int shift = static_cast<int>(bit % 8), mask = (1 << bits_of(d)) - 1;
  int code = bytes[at] >> shift;
  if (shift + bits_of(d) > 8) code |= bytes[at + 1] << (8 - shift);
  return static_cast<uint8_t>(code & mask);
}

void set_packed_code(DType d, void* memory, int64_t position, uint8_t code) {
  auto* bytes = static_cast<uint8_t*>(memory);
  const int64_t bit = position * bits_of(d), at = bit / 8;
  const int shift = static_cast<int>(bit % 8), mask = (1 << bits_of(d)) - 1;
  const int value = (code & mask) << shift, free = ~(mask << shift);
  bytes[at] = static_cast<uint8_t>((bytes[at] & free) | value);
  if (shift + bits_of(d) > 8)
    bytes[at + 1] = static_cast<uint8_t>((bytes[at + 1] & free >> 8) | value >> 8);
}

void unpack(DType d, const void* memory, int64_t first, int64_t n, uint8_t* codes) {
  const auto* from = static_cast<const uint8_t*>(memory);
  by_groups(
      d, first, n, [&](int64_t i) { codes[i] = packed_code(d, memory, first + i); },
      [&](int64_t i, int64_t byte, int64_t groups) {
        unpack_groups(d, from + byte, groups, codes + i);
      });
}

void pack(DType d, const uint8_t* codes, int64_t n, void* memory, int64_t first) {
  auto* to = static_cast<uint8_t*>(memory);
  by_groups(
      d, first, n, [&](int64_t i) { set_packed_code(d, memory, first + i, codes[i]); },
      [&](int64_t i, int64_t byte, int64_t groups) {
        pack_groups(d, codes + i, groups, to + byte);
      });
}

}  // namespace rille
