// Where PyTorch 2.15's CPU build differs from its CUDA lists, which the ops follow: found op by op
// from the dtypes of its results (tests/support/autocast_dtypes.lua), so what its composed
// functions take over from their parts is in here, too.
#include <algorithm>

#include "amp/autocast.h"
#include "core/fail.h"
#include "ops/arrange.h"

namespace rille::amp {
namespace {

struct Row {
  Autocast policy;
  std::string_view ops;
};

constexpr Row kRows[] = {
    {Autocast::follow,
     "mv addmv exp expm1 log log2 log10 log1p rsqrt reciprocal square pow div tan asin acos "
     "sinh cosh erfinv softplus sum norm vector_norm matrix_norm cumsum cumprod softmax "
     "log_softmax softmin gumbel_softmax logsumexp trapezoid cumulative_trapezoid dist layer_norm "
     "rms_norm group_norm normalize cosine_similarity pairwise_distance "
     "multilabel_soft_margin_loss gaussian_nll_loss lp_pool1d lp_pool2d interpolate pdist"},
    {Autocast::lower, "inner tensordot affine_grid"},
    {Autocast::widest, "addr lstm_step gru_step"},
    {Autocast::f32,
     "prod bce_loss grid_sample quantile nanquantile trace max_pool3d avg_pool3d "
     "adaptive_max_pool3d adaptive_avg_pool3d max_unpool1d max_unpool2d max_unpool3d"},
};

bool pads_with_values_of_x(const void* args) {
  const Pad::Mode mode = static_cast<const Pad::Args*>(args)->mode;
  return mode == Pad::Mode::reflect || mode == Pad::Mode::replicate;
}

std::vector<AutocastRule> read_rows() {
  std::vector<AutocastRule> rules;
  const auto add = [&](std::string_view name, Autocast policy) {
    const OpInfo* op = find_op(name);
    if (!op) throw internal_error("the list of torch-cpu names '{}', which is no op", name);
    rules.push_back({op, policy, AutocastRule::From::list});
  };
  for (const auto& [policy, ops] : kRows)
    for (size_t at = 0; at < ops.size();) {
      const size_t end = std::min(ops.find(' ', at), ops.size());
      add(ops.substr(at, end - at), policy);
      at = end + 1;
    }
  add("pad", Autocast::f32);
  rules.back().applies = pads_with_values_of_x;
  std::sort(rules.begin(), rules.end(),
            [](const AutocastRule& a, const AutocastRule& b) { return a.op < b.op; });
  return rules;
}

}  // namespace

const std::vector<AutocastRule>& torch_cpu_rules() {
  static const std::vector<AutocastRule>& rules = *new std::vector<AutocastRule>(read_rows());
  return rules;
}

}  // namespace rille::amp
