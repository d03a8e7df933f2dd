// Checkpoint blocks for C++ (semantics: docs/memory.md). A block of a script's is begun and ended
// by the interpreter, which can yield in between; here it is one call.
#pragma once
#include "autograd/block.h"
#include "autograd/hook_scope.h"

namespace rille::autograd {

using BlockFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// fn(inputs), whose saved values are let go of and computed again by a second run of fn, when a
/// backward wants them. fn runs again once for each backward that meets the block; it may be run at
/// any time until the graph is gone, so it owns what it captures. Without grad mode a plain call.
/// Source: Chen et al., Training deep nets with sublinear memory cost, 2016.
std::vector<Tensor> checkpoint(const BlockFunction& fn, std::span<const Tensor> inputs,
                               BlockOptions options = {});

/// The form in which the function records nothing at first, and backward goes through a second run
/// of it as a whole. `first` is run now; `again` gets the inputs and gives the same results. Throws
/// E_CKPT_NO_GRAD_INPUT where no input requires a gradient. Its backward throws
/// E_CKPT_REENTRANT_GRAD for chosen inputs and for create_graph.
std::vector<Tensor> checkpoint_reentrant(const std::function<std::vector<Tensor>()>& first,
                                         BlockFunction again, std::span<const Tensor> inputs,
                                         bool preserve_rng = true, Within within = {});

}  // namespace rille::autograd
