#include "optim/clip.h"

#include <algorithm>
#include <cmath>

#include "autograd/node.h"
#include "autograd/scaled.h"
#include "core/budget.h"
#include "core/context.h"
#include "core/fail.h"
#include "core/written.h"
#include "cpu/optimize.h"
#include "ops/cast.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"

namespace rille::optim {
namespace {

double euclidean(std::span<const Tensor> grads) {
  std::vector<Tensor> dense;
  std::vector<cpu::Span> spans;
  for (const Tensor& g : grads) {
    dense.push_back(contiguous(g));
    spans.push_back({g.dtype(), dense.back().data(), g.numel()});
  }
  return cpu::l2_norm(spans);
}

// Any other order: the norm of the norms, in double.
double general(std::span<const Tensor> grads, double p) {
  double total = 0;
  for (const Tensor& g : grads) {
    if (g.numel() == 0) continue;
    const double one = call<Norm>({.x = g, .p = p, .dtype = DType::f64}).item();
    if (std::isinf(p))
      total = std::isnan(one) || std::isnan(total) ? NAN : std::max(total, one);
    else
      total += std::pow(one, p);
  }
  return std::isinf(p) ? total : std::pow(total, 1 / p);
}

// What is clipped stays scaled: unscaling is still to come.
void scale(std::span<const Tensor> grads, double factor) {
  const Unit whole;
  std::vector<cpu::Span> dense;
  std::vector<std::optional<Site>> scaled;
  for (const Tensor& g : grads) {
    scaled.push_back(autograd::scaled_at(g));
    if (g.is_contiguous())
      dense.push_back({g.dtype(), g.data(), g.numel()});
    else
      copy_(g, g * factor);
  }
  cpu::scale_all(dense, factor);
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].is_contiguous()) mark_written(grads[i], "clip_grad_norm_");
    if (scaled[i]) autograd::mark_scaled(grads[i], scaled[i]);
  }
}

std::string place(const Site& at) {
  return at.source ? fmt::format("{}:{}: ", at.source, at.line) : std::string();
}

std::string still_scaled(const Site& scaled) {
  const std::string since =
      scaled.source ? fmt::format(" at {}:{}", scaled.source, scaled.line) : std::string();
  return fmt::format(
      "these gradients are of a loss that was scaled{}; scaler:unscale_(optimizer) comes before "
      "clipping",
      since);
}

}  // namespace

ToClip gradients_to_clip(const char* op, std::span<const Tensor> params, bool strict) {
  ToClip out;
  for (const Tensor& p : params) {
    Tensor g = autograd::grad_of(p);
    if (!g) continue;
    if (const auto scaled = autograd::scaled_at(g); scaled && out.warning.empty()) {
      const std::string text = still_scaled(*scaled);
      if (strict) throw fail(Kind::state, "E_STATE", "{}", text);
      out.warning =
          fmt::format("W_CLIP_SCALED: {}{}: {}", place(Context::current().site()), op, text);
    }
    out.gradients.push_back(std::move(g));
  }
  return out;
}

Tensor clip_norm(std::span<const Tensor> grads, double max, double p, bool like_torch) {
  const NoGrad quiet;
  if (!(p > 0)) throw arg_error("'p' must be positive, got {:g}", p);
  DType dtype = DType::f32;
  bool meta = false;
  for (const Tensor& g : grads) {
    if (!g.is_float()) throw dtype_error("gradients must be floats, got {}", name(g.dtype()));
    meta |= g.is_meta();
    if (!g.device().is_cpu() && !g.is_meta())
      throw device_error("gradients on {} can't be clipped", to_string(g.device()));
    check_writable(g);
    if (g.dtype() == DType::f64) dtype = DType::f64;
  }
  if (meta) return Tensor::empty({}, dtype, Device{DeviceType::meta});
  const double norm = p == 2 ? euclidean(grads) : general(grads, p);
  const double factor = max / (norm + 1e-6);
  if (std::isfinite(norm) ? factor < 1 : like_torch) scale(grads, factor);
  return Tensor::of({&norm, 1}, {}, dtype);
}

}  // namespace rille::optim
