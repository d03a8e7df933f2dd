// The tape: one node per recorded op, with an edge for each differentiable input. A node knows how
// to turn gradients of its outputs into gradients of its inputs and nothing of ops, kernels or Lua.
// Chains of any length are destroyed without recursion.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/references.h"
#include "core/small_vector.h"
#include "core/tensor.h"

namespace rille::autograd {

class Node;

class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(Node* taken) : p_(taken) {}
  NodeRef(const NodeRef& o);
  NodeRef(NodeRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  NodeRef& operator=(NodeRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~NodeRef();
  explicit operator bool() const { return p_ != nullptr; }
  Node* operator->() const { return p_; }
  Node* get() const { return p_; }

 private:
  Node* p_ = nullptr;
};

/// Where a gradient goes: slot `slot` of a node's outputs. Empty where none is wanted.
struct Edge {
  NodeRef node;
  uint32_t slot = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
};

using Gradients = SmallVector<Tensor, 2>;

using TensorHook = std::function<Tensor(const Tensor&)>;
using LeafHook = std::function<void(const Tensor&)>;

/// Sees, and may replace, the complete gradient of one output before the node uses it.
struct PreHook {
  uint32_t slot;
  uint64_t id;
  TensorHook run;
};

class Node {
 public:
  Node();
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual std::string_view name() const = 0;
  /// Gradients of the inputs from those of the outputs; entries may be empty on both sides. `dys`
  /// may be consumed. dxs has one entry per edge.
  virtual void backward(Gradients& dys, Gradients& dxs) = 0;
  /// Lets go of saved values; a backward after that is E_GRAPH_FREED where values were needed.
  virtual void release() {}
  /// Leaves end the graph and run as soon as their gradient is complete.
  virtual bool is_leaf() const { return false; }

  References refs{1};
  uint32_t outputs = 1;
  uint64_t seq;               // order of recording: inputs before outputs
  Site site;                  // the script's line of the forward call, where it was kept
  SmallVector<Edge, 2> next;  // one per tensor input
  std::vector<PreHook> pre_hooks;
  Node* next_dead = nullptr;  // while it waits for its end
};

/// What hangs on a tensor that takes part in gradients.
struct GradMeta : Attachment {
  static void* operator new(size_t) { return Pool<GradMeta>::take(); }
  static void operator delete(void* p) { Pool<GradMeta>::give(p); }
  Tensor grad;
  NodeRef fn;  // the op that made it; empty for leaves
  uint32_t slot = 0;
  bool requires_grad = false;
  std::shared_ptr<Tensor> retained;  // retain_grad: written by a hook of `fn`
  Node* accumulator = nullptr;       // weak: the leaf's node, alive while an edge holds it
  Tensor base;                       // for views: what they look at
  uint32_t history = 0;  // base: times its history was rewritten; view: that it knows of
  std::vector<std::pair<uint64_t, TensorHook>> hooks;           // see and may replace the gradient
  std::vector<std::pair<uint64_t, LeafHook>> accumulate_hooks;  // run after .grad was written
};

/// The tensor's gradient data, made if it has none.
GradMeta& grad_meta(const Tensor& t);
/// The same, or null.
inline GradMeta* find_grad_meta(const Tensor& t) {
  return static_cast<GradMeta*>(t.impl()->grad.get());
}

/// Where the gradient of `t` goes; for views whose base was written to, the path is renewed first.
Edge edge_of(const Tensor& t);

/// Marks `t` as output `slot` of `node`.
void set_history(const Tensor& t, NodeRef node, uint32_t slot);
/// Remembers that `view` looks at `base`, so that a write in place reaches the other's history.
void set_view(const Tensor& view, const Tensor& base);
/// After a write in place: `t` is now output 0 of `node`; its base and other views follow.
void rebase_history(const Tensor& t, NodeRef node);

bool requires_grad(const Tensor& t);
bool is_leaf(const Tensor& t);
/// Makes a leaf want a gradient, or not. Throws E_DTYPE for non-float, E_ARG for a non-leaf.
void set_requires_grad(const Tensor& t, bool on);
Tensor grad_of(const Tensor& t);
/// Throws E_SHAPE, E_GRAD_DTYPE, E_DEVICE_MISMATCH where `g` does not match.
void set_grad(const Tensor& t, const Tensor& g);
/// Keeps the gradient of a non-leaf in .grad.
void retain_grad(const Tensor& t);
/// Runs `hook` on the complete gradient of `t`; what it gives instead must be like it: E_SHAPE,
/// E_DEVICE_MISMATCH. Returns an id for remove_hook.
uint64_t add_hook(const Tensor& t, TensorHook hook);
void remove_hook(const Tensor& t, uint64_t id);
/// Runs `hook` each time a gradient was added to .grad of the leaf `t`, which is complete then: a
/// backward adds to a leaf once. Returns an id for remove_accumulate_hook.
uint64_t add_accumulate_hook(const Tensor& t, LeafHook hook);
void remove_accumulate_hook(const Tensor& t, uint64_t id);
/// The number of the newest node: those recorded from now on have a higher one.
uint64_t last_seq();
/// The same values, outside of every graph.
Tensor detach(const Tensor& t);

/// Ops that the engine needs, set by the op library when it is loaded (it sits above this one).
struct EngineOps {
  Tensor (*add)(const Tensor& a, const Tensor& b) = nullptr;
  void (*add_in_place)(const Tensor& to, const Tensor& b) = nullptr;
  Tensor (*clone)(const Tensor& a) = nullptr;
  Tensor (*ones_like)(const Tensor& a) = nullptr;
  Tensor (*zeros_like)(const Tensor& a) = nullptr;
  bool (*has_nan)(const Tensor& a) = nullptr;
  /// Base with the region that `view` looks at replaced: the history of writes through views.
  NodeRef (*write_through)(const Tensor& base, const Tensor& view, NodeRef node) = nullptr;
  NodeRef (*look_again)(const Tensor& base, const Tensor& view) = nullptr;
  /// Casts of weights that autocast keeps for the rest of a scope.
  void (*forget_casts)() = nullptr;
};
EngineOps& engine_ops();

}  // namespace rille::autograd
