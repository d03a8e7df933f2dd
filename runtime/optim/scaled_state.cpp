#include "optim/scaled_state.h"

#include "core/fail.h"
#include "cpu/scales.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/convert.h"
#include "ops/create.h"
#include "ops/math.h"

namespace rille::optim {
namespace {

constexpr int64_t kGroup = 128;

cpu::ScaleGrid grid_of(const Tensor& scales) {
  return {.values = scales.data_as<float>(), .row_stride = 0, .block = kGroup};
}

}  // namespace

bool has_scales(DType d) { return d == DType::f8_e4m3 || d == DType::f8_e5m2; }

void check_state_dtype(DType d) {
  if (!is_float(d) && !has_scales(d))
    throw option_error("'state_dtype' must be f64, f32, bf16, f16, f8_e4m3 or f8_e5m2, got {}",
                       name(d));
}

int64_t scale_count(int64_t n) { return (n + kGroup - 1) / kGroup; }

Tensor fresh_scales(int64_t n, std::optional<DType> d) {
  if (!d || !has_scales(*d)) return {};
  return call<Zeros>({.shape = {scale_count(n)}, .dtype = DType::f32});
}

Tensor read_scaled(const Tensor& codes, const Tensor& scales, Kept kept) {
  const Tensor x = contiguous(cast(codes, DType::f32));
  cpu::multiply_by_scales(x.data_as<float>(), 1, x.numel(), grid_of(scales));
  return kept == Kept::square ? call<Square>({.x = x}) : x;
}

void write_scaled(const Tensor& values, Kept kept, const Tensor& codes, const Tensor& scales) {
  const Tensor exact = cast(values, DType::f32);
  const Tensor x = kept == Kept::square ? call<Sqrt>({.x = exact}) : clone(exact);
  const FloatInfo& format = float_info(codes.dtype());
  const float largest = static_cast<float>(format.max);
  const float smallest = static_cast<float>(format.smallest_subnormal);
  const int64_t n = x.numel();
  float* p = x.data_as<float>();
  float* scale = scales.data_as<float>();
  cpu::block_amax(p, 1, n, kGroup, scale);
  for (int64_t g = 0; g < scales.numel(); ++g) scale[g] /= largest;
  cpu::divide_by_scales(p, 1, n, grid_of(scales), {.largest = largest}, p);
  if (kept == Kept::square)
    for (int64_t i = 0; i < n; ++i)
      if (p[i] > 0 && p[i] < smallest) p[i] = smallest;
  copy_(codes, call<ConvertDrawn>({.x = x, .dtype = codes.dtype(), .saturate = true}));
}

}  // namespace rille::optim
