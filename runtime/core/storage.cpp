#include "core/storage.h"

#include <atomic>
#include <memory>

#include "core/allocator.h"
#include "core/blocks.h"
#include "core/budget.h"
#include "core/context.h"
#include "core/fail.h"
#include "core/pressure.h"
#include "core/rehearsal.h"
#include "core/sizes.h"
#include "core/threads.h"

namespace rille {

Storage::~Storage() {
  if (release)
    release(release_context);
  else if (data)
    memory::deallocate(data, bytes);
  if (bytes >= kRemembered) [[unlikely]]
    memory::block_freed(*this);
}

[[gnu::noinline]] void StorageRef::destroy(Storage* p) noexcept { delete p; }

namespace {

[[noreturn]] void throw_out_of_memory(int64_t bytes) {
  if (const Budget* mine = Budget::current(); mine && mine->refuses(bytes))
    mine->raise_out_of_memory(bytes);
  const MemoryStats now = memory::stats();
  const int64_t most = memory::limit();
  const bool budget = most > 0 && now.allocated + bytes > most;
  throw fail(Kind::memory, budget ? "E_OOM_BUDGET" : "E_OOM",
             "out of memory asking {} (in use {}, {} {})", memory::size_text(bytes),
             memory::size_text(now.allocated), budget ? "limit" : "reserved",
             memory::size_text(budget ? most : now.reserved))
      .hint("make batches smaller; rille.no_grad keeps no tape, rille.scope frees at its end");
}

}  // namespace

namespace {

// A block that counts to a budget until it is freed, on whichever thread that is.
struct Counted {
  Charge charge;
  void* data;
  size_t bytes;
  static void release(void* self) {
    const std::unique_ptr<Counted> counted(static_cast<Counted*>(self));
    memory::deallocate(counted->data, counted->bytes);
  }
};

// False where the memory, or the budget's leave to use it, can't be had.
bool obtain(Storage& s, size_t bytes) {
  Budget* budget = Budget::counting();
  if (!budget) {
    s.data = memory::allocate(bytes);
    return s.data != nullptr;
  }
  const auto count = static_cast<int64_t>(bytes);
  if (!budget->take(count)) return false;
  Charge charge = Charge::taken(*budget, count);  // first: what follows may throw
  std::unique_ptr<Counted> counted(new Counted{std::move(charge), nullptr, bytes});
  counted->data = memory::allocate(bytes);
  if (!counted->data) return false;
  s.data = counted->data;
  s.release = Counted::release;
  s.release_context = counted.release();
  return true;
}

// Memory that is written for the first time takes the system up to milliseconds a huge page. A
// kernel may meet dozens of them in one step and would be late for a deadline, so that a run which
// has one meets them here, one after another.
void touch_before_deadline(const Storage& s) {
  constexpr int64_t kHuge = int64_t{2} << 20, kFew = 16;
  const int64_t pages = static_cast<int64_t>(s.bytes) / kHuge;
  if (pages < kFew) return;
  const Budget* budget = Budget::current();
  if (!budget || !budget->has_deadline()) return;
  volatile char* data = static_cast<char*>(s.data);
  parallel_for(pages, 1, [data](int64_t begin, int64_t end) {
    for (int64_t page = begin; page < end; ++page) {
      end_if_over();  // one may take a hundred times as long as the one before
      data[page * kHuge] = 0;
    }
  });
}

}  // namespace

namespace {
std::atomic<void (*)()> release_kept{nullptr};
}  // namespace

void on_pressure(void (*release)()) { release_kept = release; }
void relieve_pressure() {
  if (void (*release)() = release_kept.load()) release();
}

namespace {

std::atomic<uint64_t> newest{0};

// What is large is remembered, with the script's line.
void remember(Storage& s, const Context& context) {
  if (s.bytes < kRemembered) [[likely]]
    return;
  s.made_at = context.site();
  memory::block_made(s, context);
}

StorageRef numbered() {
  StorageRef s(new Storage);
  s->serial = add_to_count(newest, uint64_t{1}) + 1;
  return s;
}

}  // namespace

uint64_t last_serial() { return newest.load(std::memory_order_relaxed); }

StorageRef allocate_storage(size_t bytes, Device device) {
  StorageRef s = numbered();
  s->device = device;
  Context& context = Context::current();
  if (device.is_meta()) {
    const std::shared_ptr<Rehearsal>& rehearsal = Rehearsal::current();
    if (!rehearsal) return s;
    Rehearsal::count(rehearsal, *s.get(), bytes);
    context.allocated_since_collect += static_cast<int64_t>(bytes);  // collected as in earnest
    return s;
  }
  bool found = obtain(*s.get(), bytes);
  if (!found && Budget::counting()) {
    relieve_pressure();
    found = obtain(*s.get(), bytes);
  }
  if (!found && context.reclaim) {
    context.reclaim();
    found = obtain(*s.get(), bytes);
  }
  if (!found) throw_out_of_memory(static_cast<int64_t>(bytes));
  s->bytes = bytes;
  remember(*s.get(), context);
  context.allocated_since_collect += static_cast<int64_t>(bytes);
  touch_before_deadline(*s.get());
  return s;
}

// Of what the machine has, not of what it has left: the allocator finds that out.
void expect_room(int64_t count, int64_t bytes) {
  int64_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) all = INT64_MAX / 2;
  const Budget* budget = Budget::counting();
  if (all > memory::budget() || (budget && budget->refuses(all))) throw_out_of_memory(all);
}

StorageRef adopt_storage(void* data, size_t bytes, void (*release)(void*), void* context) {
  StorageRef s = numbered();
  s->data = data;
  s->bytes = bytes;
  remember(*s.get(), Context::current());
  s->release = release;
  s->release_context = context;
  return s;
}

}  // namespace rille
