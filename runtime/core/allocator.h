// The caching allocator of the CPU. Fresh pages are the dearest thing in a step, so blocks are
// kept: small ones in size classes, one cache a thread; large ones in pieces of huge pages
// (segments.h). Bytes are counted here and nowhere else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace rille {

struct MemoryStats {
  int64_t allocated = 0;  // bytes that storages hold now
  int64_t peak = 0;       // the most they held since reset_peak
  int64_t reserved = 0;   // bytes taken from the system, caches included
  int64_t allocations = 0;
};

namespace memory {

inline constexpr size_t kAlignment = 64;

/// At least `bytes` bytes, aligned to kAlignment; null where the system has none left (after the
/// caches were emptied) or the limit would be passed.
void* allocate(size_t bytes);
void deallocate(void* block, size_t bytes) noexcept;

MemoryStats stats();
int64_t allocated();
void reset_peak();
/// Gives cached memory back to the system.
void empty_cache();
/// Most bytes that may be allocated at once; 0 takes the limit away.
void set_limit(int64_t bytes);
int64_t limit();
/// What there is to spend: the limit, or else the memory of this machine or control group.
int64_t budget();

/// "1.50 GiB": how errors say a number of bytes.
std::string size_text(int64_t bytes);

/// Makes the n-th allocation from now fail (tests); 0 turns it off.
void fail_after(int64_t n);

}  // namespace memory
}  // namespace rille
