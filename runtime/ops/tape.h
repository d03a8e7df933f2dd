// Recording: turns one call of an op into a node of the tape. The node keeps the arguments that the
// op's gradient needs (through the saved-tensor hooks, where there are any) and shells of the rest.
#pragma once
#include "autograd/node.h"
#include "ops/op_info.h"

namespace rille {

/// A mode beside those of core/context.h: every node keeps the script's line, for those who look
/// for graphs that grow (rille.memory.watch). Else those that keep values do.
constexpr uint32_t kLinesOfNodes = 1u << 28;

/// The node of one call. `outs` are its results, `saved` what the kernel kept.
autograd::NodeRef make_node(const OpInfo& op, const void* args, std::span<const Tensor> outs,
                            std::span<Tensor> saved, uint64_t needs);

/// Whether an op on the way to `t` took a tensor of this dtype. Walks the whole graph.
bool came_through(const Tensor& t, DType dtype);

/// Throws E_INFERENCE where the tape would need a tensor that was made in inference mode, or write
/// to `dest`, one that was.
void refuse_inference(const OpInfo& op, const void* args, const Tensor& dest, uint64_t needs);

}  // namespace rille
