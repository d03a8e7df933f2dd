#include "ops/create.h"

#include <cstring>

#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

struct Same {
  template <class A> A operator()(A x) const { return x; }
};

}  // namespace

void fill(const Tensor& t, double value) {
  if (t.is_meta() || t.numel() == 0) return;
  if (value == 0 && !std::signbit(value) && t.is_contiguous()) {
    std::memset(t.data(), 0, static_cast<size_t>(t.nbytes()));
    return;
  }
  Tensor y = t;
  map(Same{}, t.dtype(), y, Tensor::number(value));
}

Meta Full::infer(const Args& a) {
  const Context& c = Context::current();
  return {a.shape.list, a.dtype.value_or(c.default_dtype), a.device.value_or(c.default_device), {}, false};
}
void Full::cpu(const Args& a, Tensor& y) { fill(y, a.value); }
void Full::samples(SampleList& s) { add_sample<Full>(s, {.shape = {2, 3}, .value = 1.5, .dtype = {}, .device = {}}); }

Tensor full(const Shape& shape, double value, DType dtype, Device device) {
  return call<Full>({.shape = Sizes(shape), .value = value, .dtype = dtype, .device = device});
}
Tensor zeros_like(const Tensor& t) { return full(t.shape(), 0, t.dtype(), t.device()); }
Tensor ones_like(const Tensor& t) { return full(t.shape(), 1, t.dtype(), t.device()); }

OpFamily family_create() { return list_ops(OpList<Full>{}, "create"); }

}  // namespace rille
