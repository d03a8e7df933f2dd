#include "ops/rounding.h"

#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {

NanToNum::Fn NanToNum::fn(const Args& a) {
  // The largest number of the tensor's own dtype: that of f32 would round to infinity in bf16.
  const double most = a.x.is_float() ? float_info(a.x.dtype()).max : 0;
  return {a.nan, a.posinf.value_or(most), a.neginf.value_or(-most)};
}
void NanToNum::samples(SampleList& s) {
  unary_samples<NanToNum>(s, -2, 2);
  const double values[] = {1, NAN, HUGE_VAL, -HUGE_VAL};
  const Tensor odd = Tensor::of(values, {4}, DType::f64);
  add_sample<NanToNum>(s, {.x = odd, .nan = 3, .posinf = 4, .neginf = -5}).gradient = false;
  add_sample<NanToNum>(s, {.x = odd}).gradient = false;
}

OpFamily family_rounding() {
  return list_ops(
      OpList<Abs, Sign, Floor, Ceil, Trunc, Round, Frac, Deg2rad, Rad2deg, NanToNum, Positive>{},
      "rounding");
}

}  // namespace rille
