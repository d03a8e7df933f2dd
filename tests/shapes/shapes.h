// What the shape fuzzers share: chosen sizes, storage between walls, sums that know how exact they
// can be asked to be, and runs with 1, 2 and 4 threads. Each *_shapes.cpp of this folder holds one
// family of CPU kernels: its `Trial`s make a case from dice, run the kernel and compare with the
// plainest loop that says the same. A case depends on the seed and its number alone, so that any of
// them can be run again: `rille_shapes FAMILY --only TRIAL --case K --seed S`.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace rille::shapes {

using Values = std::vector<double>;
inline size_t at(int64_t i) { return static_cast<size_t>(i); }

// ---- chance -----------------------------------------------------------------------------------

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  int64_t between(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  bool flip() { return one_in(2); }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  double whole(int64_t low, int64_t high) { return static_cast<double>(between(low, high)); }
  template <class T>
  T any_of(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<int64_t>(list.size()) - 1)];
  }
  /// Sizes at which loops go wrong: 0, 1, primes, powers of two and multiples of block sizes with
  /// their neighbours.
  int64_t size(int64_t limit);
  int64_t size_from_1(int64_t limit) { return std::max<int64_t>(1, size(limit)); }
  /// Sizes of `rank` dims with at most `budget` elements.
  Shape shape(int rank, int64_t budget);
  DType float_type() {
    return any_of({DType::f64, DType::f32, DType::f32, DType::f16, DType::bf16});
  }
  DType any_type(bool with_boolean = true) {
    return static_cast<DType>(
        between(0, static_cast<int>(DType::boolean) - (with_boolean ? 0 : 1)));
  }
  Values values(int64_t n, double low = -2, double high = 2);
  uint64_t word() { return random_(); }

 private:
  std::mt19937_64 random_;
};

// ---- storage ----------------------------------------------------------------------------------

/// n elements between two walls that no kernel may write. To a float the walls are nan, so that
/// reading past an end spoils a result; sometimes there is none, for AddressSanitizer to see it.
class Array {
 public:
  Array(DType d, int64_t n, Dice& dice);
  Array(DType d, const Values& v, Dice& dice) : Array(d, static_cast<int64_t>(v.size()), dice) {
    set(v);
  }
  void set(const Values& v);
  DType dtype() const { return dtype_; }
  int64_t size() const { return n_; }
  void* data() { return bytes_.data() + before_; }
  const void* data() const { return bytes_.data() + before_; }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data());
  }
  Values values() const;
  bool walls_stand() const;
  bool same_bytes(const Array& o) const { return bytes_ == o.bytes_; }

 private:
  DType dtype_;
  int64_t n_;
  size_t before_, after_;
  std::vector<unsigned char> bytes_;
};
using Arrays = std::vector<Array>;

/// A tensor of random values in a random layout: packed, dims in another order, every second
/// element, repeated, backwards. What lies between its elements is nan.
Tensor random_tensor(Dice& dice, const Shape& shape, DType d, double low = -2, double high = 2);
/// The same with no element at two positions: what a kernel may write into.
Tensor random_target(Dice& dice, const Shape& shape, DType d);
/// The same, packed.
Tensor packed_tensor(Dice& dice, const Shape& shape, DType d, double low = -2, double high = 2);
/// Its elements, row-major, found by nothing but shape, strides and offset.
Values values_of(const Tensor& t);
/// Row-major positions of a shape: next() goes to the following one.
class Index {
 public:
  explicit Index(const Shape& s) : shape_(s), at_(at(s.size()), 0) {}
  void next() {
    for (int d = shape_.size() - 1; d >= 0; --d) {
      if (++at_[at(d)] < shape_[d]) return;
      at_[at(d)] = 0;
    }
  }
  int64_t operator[](int d) const { return at_[at(d)]; }
  /// Where this position lies in memory of such strides.
  int64_t offset(const Strides& s) const {
    int64_t sum = 0;
    for (int d = 0; d < shape_.size(); ++d) sum += at_[at(d)] * s[d];
    return sum;
  }

 private:
  Shape shape_;
  std::vector<int64_t> at_;
};

// ---- what is wanted ---------------------------------------------------------------------------

inline DType accumulator(DType d) { return d == DType::f64 ? d : DType::f32; }
/// Half the distance of two numbers near 1; 0 for integers.
double unit_roundoff(DType d);

struct Want {
  double value, slack = 0;
};
using Wants = std::vector<Want>;

/// A sum that remembers the size and number of its terms: each addition in a narrower type may be
/// off by one rounding of what has been summed.
struct Sum {
  long double value = 0, size = 0;
  int64_t terms = 0;
  void add(double term) { value += term, size += std::fabs(term), ++terms; }
  void add(double a, double b) {
    const long double term = static_cast<long double>(a) * b;
    value += term, size += std::fabs(term), ++terms;
  }
  /// In storage `d`, summed in its accumulator, with `more` roundings besides the additions.
  Want in(DType d, double more = 3) const { return in(d, more, accumulator(d)); }
  Want in(DType d, double more, DType compute) const;
};
/// A number known exactly up to `roundings` of the accumulator, times `size`, and one of storage.
Want rounded(DType d, double value, double roundings, double size, DType compute);
inline Want rounded(DType d, double value, double roundings, double size) {
  return rounded(d, value, roundings, size, accumulator(d));
}

/// Empty, or where got is not what is wanted: nan for nan, inf for what is past the largest number.
std::string differs(std::string_view what, DType d, const Values& got, const Wants& want);
inline std::string differs(std::string_view what, const Array& got, const Wants& want) {
  return differs(what, got.dtype(), got.values(), want);
}
inline std::string differs(std::string_view what, const Tensor& got, const Wants& want) {
  return differs(what, got.dtype(), values_of(got), want);
}

// ---- runs -------------------------------------------------------------------------------------

enum class Bits { same, may_differ };  // between numbers of threads

/// Runs the kernel on copies of `outs` with 1, 2 and 4 threads. Empty, or what is wrong: walls
/// broken, `judge`'s text, other bits.
std::string with_threads(const Arrays& outs, const std::function<void(Arrays&)>& kernel,
                         const std::function<std::string(const Arrays&)>& judge,
                         Bits bits = Bits::same);
/// The same for a kernel that makes its results.
std::string with_threads(const std::function<std::vector<Tensor>()>& kernel,
                         const std::function<std::string(const std::vector<Tensor>&)>& judge);

/// A case that was run: what it was, and what is wrong with it, if anything.
struct Outcome {
  std::string what, wrong;
};

struct Trial {
  const char* name;
  int cases;  // of a short run
  Outcome (*run)(Dice& dice);
};

/// One family; defined at namespace scope of its file.
struct Family {
  Family(const char* name, std::vector<Trial> trials);
  const char* name;
  std::vector<Trial> trials;
};

}  // namespace rille::shapes
