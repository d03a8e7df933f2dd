#include "cpu/pool.h"

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>

#include "core/budget.h"
#include "core/fail.h"
#include "core/half.h"
#include "core/sizes.h"
#include "core/threads.h"
#include "cpu/scratch.h"

namespace rille::cpu {

namespace {

constexpr int64_t kChunkWork = 1 << 15;  // window elements worth a chunk of their own

/// What one output index covers along one dimension: input indices begin, begin + step, ... < end.
struct Span {
  int64_t begin, end, step;
  int64_t padded;  // how many elements it has with padding, as averages count them
};

/// The windows of all output indices, dimension by dimension; three dimensions, the last ones used.
struct Windows {
  Scratch<Span> spans[3];
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t image = 1, positions = 1, taps = 1;  // taps: of the largest window

  explicit Windows(const Pool& p)
      : spans{Scratch<Span>(count_of(p, 0)), Scratch<Span>(count_of(p, 1)),
              Scratch<Span>(count_of(p, 2))} {
    Poll poll;
    for (int d = 0; d < 3; ++d) {
      const int from = d - (3 - p.dims);
      if (from < 0) {
        spans[d][0] = {0, 1, 1, 1};
        continue;
      }
      in[d] = p.in[from], out[d] = p.out[from];
      int64_t longest = 1;
      for (int64_t i = 0; i < out[d]; ++i, poll(1)) {
        const Span s = spans[d][i] = span(p, from, i);
        longest = std::max(longest, (s.end - s.begin + s.step - 1) / s.step);
      }
      image *= in[d], positions *= out[d];
      taps *= longest;
    }
  }

  static int64_t count_of(const Pool& p, int d) {
    const int from = d - (3 - p.dims);
    return from < 0 ? 1 : p.out[from];
  }
  std::span<const Span> along(int d) const {
    return {spans[d].data(), static_cast<size_t>(out[d])};
  }

  static Span span(const Pool& p, int d, int64_t i) {
    const int64_t in = p.in[d];
    if (p.adaptive) {
      const int64_t out = p.out[d], begin = share(i, in, out);
      const int64_t end = in - share(out - 1 - i, in, out);  // (i + 1) in / out, rounded up
      return {begin, end, 1, end - begin};
    }
    const int64_t start = i * p.stride[d] - p.pad_begin[d], step = p.dilation[d];
    const int64_t stop = start + (p.kernel[d] - 1) * step + 1;
    const int64_t begin = start >= 0 ? start : start + (-start + step - 1) / step * step;
    const int64_t padded = (std::min(stop, in + p.pad_end[d]) - start + step - 1) / step;
    return {begin, std::min(stop, in), step, padded};
  }

  /// f(output position, span, span, span) for every window of a plane, in order.
  template <class F>
  void each(F&& f) const {
    int64_t at = 0;
    Poll poll;
    for (const Span& z : along(0))
      for (const Span& y : along(1))
        for (const Span& x : along(2)) {
          f(at++, z, y, x);
          poll(taps);
        }
  }

  /// f(input position) for every element of a window, in order.
  template <class F>
  void elements(const Span& z, const Span& y, const Span& x, F&& f) const {
    for (int64_t i = z.begin; i < z.end; i += z.step)
      for (int64_t j = y.begin; j < y.end; j += y.step) {
        const int64_t row = (i * in[1] + j) * in[2];
        for (int64_t k = x.begin; k < x.end; k += x.step) f(row + k);
      }
  }

