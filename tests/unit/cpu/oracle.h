// Helpers of the CPU kernel tests: values in storage, tolerances by dtype, finite differences.
#pragma once
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/dtype.h"
#include "core/threads.h"
#include "cpu/convert.h"

namespace rille::test {

using Values = std::vector<double>;

inline constexpr DType kFloats[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

/// Deterministic values in [low, high).
inline Values spread(int64_t n, uint64_t seed, double low = -2, double high = 2) {
  Values v(static_cast<size_t>(n));
  uint64_t state = seed * 2654435761u + 12345;
  for (double& x : v) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
  }
  return v;
}

/// A buffer of one dtype, made from and read as doubles.
class Buffer {
 public:
  Buffer(DType d, int64_t n) : dtype(d), bytes(static_cast<size_t>(n) * size_of(d)), size_(n) {}
  Buffer(DType d, const Values& v) : Buffer(d, static_cast<int64_t>(v.size())) {
    cpu::convert(DType::f64, v.data(), d, bytes.data(), size_);
  }
  void* data() { return bytes.data(); }
  const void* data() const { return bytes.data(); }
  Values values() const {
    Values v(static_cast<size_t>(size_));
    cpu::convert(dtype, bytes.data(), DType::f64, v.data(), size_);
    return v;
  }

  DType dtype;
  std::vector<char> bytes;

 private:
  int64_t size_;
};

inline DType accumulator(DType d) { return d == DType::f64 ? d : DType::f32; }

/// A few roundings of the storage format, at most.
inline double tolerance(DType d) {
  switch (d) {
    case DType::f64: return 1e-12;
    case DType::f32: return 4e-6;
    case DType::f16: return 2e-3;
    default: return 1.2e-2;
  }
}

inline void require_close(const Values& got, const Values& want, double tol) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i]) continue;
    INFO("element " << i << ": got " << got[i] << ", want " << want[i]);
    REQUIRE(std::fabs(got[i] - want[i]) <= tol * (1 + std::fabs(want[i])));
  }
}

/// d f / d x by central differences.
inline Values slopes(const std::function<double(const Values&)>& f, Values x, double h = 1e-5) {
  Values d(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double keep = x[i];
    x[i] = keep + h;
    const double up = f(x);
    x[i] = keep - h;
    d[i] = (up - f(x)) / (2 * h);
    x[i] = keep;
  }
  return d;
}

inline double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Runs f with one thread and with more; what it returns must have the same bits.
inline void require_same_bits(const std::function<std::vector<char>()>& f) {
  const int before = threads();
  set_threads(1);
  const std::vector<char> alone = f();
  for (const int n : {2, 4}) {
    set_threads(n);
    const bool same = f() == alone;
    CHECK(same);
  }
  set_threads(before);
}

}  // namespace rille::test
