// How scales lie over narrow floats: one for all of a tensor, one for each row, or one for each
// block of a row, where a row is what lies along the last dim. A value is its code times its scale
// (and times a global scale, where there is one). quantize makes scales, dequantize and scaled_mm
// read them; all three ask here what fits what.
#pragma once
#include "cpu/scales.h"
#include "ops/op.h"

namespace rille {

/// Elements that share a scale of f8_e8m0 (OCP Microscaling Formats 1.0) and one of f8_e4m3 (the
/// four-bit format of NVIDIA, whose scales need a global one).
inline constexpr int64_t kMxBlock = 32, kNvBlock = 16;

/// Raises E_DTYPE where `scale` has no dtype of scales: f32, f8_e8m0, f8_e4m3, or a number.
void check_scale_dtype(const Tensor& scale, const char* field);
/// Raises where a global scale is not one value of f32.
void check_global_scale(const std::optional<Tensor>& scale, const char* field);

/// Whether a scale of f32 is the only one.
bool is_single(const Tensor& scale);
/// Whether `scale` fits rows of n elements, `lead` being the dims before them. Blocks of f8_e8m0
/// and f8_e4m3 have their sizes, the last of a row may be shorter; f32 scales divide it evenly.
bool scale_fits(const Tensor& scale, const Shape& lead, int64_t n);
/// What would fit, for a hint: "one number, [4, 1] for rows, or ...".
std::string fitting_scales(const Shape& lead, int64_t n);

/// Elements of a row of n that share a scale; at least 1.
int64_t scale_block(const Tensor& scale, int64_t n);
/// Row-major scales in f32, the global one multiplied in.
Tensor scale_values(const Tensor& scale, const std::optional<Tensor>& global);
/// The same for kernels over [rows, n]; `values` must outlive it.
cpu::ScaleGrid scale_grid(const Tensor& values, const Tensor& scale, int64_t n);
/// The same in other ops: what broadcasts against x, f32.
Tensor spread_scales(const Tensor& scale, const std::optional<Tensor>& global, const Shape& x);

}  // namespace rille
