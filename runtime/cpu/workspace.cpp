#include "cpu/workspace.h"

#include <cstdlib>
#include <memory>
#include <new>

namespace rille::cpu {

namespace {
struct Free {
  void operator()(void* p) const { std::free(p); }
};
struct Buffer {
  std::unique_ptr<void, Free> memory;
  size_t bytes = 0;
};
}  // namespace

void* workspace_bytes(Purpose purpose, size_t bytes) {
  thread_local Buffer buffers[static_cast<int>(Purpose::count)];
  Buffer& buffer = buffers[static_cast<int>(purpose)];
  if (buffer.bytes < bytes) {
    const size_t rounded = (bytes + 4095) / 4096 * 4096;
    buffer.memory.reset();
    buffer.bytes = 0;
    buffer.memory.reset(std::aligned_alloc(4096, rounded));
    if (!buffer.memory) throw std::bad_alloc();
    buffer.bytes = rounded;
  }
  return buffer.memory.get();
}

}  // namespace rille::cpu
