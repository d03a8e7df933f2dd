#include "ops/op.h"

namespace rille {
namespace {

// A fixed permutation of 0..n-1: steps of a stride that shares no factor with n.
int64_t scattered(int64_t i, int64_t n) {
  int64_t step = n * 5 / 8 + 1;
  auto gcd = [](int64_t a, int64_t b) {
    while (b) a = std::exchange(b, a % b);
    return a;
  };
  while (gcd(step, n) != 1) ++step;
  return i * step % n;
}

}  // namespace

Tensor grid(const Shape& shape, double lo, double hi) {
  Tensor t = Tensor::empty(shape, DType::f64);
  const int64_t n = t.numel();
  double* p = t.data_as<double>();
  for (int64_t i = 0; i < n; ++i) {
    const double part = (static_cast<double>(scattered(i, n)) + 0.5) / static_cast<double>(n);
    p[i] = lo + (hi - lo) * part;
  }
  return t;
}

Tensor ids(const Shape& shape, int64_t n) {
  Tensor t = Tensor::empty(shape, DType::i64);
  int64_t* p = t.data_as<int64_t>();
  for (int64_t i = 0; i < t.numel(); ++i) p[i] = (i * 7 + 3) * 5 % 11 % n;
  return t;
}

Tensor mask(const Shape& shape) {
  Tensor t = Tensor::empty(shape, DType::boolean);
  uint8_t* p = t.data_as<uint8_t>();
  for (int64_t i = 0; i < t.numel(); ++i) p[i] = (i * i + i / 3) % 3 != 1;
  return t;
}

Tensor strided(const Tensor& t) {
  // The same values laid out with the last two dims swapped in memory.
  const int r = t.rank();
  Shape turned = t.shape();
  std::swap(turned[r - 1], turned[r - 2]);
  const Tensor block = Tensor::empty(turned, t.dtype(), t.device());
  Strides s = block.strides();
  std::swap(s[r - 1], s[r - 2]);
  Tensor out = block.alias(t.shape(), s, 0);
  const int64_t item = static_cast<int64_t>(size_of(t.dtype()));
  for (int64_t i = 0; i < t.numel(); ++i) {
    int64_t rest = i, at = 0;
    for (int d = r - 1; d >= 0; --d) {
      at += rest % t.shape()[d] * s[d];
      rest /= t.shape()[d];
    }
    store_element(t.dtype(), static_cast<char*>(out.data()) + at * item, t.at(i));
  }
  return out;
}

}  // namespace rille
