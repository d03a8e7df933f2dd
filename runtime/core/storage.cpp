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

[[gnu::noinline]] void StorageRef::destroy(Storage* p) noexcept { delete p; }

namespace {

Error out_of_memory(int64_t bytes) {
  const MemoryStats now = memory::stats();
  const int64_t most = memory::limit();
  const bool budget = most > 0 && now.allocated + bytes > most;
  return fail(Kind::memory, budget ? "E_OOM_BUDGET" : "E_OOM",
              "out of memory asking {} (in use {}, {} {})", memory::size_text(bytes),
              memory::size_text(now.allocated), budget ? "limit" : "reserved",
              memory::size_text(budget ? most : now.reserved))
      .hint("make batches smaller; rille.no_grad keeps no tape, rille.scope frees at its end");
}

}  // namespace

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
  if (!block) throw out_of_memory(static_cast<int64_t>(bytes));
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
