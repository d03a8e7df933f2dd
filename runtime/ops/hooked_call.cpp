#include "ops/hooked_call.h"

namespace rille {
namespace {

OpRun run_of(const OpInfo& op, const void* args) {
  return {op.name.data(), op.flops ? op.flops(args) : 0};
}

std::shared_ptr<SavedHook> innermost(const Context& context) {
  return context.saved_hooks.empty() ? nullptr : context.saved_hooks.back();
}

}  // namespace

void tell_of_reads(const OpInfo& op, const void* args, const Context& context) {
  each_tensor(op, args, [&](size_t, const Tensor& t) {
    for (const std::shared_ptr<SavedHook>& hook : context.saved_hooks)
      hook->before_read(t, op.name.data());
  });
}

HookedCall::HookedCall(const OpInfo& op, const void* args, Context& context)
    : run_(run_of(op, args)), hook_(innermost(context)) {
  tell_of_reads(op, args, context);
  if (hook_) hook_->begin(run_);
}
HookedCall::~HookedCall() {
  if (hook_) hook_->end(run_);
}

bool recall_results(const OpInfo& op, const void* args, Results& out, std::span<Tensor> saved,
                    const Context& context) {
  const std::shared_ptr<SavedHook> hook = innermost(context);
  std::vector<Tensor> made;
  if (!hook || !hook->recall(run_of(op, args), made)) return false;
  const size_t results = made.size() - saved.size();
  for (size_t i = 0; i < results; ++i) out.push_back(made[i]);
  for (size_t i = 0; i < saved.size(); ++i) saved[i] = made[results + i];
  return true;
}

void offer_results(const OpInfo& op, const void* args, const Results& out,
                   std::span<const Tensor> saved, const Context& context) {
  if (const std::shared_ptr<SavedHook> hook = innermost(context))
    hook->keep(run_of(op, args), {out.data(), out.size()}, saved);
}

}  // namespace rille
