#include "core/allocator.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>

#include "core/fail.h"
#include "core/machine_memory.h"
#include "core/references.h"
#include "core/segments.h"

namespace rille::memory {
namespace {

constexpr size_t kSmall = size_t{1} << 16;  // above: segments
constexpr size_t kCachedPerThread = size_t{4} << 20;
constexpr int kClasses = 64;

std::atomic<int64_t> in_use{0}, peak{0}, reserved{0}, allocations{0}, max_bytes{0}, fail_in{0};

// Four classes to a doubling: at most a quarter is lost.
int class_of(size_t bytes) {
  const size_t n = std::max(bytes, kAlignment);
  const int top = static_cast<int>(std::bit_width(n - 1));  // n fits in 2^top
  if (top <= 8)
    return static_cast<int>((n + kAlignment - 1) / kAlignment) - 1;  // 64, 128, 192, 256
  const size_t step = size_t{1} << (top - 3);
  const size_t quarter = (n - (size_t{1} << (top - 1)) + step - 1) / step;  // 1..4
  return 4 + (top - 9) * 4 + static_cast<int>(quarter) - 1;
}
size_t class_bytes(int c) {
  if (c < 4) return kAlignment * static_cast<size_t>(c + 1);
  const int top = 9 + (c - 4) / 4;
  return (size_t{1} << (top - 1)) + (size_t{1} << (top - 3)) * static_cast<size_t>((c - 4) % 4 + 1);
}

struct Link {
  Link* next;
};

struct ThreadCache {
  Link* lists[kClasses] = {};
  size_t bytes = 0;
  bool ended = false;
  void drain() {
    for (int c = 0; c < kClasses; ++c)
      while (Link* l = lists[c]) {
        lists[c] = l->next;
        std::free(l);
        reserved -= static_cast<int64_t>(class_bytes(c));
      }
    bytes = 0;
  }
  ~ThreadCache() {
    drain();
    ended = true;
  }
};
ThreadCache& cache() {
  thread_local ThreadCache c;
  return c;
}

Segments& segments() {
  static Segments* s = new Segments;  // leaked on purpose: tensors may outlive static destruction
  return *s;
}

[[maybe_unused]] void* take_small(size_t bytes) {
  const int c = class_of(bytes);
  ThreadCache& mine = cache();
  if (Link* l = mine.lists[c]) {
    mine.lists[c] = l->next;
    mine.bytes -= class_bytes(c);
    return l;
  }
  void* block = std::aligned_alloc(kAlignment, class_bytes(c));
  if (block) reserved += static_cast<int64_t>(class_bytes(c));
  return block;
}

[[maybe_unused]] void give_small(void* block, size_t bytes) {
  const int c = class_of(bytes);
  ThreadCache& mine = cache();
  if (mine.ended || mine.bytes + class_bytes(c) > kCachedPerThread) {
    std::free(block);
    reserved -= static_cast<int64_t>(class_bytes(c));
    return;
  }
  mine.lists[c] = new (block) Link{mine.lists[c]};
  mine.bytes += class_bytes(c);
}

bool refused(int64_t bytes) {
  if (fail_in.load(std::memory_order_relaxed) > 0 && fail_in.fetch_sub(1) == 1) return true;
  const int64_t most = max_bytes.load(std::memory_order_relaxed);
  return most > 0 && in_use.load(std::memory_order_relaxed) + bytes > most;
}

void count(int64_t bytes) {
  const int64_t now = add_to_count(in_use, bytes) + bytes;
  add_to_count(allocations, int64_t{1});
  int64_t top = peak.load(std::memory_order_relaxed);
  while (now > top && !peak.compare_exchange_weak(top, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

void* allocate(size_t bytes) {
  if (refused(static_cast<int64_t>(bytes))) return nullptr;
#if defined(__SANITIZE_ADDRESS__)  // the sanitizer's own allocator finds more than ours would
  const size_t whole = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  void* block = std::aligned_alloc(kAlignment, whole);
#else
  void* block = bytes <= kSmall ? take_small(bytes) : segments().take(bytes);
  if (!block) {
    empty_cache();
    block = bytes <= kSmall ? take_small(bytes) : segments().take(bytes);
  }
#endif
  if (block) count(static_cast<int64_t>(bytes));
  return block;
}

void deallocate(void* block, size_t bytes) noexcept {
  add_to_count(in_use, -static_cast<int64_t>(bytes));
#if defined(__SANITIZE_ADDRESS__)
  std::free(block);
#else
  if (bytes <= kSmall)
    give_small(block, bytes);
  else
    segments().give(block);
#endif
}

MemoryStats stats() {
  const int64_t large = static_cast<int64_t>(segments().reserved());
  return {in_use, peak, reserved + large, allocations};
}
int64_t allocated() { return in_use.load(std::memory_order_relaxed); }
void reset_peak() { peak = in_use.load(); }
void empty_cache() {
  cache().drain();
  segments().trim();
}
void set_limit(int64_t bytes) { max_bytes = bytes; }
int64_t limit() { return max_bytes; }
int64_t budget() {
  static const int64_t machine = machine_memory();
  return max_bytes > 0 ? max_bytes.load() : machine;
}
std::string size_text(int64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} {}", bytes, units[0]);
  double n = static_cast<double>(bytes);
  int unit = 0;
  for (; n >= 1024 && unit < 5; ++unit) n /= 1024;
  return fmt::format("{:.2f} {}", n, units[unit]);
}
void fail_after(int64_t n) { fail_in = n; }

}  // namespace rille::memory
