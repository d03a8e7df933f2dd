// Runs the tape backwards: iteratively, the latest op first, leaves as soon as they are complete,
// so that order and bits are the same every time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace rille::autograd {

/// What kAnomaly looks for, in the same word of flags: infinities too, and no nans.
constexpr uint32_t kAnomalyInf = 1u << 30;
constexpr uint32_t kAnomalyNoNan = 1u << 31;

/// Whether a tensor holds an infinity; set by the op library, as EngineOps is.
inline bool (*has_inf)(const Tensor& t) = nullptr;

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;  // record the backward pass itself; implies retain_graph
  bool allow_unused = false;  // grad(): inputs that no output depends on give an empty tensor
};

/// Adds the gradients of `roots` to .grad of the leaves (of `inputs` only, where given). An empty
/// entry of `seeds` stands for one, allowed for tensors of one element.
/// Throws E_SHAPE, E_GRAPH_FREED, E_INPLACE, E_ANOMALY_NAN, E_ANOMALY_INF, E_ARG.
void backward(std::span<const Tensor> roots, std::span<const Tensor> seeds,
              const BackwardOptions& options = {}, std::span<const Tensor> inputs = {});

/// The gradients of the sum of `outputs` with respect to `inputs`; touches no .grad.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> seeds, const BackwardOptions& options = {});

}  // namespace rille::autograd
