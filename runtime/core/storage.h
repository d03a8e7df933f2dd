// A block of memory that tensors share. Its version grows with every write in place: whoever saved
// a value for a gradient compares versions before using it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/device.h"
#include "core/pool.h"
#include "core/references.h"

namespace rille {

/// Where a script did something: "mnist.lua", 31. The text is interned, so it lives as long as the
/// process and can be compared and copied freely.
struct Site {
  const char* source = nullptr;
  int line = 0;
};

/// Blocks from this size on know which op of which line made them.
inline constexpr size_t kRemembered = size_t{1} << 20;

struct Storage {
  References refs{1};
  uint32_t version = 0;
  void* data = nullptr;
  size_t bytes = 0;
  Device device;
  bool read_only = false;
  const char* written_by = nullptr;  // the op of the last write in place, for the error's text
  Site written_at;
  uint64_t serial = 0;            // of the process's storages, in the order they were made
  const char* made_by = nullptr;  // from kRemembered bytes: the op that made it, where one did,
  Site made_at;                   // and the script's line
  void (*release)(void* context) = nullptr;  // for memory that a host lent; else the allocator's
  void* release_context = nullptr;

  static void* operator new(size_t) { return Pool<Storage>::take(); }
  static void operator delete(void* p) { Pool<Storage>::give(p); }
  ~Storage();
};

class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* taken) : p_(taken) {}
  StorageRef(const StorageRef& o) : p_(o.p_) {
    if (p_) add_reference(p_->refs);
  }
  StorageRef(StorageRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  StorageRef& operator=(StorageRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~StorageRef() {
    if (p_ && drop_reference(p_->refs)) destroy(p_);
  }
  explicit operator bool() const { return p_ != nullptr; }
  Storage* operator->() const { return p_; }
  Storage* get() const { return p_; }
  bool unique() const { return p_ && p_->refs.load(std::memory_order_acquire) == 1; }

 private:
  static void destroy(Storage* p) noexcept;
  Storage* p_ = nullptr;
};

/// Fresh memory, not initialised. Asks the interpreter to collect and tries once more before it
/// gives up. Throws E_OOM.
StorageRef allocate_storage(size_t bytes, Device device);
/// Memory that somebody else owns; `release(context)` runs exactly once, when the last tensor goes.
StorageRef adopt_storage(void* data, size_t bytes, void (*release)(void*), void* context);

/// The serial of the process's newest storage: those made from now on have a higher one.
uint64_t last_serial();

}  // namespace rille
