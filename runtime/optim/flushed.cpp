#include "optim/flushed.h"

#include <cmath>

#include "autograd/node.h"
#include "core/context.h"
#include "core/fail.h"
#include "ops/autocast.h"
#include "ops/cast.h"

namespace rille::optim {
namespace {

constexpr size_t kNamed = 5;

struct Count {
  int64_t all = 0, small = 0, zero = 0;
};

Count count_in(const Tensor& grad) {
  const Tensor dense = contiguous(cast(grad, DType::f32));
  const std::span<const float> values(dense.data_as<float>(), static_cast<size_t>(dense.numel()));
  Count c{dense.numel()};
  for (const float g : values) {
    c.zero += g == 0;
    c.small += g != 0 && std::fabs(g) < 0x1p-14f;
  }
  return c;
}

}  // namespace

int64_t lowered_to_f16() { return static_cast<int64_t>(autocast_counts().to_f16); }

std::string flushed_warning(const std::string& op, std::span<const Tensor> params,
                            std::span<const std::string> names) {
  const NoGrad quiet;
  Count sum;
  std::string listed;
  size_t count = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor grad = autograd::grad_of(params[i]);
    if (!grad || !grad.device().is_cpu()) continue;
    const Count c = count_in(grad);
    sum.all += c.all;
    sum.small += c.small;
    sum.zero += c.zero;
    const bool worth = c.small * 100 > c.all || c.zero == c.all;
    if (worth && count++ < kNamed)
      listed += fmt::format("{}'{}'", listed.empty() ? "" : ", ", names[i]);
  }
  const bool all_zero = sum.all > 0 && sum.zero == sum.all;
  if (!all_zero && sum.small * 100 <= sum.all) return {};
  if (count > kNamed) listed += fmt::format(" and {} more", count - kNamed);
  const Site at = Context::current().site();
  const auto share = [&](int64_t n) {
    return 100 * static_cast<double>(n) / static_cast<double>(sum.all);
  };
  const std::string what =
      all_zero ? "all gradients are 0, which small ones become in f16"
               : fmt::format("{:.3g} % of the gradients are too small for f16, {:.3g} % are 0",
                             share(sum.small), share(sum.zero));
  return fmt::format("W_F16_NO_SCALER: {}{}: {}: {}; amp.GradScaler keeps small ones",
                     at.source ? fmt::format("{}:{}: ", at.source, at.line) : std::string(), op,
                     what, listed);
}

}  // namespace rille::optim
