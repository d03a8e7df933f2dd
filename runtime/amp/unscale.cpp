#include "amp/unscale.h"

#include "autograd/node.h"
#include "autograd/scaled.h"
#include "core/budget.h"
#include "core/context.h"
#include "core/fail.h"
#include "core/written.h"
#include "cpu/optimize.h"
#include "ops/cast.h"

namespace rille::amp {
namespace {

void refuse_f16(std::span<const ScaledParam> params) {
  std::vector<std::string> wrong;
  for (const ScaledParam& p : params)
    if (const Tensor g = autograd::grad_of(p.param); g && g.dtype() == DType::f16 && !p.master)
      wrong.push_back(p.name);
  if (wrong.empty()) return;
  Error e =
      fail(Kind::dtype, "E_SCALER_F16_GRADS",
           "{} of {} gradients are f16: small ones would be lost", wrong.size(), params.size());
  list_facts(e, wrong);
  throw e.hint(
      "keep the parameters f32 and let autocast lower them, or give the optimizer "
      "master_weights = true");
}

// A gradient as flat memory that may be written; one with strides is copied, and copied back.
struct Flat {
  size_t position;
  Tensor grad, dense;
};

std::vector<Flat> flat_gradients(std::span<const ScaledParam> params) {
  std::vector<Flat> flat;
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor grad = autograd::grad_of(params[i].param);
    if (!grad) continue;
    if (!grad.device().is_cpu())
      throw device_error("gradients on {} can't be unscaled", to_string(grad.device()));
    const bool widened = params[i].master && size_of(grad.dtype()) == 2;
    if (widened) {
      const Tensor wide = contiguous(cast(grad, DType::f32));
      flat.push_back({i, wide, wide});
    } else {
      check_writable(grad);
      flat.push_back({i, grad, contiguous(grad)});
    }
  }
  return flat;
}

}  // namespace

void list_facts(Error& e, std::span<const std::string> lines) {
  constexpr size_t kNamed = 5;
  for (size_t i = 0; i < lines.size() && i < kNamed; ++i) e.fact(lines[i]);
  if (lines.size() > kNamed) e.fact(fmt::format("and {} more", lines.size() - kNamed));
}

std::vector<size_t> unscale(std::span<const ScaledParam> params, double inverse) {
  const NoGrad quiet;
  const Unit whole;
  refuse_f16(params);
  const std::vector<Flat> flat = flat_gradients(params);
  std::vector<cpu::Span> spans;
  for (const Flat& f : flat) spans.push_back({f.dense.dtype(), f.dense.data(), f.dense.numel()});
  const std::vector<char> finite = cpu::unscale_all(spans, inverse);
  std::vector<size_t> bad;
  for (size_t k = 0; k < flat.size(); ++k) {
    const Flat& f = flat[k];
    if (!finite[k]) bad.push_back(f.position);
    if (!f.dense.is(f.grad)) copy_(f.grad, f.dense);
    autograd::unmark_scaled(f.grad);
    if (f.grad.dtype() != params[f.position].param.dtype())
      autograd::grad_meta(params[f.position].param).grad = f.grad;
    else if (inverse != 1)
      mark_written(f.grad, "unscale_");
  }
  return bad;
}

}  // namespace rille::amp
