#include "core/storage.h"

#include "core/allocator.h"
#include "core/context.h"
#include "core/fail.h"

namespace rille {

Storage::~Storage() {
  if (release)
    release(release_context);
  else if (data)
    memory::deallocate(data, bytes);
}

StorageRef allocate_storage(size_t bytes, Device device) {
  StorageRef s(new Storage);
  s->device = device;
  if (device.is_meta()) return s;
  Context& context = Context::current();
  void* block = memory::allocate(bytes);
  if (!block && context.reclaim) {
    context.reclaim();
    block = memory::allocate(bytes);
  }
  if (!block) {
    const MemoryStats now = memory::stats();
    const bool budget =
        memory::limit() > 0 && now.allocated + static_cast<int64_t>(bytes) > memory::limit();
    throw fail(
        Kind::memory, budget ? "E_OOM_BUDGET" : "E_OOM",
        "out of memory asking {:.2f} MiB (in use {:.2f} MiB{})",
        static_cast<double>(bytes) / 0x1p20, static_cast<double>(now.allocated) / 0x1p20,
        budget ? fmt::format(", limit {:.2f} MiB", static_cast<double>(memory::limit()) / 0x1p20)
               : std::string());
  }
  s->data = block;
  s->bytes = bytes;
  context.allocated_since_collect += static_cast<int64_t>(bytes);
  return s;
}

StorageRef adopt_storage(void* data, size_t bytes, void (*release)(void*), void* context) {
  StorageRef s(new Storage);
  s->data = data;
  s->bytes = bytes;
  s->release = release;
  s->release_context = context;
  return s;
}

}  // namespace rille
