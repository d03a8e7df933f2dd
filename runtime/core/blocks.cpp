#include "core/blocks.h"

#include <pthread.h>

#include <chrono>
#include <mutex>
#include <unordered_map>

#include "core/allocator.h"

namespace rille::memory {
namespace {

struct Blocks {
  std::mutex mutex;
  std::unordered_map<const Storage*, const Context*> live;
  std::vector<BlockEvent> ring;
  size_t next = 0;  // the oldest, once the ring is full

  // Nothing is thrown: a block whose event finds no memory has none.
  void note(const BlockEvent& e) noexcept try {
    if (ring.size() < kEvents)
      ring.push_back(e);
    else
      ring[next] = e;
    next = (next + 1) % kEvents;
  } catch (const std::bad_alloc&) {
  }
};

// Never destroyed: threads of a host may free tensors while the process ends. A child of fork()
// finds the mutex free.
Blocks& blocks() {
  static Blocks* const all = [] {
    auto* made = new Blocks;
    pthread_atfork([] { blocks().mutex.lock(); }, [] { blocks().mutex.unlock(); },
                   [] { blocks().mutex.unlock(); });
    return made;
  }();
  return *all;
}

BlockEvent event_of(const Storage& s, int64_t bytes, const Context* under) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {s.serial,  bytes,     allocated(), std::chrono::duration<double>(now).count(),
          s.made_by, s.made_at, under};
}

}  // namespace

void block_made(const Storage& s, const Context& under) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  all.live.emplace(&s, &under);
  all.note(event_of(s, static_cast<int64_t>(s.bytes), &under));
}

void block_freed(const Storage& s) noexcept {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  const auto found = all.live.find(&s);
  if (found == all.live.end()) return;
  all.note(event_of(s, -static_cast<int64_t>(s.bytes), found->second));
  all.live.erase(found);
}

void forget_blocks(const Context& of) noexcept {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  for (auto& [storage, under] : all.live)
    if (under == &of) under = nullptr;
  for (BlockEvent& e : all.ring)
    if (e.made_under == &of) e.made_under = nullptr;
}

std::vector<Block> live_blocks(const Context& of) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  std::vector<Block> list;
  for (const auto& [s, under] : all.live)
    if (under == &of)
      list.push_back({s, s->serial, static_cast<int64_t>(s->bytes), s->made_by, s->made_at});
  return list;
}

std::vector<BlockEvent> block_events(const Context& of) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  std::vector<BlockEvent> list;
  const size_t count = all.ring.size(), first = count < kEvents ? 0 : all.next;
  for (size_t i = 0; i < count; ++i)
    if (const BlockEvent& e = all.ring[(first + i) % count]; e.made_under == &of) list.push_back(e);
  return list;
}

}  // namespace rille::memory
