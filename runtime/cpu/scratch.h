// Room for a kernel's intermediate values: 64-byte aligned, not initialised, freed at the end of
// the scope. One allocation a chunk of work, never one a row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

namespace rille::cpu {

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : data_(n > 0 ? static_cast<T*>(::operator new(static_cast<size_t>(n) * sizeof(T), kAlign))
                    : nullptr) {}
  Scratch(Scratch&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() { ::operator delete(data_, kAlign); }

  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  static constexpr std::align_val_t kAlign{64};
  T* data_;
};

}  // namespace rille::cpu
