// How many hold an object: tensors, storages and nodes of the tape count alike.
#pragma once
#include <atomic>
#include <cstdint>

namespace rille {

using References = std::atomic<uint32_t>;

inline void add_reference(References& refs) noexcept {
  refs.fetch_add(1, std::memory_order_relaxed);
}

/// True where it was the last one: the caller destroys the object. Who holds the only one is alone
/// with it, and most temporaries are held once: a look costs less than a write that locks the bus.
inline bool drop_reference(References& refs) noexcept {
  return refs.load(std::memory_order_acquire) == 1 ||
         refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace rille
