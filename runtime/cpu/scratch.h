// Room for a kernel's intermediate values: 64-byte aligned, not initialised, given back at the end
// of the scope. One allocation a chunk of work, never one a row. It comes from the allocator of
// tensors, which keeps it: malloc would hand a megabyte back to the system each time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "core/allocator.h"

namespace rille::cpu {

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : bytes_(n > 0 ? static_cast<size_t>(n) * sizeof(T) : 0),
        data_(bytes_ > 0 ? static_cast<T*>(memory::allocate(bytes_)) : nullptr) {
    if (bytes_ > 0 && !data_) throw std::bad_alloc();
  }
  Scratch(Scratch&& other) noexcept
      : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (data_) memory::deallocate(data_, bytes_);
  }

  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  size_t bytes_;
  T* data_;
};

}  // namespace rille::cpu
