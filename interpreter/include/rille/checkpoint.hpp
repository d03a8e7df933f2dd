// Checkpoint blocks: activations are let go of and computed again for backward (docs/memory.md).
#pragma once
#include <functional>
#include <string>

#include "rille/tensor.hpp"

namespace rille::RILLE_V1 {

struct CheckpointOptions {
  std::string policy = "full";         // what is kept: "full" (nothing), "cheap", "alternate_mm"
  std::vector<std::string> save = {};  // or the results of these ops,
  std::vector<std::string> recompute = {};  // or those of all but these
  std::string determinism = "default";      // what both runs must agree in: "none", "values"
  bool preserve_rng = true;                 // the second run draws the random numbers of the first
  bool early_stop = true;                   // it ends with the last value that backward needs
  bool allow_mutation = false;              // kept results may be written to in place
  bool reentrant = false;                   // one node for the whole function
};

using CheckpointFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

/// block(inputs), whose activations are let go of. A backward that needs the first of them runs the
/// block again, with the same inputs, random numbers, modes and memory that it writes to. It may
/// run for as long as the graph is there, so it owns what it captures. In the second run an op may
/// throw E_CKPT_DONE, which the block lets pass: all is there. Without grad mode a plain call.
/// Throws E_OPTION, E_ARG; for reentrant blocks E_CKPT_NO_GRAD_INPUT. Backward throws E_CKPT_COUNT,
/// E_CKPT_META, E_CKPT_VALUE, E_CKPT_MUTATED, E_CKPT_CONSUMED, E_CKPT_REENTRANT_GRAD.
RILLE_API std::vector<Tensor> checkpoint(const CheckpointFunction& block,
                                         const std::vector<Tensor>& inputs,
                                         const CheckpointOptions& options = {});
/// The same for a block of one tensor.
RILLE_API Tensor checkpoint(const std::function<Tensor(const Tensor&)>& block, const Tensor& x,
                            const CheckpointOptions& options = {});

}  // namespace rille::RILLE_V1
