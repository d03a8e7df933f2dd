// Contiguous tensors seen as lines along one dim: [outer, n, inner], an element every `inner`.
// Scans, sorting and arg-reductions work on these.
#pragma once
#include <algorithm>

#include "core/tensor.h"
#include "cpu/pointwise.h"

namespace rille::cpu {

struct Lines {
  int64_t outer = 1, n = 1, inner = 1;
  Lines(const Tensor& x, int dim) {
    const Shape& s = x.shape();
    for (int d = 0; d < s.size(); ++d) (d < dim ? outer : d == dim ? n : inner) *= s[d];
  }
  int64_t count() const { return outer * inner; }
  /// Where a line begins.
  int64_t start(int64_t line) const { return line / inner * n * inner + line % inner; }
  /// Lines that are worth a thread's while.
  int64_t grain(int64_t work = 16384) const {
    return std::max<int64_t>(1, work / std::max<int64_t>(1, n));
  }
};

/// Calls f.operator()<A>() with the arithmetic type of a dtype: float, double or int64_t.
template <class F>
void with_compute(DType d, F&& f) {
  switch (compute_type(d)) {
    case DType::f64: return f.template operator()<double>();
    case DType::i64: return f.template operator()<int64_t>();
    default: return f.template operator()<float>();
  }
}

template <class A>
inline constexpr DType kCompute = DType::i64;
template <>
inline constexpr DType kCompute<float> = DType::f32;
template <>
inline constexpr DType kCompute<double> = DType::f64;

inline const char* element_at(const Tensor& t, int64_t i) {
  return static_cast<const char*>(t.data()) + i * static_cast<int64_t>(size_of(t.dtype()));
}
inline char* element_of(Tensor& t, int64_t i) { return const_cast<char*>(element_at(t, i)); }

}  // namespace rille::cpu
