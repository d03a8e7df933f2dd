#include "autograd/policies.h"

#include <algorithm>

namespace rille::autograd {
namespace {

Keep saved_if(bool saves) { return saves ? Keep::save : Keep::recompute; }

bool is_product(const KernelRun& k) {
  constexpr double kFewTerms = 64;
  const double results = k.result ? static_cast<double>(k.result->numel()) : 0;
  return k.flops > 2 * kFewTerms * results;
}

bool names_one_of(const std::vector<std::string>& names, const KernelRun& k) {
  const auto named = [&](const char* op) {
    return std::find(names.begin(), names.end(), op) != names.end();
  };
  return named(k.op) || std::any_of(k.within.begin(), k.within.end(), named);
}

}  // namespace

Policy cheap_policy() {
  return [](const KernelRun& k) { return saved_if(is_product(k)); };
}

Policy alternate_products_policy() {
  return [odd = false](const KernelRun& k) mutable {
    if (!is_product(k)) return Keep::recompute;
    odd = !odd;
    return saved_if(odd);
  };
}

Policy named_policy(NamedOps ops) {
  return [ops = std::move(ops)](const KernelRun& k) {
    if (names_one_of(ops.offload, k)) return Keep::offload;
    if (names_one_of(ops.save, k)) return Keep::save;
    return saved_if(!ops.recompute.empty() && !names_one_of(ops.recompute, k));
  };
}

}  // namespace rille::autograd
