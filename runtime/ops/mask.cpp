#include "ops/mask.h"

#include <cmath>

#include "core/budget.h"
#include "core/fail.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"
#include "ops/view.h"

namespace rille {
namespace {

struct Bias {
  float operator()(int64_t may_look) const { return may_look ? 0.0f : -HUGE_VALF; }
};

Tensor as_wanted(const Tensor& mask, bool additive, std::optional<DType> dtype) {
  return additive ? call<AdditiveMask>({.mask = mask, .dtype = dtype}) : mask;
}

void check_integers(const Tensor& t, std::string_view what) {
  if (!is_integer(t.dtype()))
    throw dtype_error("'{}' must hold integers, got {}", what, name(t.dtype())).of(what);
}

}  // namespace

Meta AdditiveMask::infer(const Args& a) {
  if (a.mask.dtype() != DType::boolean)
    throw dtype_error("mask must be bool, got {}", rille::name(a.mask.dtype())).of("mask");
  return like(a.mask, a.dtype.value_or(Context::current().default_dtype));
}
void AdditiveMask::cpu(const Args& a, Tensor& y) { map_as<float, int64_t>(Bias{}, y, a.mask); }
void AdditiveMask::samples(SampleList& s) {
  add_sample<AdditiveMask>(s, {.mask = mask({2, 3})});
  add_sample<AdditiveMask>(s, {.mask = mask({4}), .dtype = DType::f64});
}

Tensor CausalMask::compose(const Args& a) {
  const Device device = a.device.value_or(Context::current().default_device);
  const Tensor all = full({a.size, a.size}, 1, DType::boolean, device);
  return as_wanted(call<Tril>({.x = all}), a.additive, a.dtype);
}
void CausalMask::samples(SampleList& s) {
  add_sample<CausalMask>(s, {.size = 3});
  add_sample<CausalMask>(s, {.size = 2, .additive = true, .dtype = DType::f64});
}

Tensor PaddingMask::compose(const Args& a) {
  check_integers(a.ids, "ids");
  return as_wanted(call<Ne>({.x = a.ids, .y = Tensor::number(a.pad)}), a.additive, a.dtype);
}
void PaddingMask::samples(SampleList& s) {
  add_sample<PaddingMask>(s, {.ids = ids({2, 4}, 3)});
  add_sample<PaddingMask>(s, {.ids = ids({2, 4}, 3), .pad = 2, .additive = true});
}

Tensor LengthsToMask::compose(const Args& a) {
  check_integers(a.lengths, "lengths");
  int64_t max = a.max.value_or(0);
  if (!a.max) {
    if (a.lengths.is_meta())
      throw fail(Kind::device, "E_NO_KERNEL", "needs 'max': meta tensors have no largest length");
    const Tensor lengths = contiguous(cast(a.lengths, DType::i64));
    Poll poll;
    for (int64_t i = 0; i < lengths.numel(); ++i, poll(1))
      max = std::max(max, lengths.data_as<int64_t>()[i]);
  }
  if (max < 0) throw arg_error("max must not be negative, got {}", max);
  const Tensor places = call<Arange>({.first = Tensor::number(int64_t{0}),
                                      .last = Tensor::number(max - 1),
                                      .device = a.lengths.device()});
  return call<Lt>({.x = places, .y = unsqueeze(a.lengths, -1)});
}
void LengthsToMask::samples(SampleList& s) {
  add_sample<LengthsToMask>(s, {.lengths = ids({4}, 4)});
  add_sample<LengthsToMask>(s, {.lengths = ids({2, 2}, 4), .max = 5});
}

OpFamily family_mask() {
  return list_ops(OpList<AdditiveMask, CausalMask, PaddingMask, LengthsToMask>{}, "mask");
}

}  // namespace rille
