// A channel is brought together in scratch, as accumulator values, read from there as often as it
// takes, and written back. Its values lie batch times `size` in a row, a channel's image apart.
// Bound by memory: x is read from it once, and dy.
#include "cpu/channel_norm.h"

#include <algorithm>
#include <cmath>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/convert.h"
#include "cpu/row_access.h"

namespace rille::cpu {
namespace {

// Summed in pieces of this many values, and the pieces in double: a channel may have millions.
constexpr int64_t kPiece = 4096;

template <class F>
double in_pieces(int64_t n, F&& sum) {
  double total = 0;
  Poll poll;
  for (int64_t i = 0; i < n; i += kPiece, poll(kPiece)) total += sum(i, std::min(kPiece, n - i));
  return total;
}

template <class A>
RILLE_CLONES A sum_row(const A* x, int64_t n) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

template <class A>
RILLE_CLONES A square_row(const A* x, A mean, int64_t n) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

template <class A>
RILLE_CLONES A product_row(const A* x, A mean, const A* dy, int64_t n) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * dy[i];
  return sum;
}

template <class A>
RILLE_CLONES void normalise_row(A* x, A mean, A rstd, A weight, A bias, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] = (x[i] - mean) * rstd * weight + bias;
}

// dy becomes dx = scale * (dy - mean_dy - (x - mean) * slope).
template <class A>
RILLE_CLONES void dx_row(const A* x, A mean, A scale, A mean_dy, A slope, A* dy, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dy[i] = scale * (dy[i] - mean_dy - (x[i] - mean) * slope);
}

// The values of one channel at a time.
template <class A>
class Channel {
 public:
  Channel(DType d, Channels shape)
      : dtype_(d), shape_(shape), n_(shape.batch * shape.size), values_(n_) {}

  A* load(const void* base, int64_t c) {
    if (shape_.size == 1)
      gather(dtype_, element(base, dtype_, c), shape_.channels, n_, kDType<A>, values_.data());
    else
      each_image(c, [&](int64_t from, int64_t to) {
        convert(dtype_, element(base, dtype_, from), kDType<A>, values_.data() + to, shape_.size);
      });
    return values_.data();
  }
  void store(void* base, int64_t c) const {
    if (shape_.size == 1)
      scatter(kDType<A>, values_.data(), n_, dtype_, element(base, dtype_, c), shape_.channels);
    else
      each_image(c, [&](int64_t to, int64_t from) {
        convert(kDType<A>, values_.data() + from, dtype_, element(base, dtype_, to), shape_.size);
      });
  }
  int64_t count() const { return n_; }

 private:
  template <class F>
  void each_image(int64_t c, F&& f) const {
    Poll poll;
    for (int64_t b = 0; b < shape_.batch; ++b, poll(shape_.size))
      f((b * shape_.channels + c) * shape_.size, b * shape_.size);
  }

  DType dtype_;
  Channels shape_;
  int64_t n_;
  Scratch<A> values_;
};

int64_t channels_per_chunk(Channels s) {
  return rows_per_chunk(std::max<int64_t>(1, s.batch * s.size));
}

// The affine's value for a channel, `otherwise` where there is none.
template <class A>
A affine_at(DType d, const void* base, int64_t c, A otherwise) {
  if (base) convert(d, element(base, d, c), kDType<A>, &otherwise, 1);
  return otherwise;
}

template <class A>
void forward(DType d, const void* x, Channels s, Affine affine, double eps, bool of_batch, A* mean,
             A* var, void* y) {
  parallel_for(s.channels, channels_per_chunk(s), [&](int64_t begin, int64_t end) {
    Channel<A> channel(d, s);
    const int64_t n = channel.count();
    const double count = static_cast<double>(n);
    for (int64_t c = begin; c < end; ++c) {
      A* v = channel.load(x, c);
      if (of_batch) {
        const auto sum = [&](int64_t i, int64_t m) { return sum_row(v + i, m); };
        mean[c] = static_cast<A>(in_pieces(n, sum) / count);
        const auto square = [&](int64_t i, int64_t m) { return square_row(v + i, mean[c], m); };
        var[c] = static_cast<A>(in_pieces(n, square) / count);
      }
      const A rstd = A(1) / std::sqrt(var[c] + static_cast<A>(eps));
      const A weight = affine_at(affine.dtype, affine.weight, c, A(1)),
              bias = affine_at(affine.dtype, affine.bias, c, A(0));
      polled(n, [&](int64_t i, int64_t behind) {
        normalise_row(v + i, mean[c], rstd, weight, bias, behind - i);
      });
      channel.store(y, c);
    }
  });
}

template <class A>
void backward(DType d, const void* x, const void* dy, Channels s, Affine affine, const A* means,
              const A* rstds, bool of_batch, NormGrads grads) {
  parallel_for(s.channels, channels_per_chunk(s), [&](int64_t begin, int64_t end) {
    Channel<A> values(d, s), slopes(d, s);
    const int64_t n = values.count();
    const double count = static_cast<double>(n);
    for (int64_t c = begin; c < end; ++c) {
      const A* v = values.load(x, c);
      A* g = slopes.load(dy, c);
      const A mean = means[c], rstd = rstds[c];
      const double sum = in_pieces(n, [&](int64_t i, int64_t m) { return sum_row(g + i, m); });
      const double product =
          in_pieces(n, [&](int64_t i, int64_t m) { return product_row(v + i, mean, g + i, m); });
      const A dweight = static_cast<A>(product) * rstd, dbias = static_cast<A>(sum);
      const auto put = [&](void* to, const A& value) {
        if (to) convert(kDType<A>, &value, affine.dtype, element(to, affine.dtype, c), 1);
      };
      put(grads.dweight, dweight);
      put(grads.dbias, dbias);
      if (!grads.dx) continue;
      const A scale = affine_at(affine.dtype, affine.weight, c, A(1)) * rstd;
      const A mean_g = of_batch ? static_cast<A>(sum / count) : A(0);
      const A slope = of_batch ? static_cast<A>(product / count) * rstd * rstd : A(0);
      polled(n, [&](int64_t i, int64_t behind) {
        dx_row(v + i, mean, scale, mean_g, slope, g + i, behind - i);
      });
      slopes.store(grads.dx, c);
    }
  });
}

}  // namespace

void batch_norm(DType d, const void* x, Channels shape, Affine affine, double eps, bool of_batch,
                void* mean, void* var, void* y) {
  with_accumulator(d, [&]<class A>() {
    forward(d, x, shape, affine, eps, of_batch, static_cast<A*>(mean), static_cast<A*>(var), y);
  });
}

void batch_norm_backward(DType d, const void* x, const void* dy, Channels shape, Affine affine,
                         const void* mean, const void* rstd, bool of_batch, NormGrads grads) {
  with_accumulator(d, [&]<class A>() {
    backward(d, x, dy, shape, affine, static_cast<const A*>(mean), static_cast<const A*>(rstd),
             of_batch, grads);
  });
}

}  // namespace rille::cpu
