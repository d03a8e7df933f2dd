// Shapes and strides, and the arithmetic on them that must not overflow. All size products of the
// project go through checked_numel; all offsets through the strides that are made here.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace rille {

inline constexpr int kMaxRank = 16;
inline constexpr int64_t kMaxBytes = int64_t{1} << 47;

/// Up to kMaxRank integers in place. Copies touch only those in use.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> d) : Dims(d.begin(), d.end()) {}
  template <class It>
  Dims(It begin, It end) { for (; begin != end; ++begin) push_back(*begin); }
  explicit Dims(std::span<const int64_t> d) : Dims(d.begin(), d.end()) {}
  Dims(const Dims& o) : n_(o.n_) { std::copy_n(o.d_, n_, d_); }
  Dims& operator=(const Dims& o) {
    n_ = o.n_;
    std::copy_n(o.d_, n_, d_);
    return *this;
  }
  static Dims filled(int n, int64_t value) {
    Dims d;
    for (int i = 0; i < n; ++i) d.push_back(value);
    return d;
  }

  int size() const { return n_; }
  bool empty() const { return n_ == 0; }
  int64_t& operator[](int i) { return d_[i]; }
  int64_t operator[](int i) const { return d_[i]; }
  int64_t back() const { return d_[n_ - 1]; }
  const int64_t* begin() const { return d_; }
  const int64_t* end() const { return d_ + n_; }
  int64_t* begin() { return d_; }
  int64_t* end() { return d_ + n_; }
  void push_back(int64_t v);
  void insert(int at, int64_t v);
  void erase(int at);
  friend bool operator==(const Dims& a, const Dims& b) {
    return a.n_ == b.n_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  int32_t n_ = 0;
  int64_t d_[kMaxRank];
};
using Shape = Dims;
using Strides = Dims;

/// "[2, 3]", as errors and `print` show it.
std::string to_string(const Shape& s);

/// Number of elements. Throws E_SHAPE for a negative size and where the bytes pass 2^47.
int64_t checked_numel(const Shape& shape, size_t item_size = 1);

/// Row-major strides.
Strides contiguous_strides(const Shape& shape);
bool is_contiguous(const Shape& shape, const Strides& strides);
/// True where the elements fill a block without holes or overlap, in whatever order of dims.
bool is_dense(const Shape& shape, const Strides& strides);

/// The common shape of two operands, sizes aligned at the right. Throws E_SHAPE.
Shape broadcast(const Shape& a, const Shape& b);
/// Strides that let a tensor be read as `to` (0 where it is repeated).
Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to);

/// A dim counted from 0 or, negative, from the end, made non-negative. Throws E_INDEX.
int axis(int64_t dim, int rank);

}  // namespace rille
