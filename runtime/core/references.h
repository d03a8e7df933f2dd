// How many hold an object: tensors, storages and nodes of the tape count alike. A count that
// several threads may change takes a locked write, five nanoseconds each, a tenth of a small op in
// all. A program that knows its threads does without until a second one holds tensors. So do the
// other counts that change with every tensor.
#pragma once
#include <atomic>
#include <cstdint>

namespace rille {

using References = std::atomic<uint32_t>;

/// Whether more than one thread may hold tensors. True unless the program says otherwise: a host
/// starts threads that Rille knows nothing of.
inline constinit std::atomic<bool> references_are_shared{true};

/// For a program whose only thread so far is the calling one.
inline void begin_with_one_thread() noexcept { references_are_shared = false; }

/// Before the start of a thread that will hold tensors, by whoever starts it.
inline void share_references() noexcept { references_are_shared = true; }

/// The same for threads that are done when it goes out of scope.
class SharedReferences {
 public:
  SharedReferences() noexcept : before_(references_are_shared.load(std::memory_order_relaxed)) {
    if (!before_) references_are_shared = true;
  }
  ~SharedReferences() {
    if (!before_) references_are_shared = false;
  }
  SharedReferences(const SharedReferences&) = delete;
  SharedReferences& operator=(const SharedReferences&) = delete;

 private:
  bool before_;
};

/// Adds to a count that only threads which hold tensors change; gives what it was.
template <class T>
T add_to_count(std::atomic<T>& count, T by) noexcept {
  if (references_are_shared.load(std::memory_order_relaxed))
    return count.fetch_add(by, std::memory_order_relaxed);
  const T before = count.load(std::memory_order_relaxed);
  count.store(before + by, std::memory_order_relaxed);
  return before;
}

inline void add_reference(References& refs) noexcept { add_to_count(refs, uint32_t{1}); }

/// True where it was the last one: the caller destroys the object. Who holds the only one is alone
/// with it, and most temporaries are held once: a look costs less than a locked write.
inline bool drop_reference(References& refs) noexcept {
  const uint32_t held = refs.load(std::memory_order_acquire);
  if (held == 1) return true;
  if (references_are_shared.load(std::memory_order_relaxed))
    return refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
  refs.store(held - 1, std::memory_order_relaxed);
  return false;
}

}  // namespace rille
