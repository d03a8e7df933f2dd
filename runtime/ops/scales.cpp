#include "ops/scales.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "ops/cast.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

// The size of blocks that a scale's dtype stands for; 0 where it stands for any.
int64_t fixed_block(DType d) {
  if (d == DType::f8_e8m0) return kMxBlock;
  return d == DType::f8_e4m3 ? kNvBlock : 0;
}

Shape with(const Shape& lead, int64_t n) {
  Shape s = lead;
  s.push_back(n);
  return s;
}

}  // namespace

void check_scale_dtype(const Tensor& scale, const char* field) {
  const DType d = scale.dtype();
  if (scale.is_number() || d == DType::f32 || fixed_block(d)) return;
  throw dtype_error("'{}' must be f32, f8_e8m0 or f8_e4m3, got {}", field, name(d)).of(field);
}

void check_global_scale(const std::optional<Tensor>& scale, const char* field) {
  if (!scale || scale->is_number() || (scale->dtype() == DType::f32 && scale->numel() == 1)) return;
  throw shape_error("'{}' must be one value of f32, got {}{}", field, name(scale->dtype()),
                    to_string(scale->shape()))
      .of(field);
}

bool is_single(const Tensor& scale) { return scale.numel() == 1 && !fixed_block(scale.dtype()); }

bool scale_fits(const Tensor& scale, const Shape& lead, int64_t n) {
  if (is_single(scale)) return scale.rank() <= lead.size() + 1;
  if (scale.rank() != lead.size() + 1) return false;
  const int64_t block = fixed_block(scale.dtype()), given = scale.shape().back();
  if (scale.shape() != with(lead, given)) return false;
  return block ? given == pieces(n, block) : given > 0 && n % given == 0;
}

std::string fitting_scales(const Shape& lead, int64_t n) {
  return fmt::format("a scale is one number, {} for rows, {} in f8_e8m0 or {} in f8_e4m3",
                     to_string(with(lead, 1)), to_string(with(lead, pieces(n, kMxBlock))),
                     to_string(with(lead, pieces(n, kNvBlock))));
}

int64_t scale_block(const Tensor& scale, int64_t n) {
  const int64_t block = fixed_block(scale.dtype());
  if (block) return block;
  return std::max<int64_t>(1, is_single(scale) ? n : n / scale.shape().back());
}

Tensor scale_values(const Tensor& scale, const std::optional<Tensor>& global) {
  const Tensor values = contiguous(cast(scale, DType::f32));
  return global ? contiguous(values * cast(*global, DType::f32)) : values;
}

cpu::ScaleGrid scale_grid(const Tensor& values, const Tensor& scale, int64_t n) {
  const int64_t row_stride = is_single(scale) ? 0 : scale.shape().back();
  return {values.data_as<float>(), row_stride, scale_block(scale, n), 1};
}

Tensor spread_scales(const Tensor& scale, const std::optional<Tensor>& global, const Shape& x) {
  const Tensor values = scale_values(scale, global);
  if (is_single(scale)) return reshape(values, {});
  const int64_t n = x.back(), block = scale_block(scale, n);
  const Tensor each =
      call<RepeatInterleave>({.x = values, .repeats = Tensor::number(block), .dim = Axis{-1}});
  return narrow(each, -1, 0, n);
}

}  // namespace rille
