// What saved-tensor hooks are told of a call of an op (core/context.h). Only where there are hooks.
#pragma once
#include <span>

#include "core/context.h"
#include "ops/op_info.h"

namespace rille {

/// All hooks: what the op is about to read.
void tell_of_reads(const OpInfo& op, const void* args, const Context& context);

/// Around a call: its reads, its begin and, on errors too, its end.
class HookedCall {
 public:
  HookedCall(const OpInfo& op, const void* args, Context& context);
  ~HookedCall();
  HookedCall(const HookedCall&) = delete;
  HookedCall& operator=(const HookedCall&) = delete;

 private:
  const OpRun run_;
  const std::shared_ptr<SavedHook> hook_;
};

/// Whether the innermost hook has the results of the kernel that is about to run.
bool recall_results(const OpInfo& op, const void* args, Results& out, std::span<Tensor> saved,
                    const Context& context);
/// Offers the innermost hook the results of the kernel that ran.
void offer_results(const OpInfo& op, const void* args, const Results& out,
                   std::span<const Tensor> saved, const Context& context);

}  // namespace rille
