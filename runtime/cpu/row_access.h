// How row kernels see storage: as rows of the accumulator type A (float; double for f64). A row
// that already is one is used in place; others pass through a scratch row and are rounded once,
// when they are stored. So the math of a kernel exists for float and double only. For .cpp files of
// this room.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/budget.h"
#include "core/dtype.h"
#include "cpu/convert.h"
#include "cpu/isa.h"
#include "cpu/scratch.h"
#include "cpu/stream.h"

namespace rille::cpu {

template <class A>
inline constexpr DType kDType = std::is_same_v<A, double> ? DType::f64 : DType::f32;

/// Calls f.operator()<A>() with the accumulator type of a floating dtype.
template <class F>
decltype(auto) with_accumulator(DType d, F&& f) {
  if (d == DType::f64) return std::forward<F>(f).template operator()<double>();
  return std::forward<F>(f).template operator()<float>();
}

inline char* element(void* base, DType d, int64_t i) {
  return static_cast<char*>(base) + i * static_cast<int64_t>(size_of(d));
}
inline const char* element(const void* base, DType d, int64_t i) {
  return static_cast<const char*>(base) + i * static_cast<int64_t>(size_of(d));
}

/// The pieces of a row, up to where the run is over; a row of usual length is one:
///   for (Pieces p(n); p.more(); p.next()) for (int64_t i = p.begin; i < p.end; ++i) ...
struct Pieces {
  static constexpr int64_t kPiece = 1 << 18;
  int64_t n, begin = 0, end;
  [[gnu::always_inline]] explicit Pieces(int64_t all) : n(all), end(std::min(all, kPiece)) {}
  [[gnu::always_inline]] bool more() const { return begin < n; }
  [[gnu::always_inline]] void next() {
    begin = end;
    end = std::min(n, end + kPiece);
    if (begin < n && run_is_over()) [[unlikely]]
      begin = n;
  }
};

template <class A>
class RowReader {
 public:
  RowReader(DType d, const void* base, int64_t n)
      : dtype_(d), base_(base), n_(n), row_(in_place() ? 0 : n) {}

  /// The row that starts at element `offset`; valid until the next call.
  const A* at(int64_t offset) {
    const char* from = element(base_, dtype_, offset);
    if (in_place()) return reinterpret_cast<const A*>(from);
    polled(n_, [&](int64_t i, int64_t end) {
      convert(dtype_, element(from, dtype_, i), kDType<A>, row_.data() + i, end - i);
    });
    return row_.data();
  }

 private:
  bool in_place() const { return dtype_ == kDType<A>; }

  DType dtype_;
  const void* base_;
  int64_t n_;
  Scratch<A> row_;
};

template <class A>
class RowWriter {
 public:
  /// A result of so many `rows` that no cache holds it is written past the caches, on Intel's
  /// processors: AMD's Zen 3 makes the next row meanwhile only if its stores are ordinary ones
  /// (softmax 5.2 instead of 6.7 ms).
  RowWriter(DType d, void* base, int64_t n, int64_t rows = 0)
      : dtype_(d),
        base_(base),
        n_(n),
        streams_(d == kDType<A> && rows * bytes() >= kPastCaches && is_intel()),
        row_(in_place() ? 0 : n),
        end_(streams_) {}

  /// Where to put the row that starts at element `offset`; done() moves it there.
  A* at(int64_t offset) {
    to_ = element(base_, dtype_, offset);
    return in_place() ? reinterpret_cast<A*>(to_) : row_.data();
  }
  void done() {
    if (in_place()) return;
    polled(n_, [&](int64_t i, int64_t end) {
      if (streams_)
        stream_copy(element(to_, dtype_, i), row_.data() + i,
                    (end - i) * static_cast<int64_t>(sizeof(A)));
      else
        convert(kDType<A>, row_.data() + i, dtype_, element(to_, dtype_, i), end - i);
    });
  }

 private:
  bool in_place() const { return dtype_ == kDType<A> && !streams_; }
  int64_t bytes() const { return n_ * static_cast<int64_t>(sizeof(A)); }

  DType dtype_;
  void* base_;
  int64_t n_;
  bool streams_;
  Scratch<A> row_;
  StreamEnd end_;
  char* to_ = nullptr;
};

/// Rows to a piece of work: enough to pay for waking a thread.
inline int64_t rows_per_chunk(int64_t n) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n));
}

}  // namespace rille::cpu
