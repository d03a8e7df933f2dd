#include "cpu/workspace.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "core/budget.h"
#include "core/pressure.h"

namespace rille::cpu {

namespace {
struct Free {
  void operator()(void* p) const { std::free(p); }
};
struct Buffer {
  std::unique_ptr<void, Free> memory;
  size_t bytes = 0;
  Charge charge;  // of a large one
};

constexpr size_t kCountedFrom = size_t{1} << 20;

// On the heap: what a library that is loaded later may have of its own for each thread is little.
Buffer* buffers_of_thread() {
  thread_local const auto buffers = std::make_unique<Buffer[]>(static_cast<size_t>(Purpose::count));
  return buffers.get();
}

void release_large() {
  for (int i = 0; i < static_cast<int>(Purpose::count); ++i)
    if (Buffer& b = buffers_of_thread()[i]; b.bytes >= kCountedFrom) b = Buffer();
}

// Throws where the budget of the calling thread refuses so much.
Charge charge_for(size_t bytes) {
  if (bytes < kCountedFrom) return {};
  Budget* budget = Budget::charged();
  if (!budget) return {};
  const auto count = static_cast<int64_t>(bytes);
  if (!budget->take(count)) budget->raise_out_of_memory(count);
  return Charge::taken(*budget, count);
}
}  // namespace

void* workspace_bytes(Purpose purpose, size_t bytes) {
  Buffer& buffer = buffers_of_thread()[static_cast<int>(purpose)];
  if (buffer.bytes < bytes) {
    static const bool known = (on_pressure(release_large), true);
    (void)known;
    const size_t rounded = (bytes + 4095) / 4096 * 4096;
    buffer = Buffer();
    buffer.charge = charge_for(rounded);
    buffer.memory.reset(std::aligned_alloc(4096, rounded));
    if (!buffer.memory) throw std::bad_alloc();
    buffer.bytes = rounded;
  }
  return buffer.memory.get();
}

}  // namespace rille::cpu
