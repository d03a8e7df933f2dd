// Gradients beyond tensor.backward(): modes for a scope, gradients as values.
#pragma once
#include "rille/tensor.hpp"

namespace rille::RILLE_V1 {

namespace detail {
/// Sets the modes of this thread and returns what they were.
RILLE_API uint32_t set_grad_mode(bool on);
RILLE_API void restore_modes(uint32_t before) noexcept;
}  // namespace detail

/// True where ops are recorded, so that backward can run through them.
RILLE_API bool is_grad_enabled();

/// Nothing is recorded on this thread while it lives.
class [[nodiscard]] NoGrad {
 public:
  NoGrad() : before_(detail::set_grad_mode(false)) {}
  ~NoGrad() { detail::restore_modes(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  uint32_t before_;
};

/// Ops are recorded again, inside of a NoGrad.
class [[nodiscard]] EnableGrad {
 public:
  EnableGrad() : before_(detail::set_grad_mode(true)) {}
  ~EnableGrad() { detail::restore_modes(before_); }
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  uint32_t before_;
};

struct GradOptions {
  std::vector<Tensor> grad_outputs = {};  // one each; none: ones, for outputs of one element
  bool retain_graph = false;              // for a second pass through the same graph
  bool create_graph = false;              // for gradients of gradients; retains the graph
  bool allow_unused = false;              // what no output depends on gives an empty tensor
};

/// The gradients of the sum of `outputs` with respect to `inputs`; touches no .grad. Throws E_ARG
/// where nothing leads from one to the other, E_GRAPH_FREED, E_INPLACE.
RILLE_API std::vector<Tensor> grad(const std::vector<Tensor>& outputs,
                                   const std::vector<Tensor>& inputs,
                                   const GradOptions& options = {});

}  // namespace rille::RILLE_V1
