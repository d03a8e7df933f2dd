#include "ops/bitwise.h"

#include "core/fail.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

struct Flip {
  int64_t bits;
  int64_t operator()(int64_t x) const { return x ^ bits; }
};

void check_integers(DType d) {
  if (is_float(d)) throw dtype_error("needs integers or bools, got {}", name(d));
}

}  // namespace

template <class O>
Meta OfIntegers<O>::infer(const Args& a) {
  const DType d = result_type({&a.x, &a.y});
  check_integers(d);
  return pointwise_meta({&a.x, &a.y}, d);
}
template <class O>
void OfIntegers<O>::cpu(const Args& a, Tensor& y) {
  map_as<int64_t, int64_t, int64_t>(typename O::Fn{}, y, a.x, a.y);
}
template <class O>
void OfIntegers<O>::samples(SampleList& s) {
  add_sample<O>(s, {ids({3, 4}, 11), ids({4}, 5)});
  add_sample<O>(s, {strided(ids({3, 4}, 11)), Tensor::number(int64_t{3})});
  add_sample<O>(s, {mask({2, 3}), mask({3})});
  add_sample<O>(s, {ids({}, 7), ids({}, 3)});
  add_sample<O>(s, {ids({0, 3}, 7), ids({3}, 3)});
}

Meta BitwiseNot::infer(const Args& a) {
  check_integers(a.x.dtype());
  return like(a.x);
}
void BitwiseNot::cpu(const Args& a, Tensor& y) {
  map_as<int64_t, int64_t>(Flip{y.dtype() == DType::boolean ? 1 : -1}, y, a.x);
}
void BitwiseNot::samples(SampleList& s) {
  add_sample<BitwiseNot>(s, {strided(ids({3, 4}, 11))});
  add_sample<BitwiseNot>(s, {mask({2, 3})});
  add_sample<BitwiseNot>(s, {ids({0}, 11)});
}

OpFamily family_bitwise() {
  return list_ops(
      OpList<BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, LeftShift, RightShift, Gcd, Lcm>{},
      "bitwise");
}

}  // namespace rille