  int64_t planes_at_once() const {
    return std::max<int64_t>(1, kChunkWork / (positions * taps + 1));
  }
};

template <class S>
using Sum = std::conditional_t<std::is_integral_v<S>, int64_t,
                               std::conditional_t<std::is_same_v<S, double>, double, float>>;

/// a + b; integers wrap.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

/// A window that lies in the padding altogether (dilation can do that).
bool is_empty(const Span& a, const Span& b, const Span& c) {
  return a.begin >= a.end || b.begin >= b.end || c.begin >= c.end;
}

template <class S>
S lowest() {
  if constexpr (std::is_integral_v<S>)
    return std::numeric_limits<S>::lowest();
  else
    return S(-std::numeric_limits<float>::infinity());
}

template <class S>
void max_planes(const Pool& p, const S* x, S* y, int64_t* ids) {
  using T = Sum<S>;
  const Windows w(p);
  parallel_for(p.planes, w.planes_at_once(), [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; ++plane) {
      const S* image = x + plane * w.image;
      w.each([&](int64_t at, const Span& a, const Span& b, const Span& c) {
        if (is_empty(a, b, c)) {
          y[plane * w.positions + at] = lowest<S>();
          if (ids) ids[plane * w.positions + at] = -1;
          return;
        }
        int64_t best = (a.begin * w.in[1] + b.begin) * w.in[2] + c.begin;
        T largest = static_cast<T>(image[best]);
        w.elements(a, b, c, [&](int64_t i) {
          const T v = static_cast<T>(image[i]);
          if (v > largest || v != v) largest = v, best = i;
        });
        y[plane * w.positions + at] = image[best];
        if (ids) ids[plane * w.positions + at] = best;
      });
    }
  });
}

template <class T>
void clear(T* sums, int64_t n) {
  polled(n, [&](int64_t begin, int64_t end) { std::fill(sums + begin, sums + end, T(0)); });
}

/// Runs body(plane, sums) with sums zeroed, then stores them as the plane of `dx`.
template <class S, class F>
void each_gradient_plane(const Pool& p, const Windows& w, S* dx, F&& body) {
  using T = Sum<S>;
  parallel_for(p.planes, w.planes_at_once(), [&](int64_t first, int64_t last) {
    const Scratch<T> room(std::is_same_v<S, T> ? 0 : w.image);
    for (int64_t plane = first; plane < last; ++plane) {
      S* out = dx + plane * w.image;
      if constexpr (std::is_same_v<S, T>) {
        clear(out, w.image);
        body(plane, out);
      } else {
        T* sums = room.data();
        clear(sums, w.image);
        body(plane, sums);
        polled(w.image, [&](int64_t i, int64_t end) {
          for (; i < end; ++i) out[i] = static_cast<S>(sums[i]);
        });
      }
    }
  });
}

template <class S>
void max_planes_backward(const Pool& p, const S* dy, const int64_t* ids, S* dx) {
  using T = Sum<S>;
  const Windows w(p);
  each_gradient_plane(p, w, dx, [&](int64_t plane, T* sums) {
    Poll poll;
    for (int64_t at = plane * w.positions; at < (plane + 1) * w.positions; ++at, poll(1))
      if (ids[at] >= 0) sums[ids[at]] = add(sums[ids[at]], static_cast<T>(dy[at]));
  });
}

int64_t count(const Span& s) { return (s.end - s.begin + s.step - 1) / s.step; }

int64_t size_of_window(const Pool& p, const Span& a, const Span& b, const Span& c) {
  if (p.divisor != 0) return p.divisor;
  if (p.count_padding) return a.padded * b.padded * c.padded;
  return count(a) * count(b) * count(c);
}

/// sum / size; integers wrap, where the lowest is divided by -1.
template <class T>
T quotient(T sum, int64_t size) {
  if constexpr (std::is_integral_v<T>) {
    if (size == -1) return static_cast<T>(-static_cast<uint64_t>(sum));
  }
  return sum / static_cast<T>(size);
}

template <class S>
void avg_planes(const Pool& p, const S* x, S* y) {
  using T = Sum<S>;
  const Windows w(p);
  parallel_for(p.planes, w.planes_at_once(), [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; ++plane) {
      const S* image = x + plane * w.image;
      w.each([&](int64_t at, const Span& a, const Span& b, const Span& c) {
        T sum = 0;
        w.elements(a, b, c, [&](int64_t i) { sum = add(sum, static_cast<T>(image[i])); });
        const int64_t size = is_empty(a, b, c) ? 1 : size_of_window(p, a, b, c);
        y[plane * w.positions + at] = static_cast<S>(quotient(sum, size));
      });
    }
  });
}

template <class S>
void avg_planes_backward(const Pool& p, const S* dy, S* dx) {
  using T = Sum<S>;
  const Windows w(p);
  each_gradient_plane(p, w, dx, [&](int64_t plane, T* sums) {
    w.each([&](int64_t at, const Span& a, const Span& b, const Span& c) {
      if (is_empty(a, b, c)) return;
      const int64_t size = size_of_window(p, a, b, c);
      const T share = quotient(static_cast<T>(dy[plane * w.positions + at]), size);
      w.elements(a, b, c, [&](int64_t i) { sums[i] = add(sums[i], share); });
    });
  });
}

/// f(S()) for the storage type of `dtype`.
template <class F>
void with_storage(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64: return f(double());
    case DType::f32: return f(float());
    case DType::f16: return f(f16(0.f));
    case DType::bf16: return f(bf16(0.f));
    case DType::i64: return f(int64_t());
    case DType::i32: return f(int32_t());
    case DType::i16: return f(int16_t());
    case DType::i8: return f(int8_t());
    default: return f(uint8_t());
  }
}

void refuse_boolean(DType dtype) {
  if (dtype == DType::boolean)
    throw dtype_error("averages of {} tensors are not defined", name(dtype)).hint("x:to \"f32\"");
}

}  // namespace

int64_t pool_out(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad_begin,
                 int64_t pad_end, bool ceil) {
  const int64_t room = window_room(in, kernel, dilation, pad_begin, pad_end);
  if (room < 0 && !(ceil && stride > -room)) return 0;
  const int64_t more = room < 0 ? 0 : ceil ? pieces(room, stride) : room / stride;
  return ceil && Checked(more) * stride >= in + pad_begin ? more : more + 1;
}

void max_pool(DType dtype, const Pool& p, const void* x, void* y, int64_t* ids) {
  if (p.planes == 0) return;
  with_storage(
      dtype, [&]<class S>(S) { max_planes(p, static_cast<const S*>(x), static_cast<S*>(y), ids); });
}

void max_pool_backward(DType dtype, const Pool& p, const void* dy, const int64_t* ids, void* dx) {
  refuse_boolean(dtype);
  if (p.planes == 0) return;
  with_storage(dtype, [&]<class S>(S) {
    max_planes_backward(p, static_cast<const S*>(dy), ids, static_cast<S*>(dx));
  });
}

void avg_pool(DType dtype, const Pool& p, const void* x, void* y) {
  refuse_boolean(dtype);
  if (p.planes == 0) return;
  with_storage(dtype,
               [&]<class S>(S) { avg_planes(p, static_cast<const S*>(x), static_cast<S*>(y)); });
}

void avg_pool_backward(DType dtype, const Pool& p, const void* dy, void* dx) {
  refuse_boolean(dtype);
  if (p.planes == 0) return;
  with_storage(dtype, [&]<class S>(S) {
    avg_planes_backward(p, static_cast<const S*>(dy), static_cast<S*>(dx));
  });
}

}  // namespace rille::cpu
