// Shapes and strides, and the arithmetic on them that must not overflow. All size products of the
// project go through checked_numel; all offsets through the strides that are made here.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>

namespace rille {

inline constexpr int kMaxRank = 16;
inline constexpr int64_t kMaxBytes = int64_t{1} << 47;

/// Up to kMaxRank integers; the first few in place, since every tensor carries two of these.
class Dims {
 public:
  Dims() {}  // not defaulted: `Dims()` would clear what is not in use, too
  Dims(std::initializer_list<int64_t> d) : Dims(d.begin(), d.end()) {}
  template <class It>
  Dims(It begin, It end) {
    for (; begin != end; ++begin) push_back(*begin);
  }
  explicit Dims(std::span<const int64_t> d) : Dims(d.begin(), d.end()) {}
  Dims(const Dims& o) : n_(o.n_) { copy_from(o); }
  Dims(Dims&& o) noexcept : n_(o.n_) { steal(o); }
  Dims& operator=(const Dims& o) {
    if (this == &o) return *this;
    release();
    n_ = o.n_;
    copy_from(o);
    return *this;
  }
  Dims& operator=(Dims&& o) noexcept {
    if (this == &o) return *this;
    release();
    n_ = o.n_;
    steal(o);
    return *this;
  }
  ~Dims() { release(); }
  static Dims filled(int n, int64_t value) {
    Dims d;
    for (int64_t& near : d.near_.values) near = value;  // all of it: a few vector stores
    d.n_ = std::min(n, kInPlace);
    while (d.n_ < n) d.push_back(value);
    return d;
  }

  int size() const { return n_; }
  bool empty() const { return n_ == 0; }
  int64_t& operator[](int i) { return data()[i]; }
  int64_t operator[](int i) const { return data()[i]; }
  int64_t back() const { return data()[n_ - 1]; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + n_; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + n_; }
  void push_back(int64_t v) {
    if (n_ >= kInPlace) [[unlikely]]
      make_room();
    data_after_push()[n_++] = v;
  }
  void insert(int at, int64_t v);
  void erase(int at);
  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.n_ != b.n_) return false;
    for (int i = 0; i < a.n_; ++i)  // short: a call of memcmp costs more
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  static constexpr int kInPlace = 6;
  bool far() const { return n_ > kInPlace; }
  int64_t* data() { return far() ? far_ : near_.values; }
  const int64_t* data() const { return far() ? far_ : near_.values; }
  int64_t* data_after_push() { return n_ >= kInPlace ? far_ : near_.values; }
  void make_room();  // for one more than kInPlace: moves to the heap; throws E_SHAPE past kMaxRank
  [[gnu::always_inline]] void copy_from(const Dims& o) {
    if (o.far()) [[unlikely]]
      copy_far(o);
    else
      copy_near(o);
  }
  // All of it, whatever is in use: a few vector moves instead of a call of memmove.
  void copy_near(const Dims& o) { near_ = o.near_; }
  void copy_far(const Dims& o);
  [[gnu::always_inline]] void steal(Dims& o) noexcept {
    if (!o.far()) [[likely]] {
      copy_near(o);
      return;
    }
    far_ = o.far_;
    o.n_ = 0;
  }
  void release() {
    if (far()) [[unlikely]]
      delete[] far_;
  }

  struct Near {
    int64_t values[kInPlace];
  };

  int32_t n_ = 0;
  union {
    Near near_;
    int64_t* far_;
  };
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

/// Sorts up to kMaxRank things in place; equal ones stay in their order. std::stable_sort would ask
/// for memory.
template <class It, class Before>
void sort_few(It begin, It end, Before before) {
  for (It i = begin; i != end; ++i)
    std::rotate(std::upper_bound(begin, i, *i, before), i, std::next(i));
}

/// A dim counted from 0 or, negative, from the end, made non-negative. Throws E_INDEX.
int axis(int64_t dim, int rank);

}  // namespace rille
