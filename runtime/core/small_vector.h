// A vector that keeps its first N elements in place: argument lists, edges and results of ops are
// nearly always shorter than that, and a heap block would cost more than the op.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

namespace rille {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() {}  // not defaulted: `SmallVector()` would clear the room, too
  explicit SmallVector(size_t n) { resize(n); }
  SmallVector(std::initializer_list<T> items) {
    for (const T& t : items) push_back(t);
  }
  SmallVector(const SmallVector& o) {
    for (const T& t : o) push_back(t);
  }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) {
      clear();
      for (const T& t : o) push_back(t);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      release();
      take(o);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }

  template <class... A>
  T& emplace_back(A&&... a) {
    if (size_ == capacity_) grow(2 * capacity_);
    T* t = std::construct_at(data_ + size_, std::forward<A>(a)...);
    ++size_;
    return *t;
  }
  void push_back(T t) { emplace_back(std::move(t)); }
  /// What make() gives, made where it will lie.
  template <class Make>
  T& emplace_made(Make&& make) {
    if (size_ == capacity_) grow(2 * capacity_);
    T* t = new (data_ + size_) T(make());
    ++size_;
    return *t;
  }
  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void resize(size_t n) {
    reserve(n);
    while (size_ < n) std::construct_at(data_ + size_++);
    while (size_ > n) std::destroy_at(data_ + --size_);
  }
  void clear() {
    std::destroy_n(data_, size_);
    size_ = 0;
  }

 private:
  T* in_place() { return std::launder(reinterpret_cast<T*>(room_)); }
  bool on_heap() { return data_ != in_place(); }
  void release() {
    clear();
    if (on_heap()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = in_place();
    capacity_ = N;
  }
  void take(SmallVector& o) {
    if (o.on_heap()) {
      data_ = std::exchange(o.data_, o.in_place());
      capacity_ = std::exchange(o.capacity_, N);
      size_ = std::exchange(o.size_, 0);
    } else {
      for (T& t : o) emplace_back(std::move(t));
      o.clear();
    }
  }
  void grow(size_t n) {
    T* fresh = std::allocator<T>().allocate(n);
    std::uninitialized_move_n(data_, size_, fresh);
    std::destroy_n(data_, size_);
    if (on_heap()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = fresh;
    capacity_ = n;
  }

  alignas(T) std::byte room_[N * sizeof(T)];
  T* data_ = in_place();
  size_t size_ = 0, capacity_ = N;
};

}  // namespace rille
