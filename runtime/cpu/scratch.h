// Room for a kernel's intermediate values: 64-byte aligned, not initialised, given back at the end
// of the scope. One allocation a chunk of work, never one a row. It comes from the allocator of
// tensors, which keeps it: malloc would hand a megabyte back to the system each time. It counts
// against limits of memory as tensors do; what is small is as good as nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "core/allocator.h"
#include "core/budget.h"

namespace rille::cpu {

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : bytes_(n > 0 ? static_cast<size_t>(n) * sizeof(T) : 0),
        budget_(bytes_ >= kCountedFrom ? take(bytes_) : nullptr),
        data_(bytes_ > 0 ? static_cast<T*>(memory::allocate(bytes_)) : nullptr) {
    if (bytes_ == 0 || data_) return;
    if (budget_) budget_->give(static_cast<int64_t>(bytes_));
    throw std::bad_alloc();
  }
  Scratch(Scratch&& other) noexcept
      : bytes_(other.bytes_),
        budget_(std::exchange(other.budget_, nullptr)),
        data_(std::exchange(other.data_, nullptr)) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (budget_) budget_->give(static_cast<int64_t>(bytes_));
    if (data_) memory::deallocate(data_, bytes_);
  }

  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  static constexpr size_t kCountedFrom = size_t{64} << 10;
  static Budget* take(size_t bytes) {
    Budget* b = Budget::charged();
    const auto count = static_cast<int64_t>(bytes);
    if (b && !b->take(count)) b->raise_out_of_memory(count);
    return b;
  }

  size_t bytes_;
  Budget* budget_;
  T* data_;
};

}  // namespace rille::cpu
