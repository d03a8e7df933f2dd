// Checkpoint blocks for hosts.
#include "rille/checkpoint.hpp"

#include "autograd/checkpoint.h"
#include "autograd/policies.h"
#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "ops/op_info.h"

namespace rille::v1 {
namespace {

using autograd::Determinism;

Determinism determinism_of(const std::string& word) {
  if (word == "default") return Determinism::kinds;
  if (word == "none") return Determinism::none;
  if (word == "values") return Determinism::values;
  throw arg_error("'determinism' must be 'none', 'default' or 'values', got '{}'", word);
}

void check_names(const std::vector<std::string>& ops) {
  for (const std::string& name : ops)
    if (!find_op(name)) throw arg_error("there is no op '{}'", name);
}

// Null where nothing is kept.
autograd::Policy policy_of(const CheckpointOptions& o) {
  check_names(o.save);
  check_names(o.recompute);
  const bool named = !o.save.empty() || !o.recompute.empty();
  if (named && o.policy != "full")
    throw option_error("'save' and 'recompute' stand in the place of a policy");
  if (named) return autograd::named_policy({o.save, o.recompute, {}});
  if (o.policy == "cheap") return autograd::cheap_policy();
  if (o.policy == "alternate_mm") return autograd::alternate_products_policy();
  if (o.policy == "full") return nullptr;
  throw arg_error("'policy' must be 'full', 'cheap' or 'alternate_mm', got '{}'", o.policy);
}

autograd::BlockOptions block_options(const CheckpointOptions& o) {
  autograd::BlockOptions to{.determinism = determinism_of(o.determinism),
                            .preserve_rng = o.preserve_rng,
                            .early_stop = o.early_stop};
  if (autograd::Policy policy = policy_of(o))
    to.selection = std::make_shared<autograd::Selection>(
        autograd::SelectionOptions{std::move(policy), nullptr, o.allow_mutation});
  return to;
}

autograd::BlockFunction engine_function(const CheckpointFunction& block) {
  return [block](std::span<const rille::Tensor> inputs) {
    std::vector<Tensor> given, results;
    for (const rille::Tensor& t : inputs) given.push_back(api::handle_of(t));
    api::call_host([&] { results = block(given); });
    return api::tensors_of(results);
  };
}

}  // namespace

std::vector<Tensor> checkpoint(const CheckpointFunction& block, const std::vector<Tensor>& inputs,
                               const CheckpointOptions& options) {
  return api::guarded_around_host("checkpoint", [&] {
    if (!block) throw type_error("'block' must be a function").op("checkpoint");
    const autograd::BlockFunction fn = engine_function(block);
    const std::vector<rille::Tensor> given = api::tensors_of(inputs);
    autograd::BlockOptions how = block_options(options);
    if (!options.reentrant) return api::handles_of(autograd::checkpoint(fn, given, std::move(how)));
    if (how.selection || options.determinism != "default" || !options.early_stop)
      throw option_error("a reentrant block has no policy, determinism or early end");
    return api::handles_of(
        autograd::checkpoint_reentrant([&] { return fn(given); }, fn, given, options.preserve_rng));
  });
}

Tensor checkpoint(const std::function<Tensor(const Tensor&)>& block, const Tensor& x,
                  const CheckpointOptions& options) {
  const auto list = [block](const std::vector<Tensor>& inputs) {
    return std::vector<Tensor>{block(inputs[0])};
  };
  return checkpoint(block ? CheckpointFunction(list) : CheckpointFunction(), {x}, options)[0];
}

}  // namespace rille::v1
