#include "autograd/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "autograd/node.h"
#include "autograd/pass.h"
#include "autograd/scaled.h"
#include "core/context.h"
#include "core/fail.h"

namespace rille::autograd {
namespace {

struct Work {
  NodeRef node;        // keeps it alive while it waits
  int waiting = 0;     // gradients still to come
  bool wanted = true;  // leads to an input that was asked for
  Gradients dys;
  int capture = -1;  // leaf: result index, for grad()
};

class Pass {
 public:
  Pass(const BackwardOptions& options) : options_(options) {}

  void add_root(const Tensor& root, Tensor seed) {
    Edge edge = edge_of(root);
    if (!edge)
      throw fail(Kind::state, "E_ARG",
                 "the tensor does not require a gradient, so nothing leads back")
          .hint("some input must have requires_grad = true, outside of rille.no_grad");
    discover(edge.node);
    roots_.emplace_back(std::move(edge), std::move(seed));
  }

  // Result `index` is the gradient that reaches `input`.
  void capture(const Tensor& input, int index) {
    const Edge edge = edge_of(input);
    if (!edge) throw fail(Kind::state, "E_ARG", "input {} does not require a gradient", index + 1);
    captures_.push_back({edge.node.get(), edge.slot, index});
    targets_.push_back(edge);
  }

  std::vector<Tensor> run(size_t results) {
    results_.resize(results);
    if (!targets_.empty()) mark_wanted();
    for (auto& [edge, seed] : roots_) deliver(edge, std::move(seed));
    roots_.clear();
    while (!ready_.empty()) {
      Work& w = *ready_.top().second;
      ready_.pop();
      step(w);
    }
    return std::move(results_);
  }

 private:
  struct Capture {
    Node* node;
    uint32_t slot;
    int index;
  };
  using Priority = std::pair<uint64_t, Work*>;

  // Counts, for every node that can be reached, the edges that lead to it.
  void discover(const NodeRef& start) {
    std::vector<Node*> stack;
    auto visit = [&](const NodeRef& n) -> Work& {
      auto [it, fresh] = work_.try_emplace(n.get());
      if (fresh) {
        it->second.node = n;
        stack.push_back(n.get());
      }
      return it->second;
    };
    visit(start);
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      for (const Edge& e : n->next)
        if (e) ++visit(e.node).waiting;
    }
  }

  // With targets, only nodes on a path to one of them are run. Inputs come before outputs in seq.
  void mark_wanted() {
    std::vector<Node*> order;
    for (auto& [node, w] : work_) order.push_back(node);
    std::sort(order.begin(), order.end(), [](Node* a, Node* b) { return a->seq < b->seq; });
    // Leaf nodes are made late, when an edge first asks for them, yet come first on any path.
    std::stable_partition(order.begin(), order.end(), [](Node* n) { return n->is_leaf(); });
    for (Node* n : order) {
      Work& w = work_[n];
      w.wanted = std::any_of(captures_.begin(), captures_.end(),
                             [&](const Capture& c) { return c.node == n; });
      for (const Edge& e : n->next) w.wanted |= e && work_[e.node.get()].wanted;
    }
  }

  void deliver(const Edge& e, Tensor dy) {
    Work& w = work_[e.node.get()];
    if (dy) add(w, e.slot, std::move(dy));
    if (w.waiting == 0) enqueue(w);
  }

  void add(Work& w, uint32_t slot, Tensor dy) {
    if (w.dys.size() <= slot) w.dys.resize(std::max<size_t>(slot + 1, w.node->outputs));
    Tensor& have = w.dys[slot];
    if (!have) {
      have = std::move(dy);
    } else if (!options_.create_graph && have.unique() && have.storage().unique() &&
               !have.storage()->read_only && have.is_contiguous()) {
      engine_ops().add_in_place(have, dy);
    } else {
      have = engine_ops().add(have, dy);
    }
  }

  void enqueue(Work& w) {
    if (w.node->is_leaf())
      ready_.push({UINT64_MAX - leaves_++, &w});  // of several leaves the first to be complete
    else
      ready_.push({w.node->seq, &w});
  }

  void step(Work& w) {
    NodeRef node = std::move(w.node);
    if (!node) return;  // two roots may lead to one node
    Gradients dys = std::move(w.dys);
    if (dys.size() < node->outputs) dys.resize(node->outputs);
    const std::vector<PreHook> hooks = node->pre_hooks;  // one that runs may add or remove some
    for (const PreHook& h : hooks)
      if (dys[h.slot])
        if (Tensor replaced = h.run(dys[h.slot])) dys[h.slot] = std::move(replaced);
    const bool any = std::any_of(dys.begin(), dys.end(), [](const Tensor& t) { return bool(t); });
    const bool captured = take_captures(node.get(), dys);
    Gradients dxs;
    if (any && w.wanted && !(captured && node->is_leaf())) {
      if (node->is_leaf() && !targets_.empty()) return;
      dxs.resize(node->next.size());
      node->backward(dys, dxs);
      if (Context::current().flags & kAnomaly) check_values(*node.get(), dxs);
      if (!options_.retain_graph && !options_.create_graph) node->release();
    } else {
      dxs.resize(node->next.size());
    }
    for (size_t i = 0; i < node->next.size(); ++i) {
      const Edge& e = node->next[i];
      if (!e) continue;
      Work& to = work_[e.node.get()];
      --to.waiting;
      deliver(e, std::move(dxs[i]));
    }
  }

  bool take_captures(Node* node, const Gradients& dys) {
    bool any = false;
    for (const Capture& c : captures_)
      if (c.node == node) {
        results_[static_cast<size_t>(c.index)] = dys[c.slot];
        any = true;
      }
    return any;
  }

  static void check_values(const Node& node, const Gradients& dxs) {
    const uint32_t flags = Context::current().flags;
    for (size_t i = 0; i < dxs.size(); ++i) {
      if (!dxs[i]) continue;
      const bool nan = !(flags & kAnomalyNoNan) && engine_ops().has_nan(dxs[i]);
      if (!nan && !((flags & kAnomalyInf) && has_inf(dxs[i]))) continue;
      Error e = fail(Kind::state, nan ? "E_ANOMALY_NAN" : "E_ANOMALY_INF",
                     "backward made {} in the gradient of argument {}",
                     nan ? "a nan" : "an infinity", i + 1);
      if (node.site.source)
        e.fact(
            fmt::format("forward      {:<7} {}:{}", node.name(), node.site.source, node.site.line));
      throw std::move(e).op(node.name());
    }
  }

  const BackwardOptions options_;
  std::unordered_map<Node*, Work> work_;
  std::priority_queue<Priority> ready_;
  uint64_t leaves_ = 0;
  std::vector<std::pair<Edge, Tensor>> roots_;
  std::vector<Capture> captures_;
  std::vector<Edge> targets_;
  std::vector<Tensor> results_;
};

Tensor seed_for(const Tensor& root, const Tensor& given) {
  if (!given) {
    if (root.numel() != 1)
      throw shape_error("needs a gradient for a result of shape {}", to_string(root.shape()))
          .hint("reduce it first, as in loss:mean():backward(), or pass the gradient");
    return engine_ops().ones_like(root);
  }
  if (given.shape() != root.shape())
    throw shape_error("the gradient must have the result's shape {}, got {}",
                      to_string(root.shape()), to_string(given.shape()));
  return given;
}

void add_roots(Pass& pass, std::span<const Tensor> roots, std::span<const Tensor> seeds) {
  if (!seeds.empty() && seeds.size() != roots.size())
    throw arg_error("{} gradients for {} results", seeds.size(), roots.size());
  for (size_t i = 0; i < roots.size(); ++i)
    pass.add_root(roots[i], seed_for(roots[i], seeds.empty() ? Tensor() : seeds[i]));
}

std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                              std::span<const Tensor> seeds, const BackwardOptions& options) {
  const FlagScope mode(kGrad, options.create_graph), as_forward(kAutocast, false);
  Pass pass(options);
  add_roots(pass, outputs, seeds);
  for (size_t i = 0; i < inputs.size(); ++i) pass.capture(inputs[i], static_cast<int>(i));
  std::vector<Tensor> out = pass.run(inputs.size());
  for (size_t i = 0; i < out.size() && !options.allow_unused; ++i)
    if (!out[i])
      throw fail(Kind::state, "E_ARG", "no output depends on input {}", i + 1)
          .hint("allow_unused = true gives nil for such inputs");
  return out;
}

}  // namespace

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> seeds, const BackwardOptions& options) {
  const BackwardPass own(true, options.retain_graph, options.create_graph);
  return gradients(outputs, inputs, seeds, options);
}

void backward(std::span<const Tensor> roots, std::span<const Tensor> seeds,
              const BackwardOptions& options, std::span<const Tensor> inputs) {
  const BackwardPass own(!inputs.empty(), options.retain_graph, options.create_graph);
  if (!inputs.empty()) {
    BackwardOptions loose = options;
    loose.allow_unused = true;
    const std::vector<Tensor> grads = gradients(roots, inputs, seeds, loose);
    const FlagScope mode(kGrad, options.create_graph), as_forward(kAutocast, false);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!grads[i]) continue;
      GradMeta& m = grad_meta(inputs[i]);
      const std::optional<Site> scaled = scaled_at(m.grad);
      m.grad = m.grad ? engine_ops().add(m.grad, grads[i]) : grads[i];
      mark_scaled(m.grad, scaled);
    }
    return;
  }
  const FlagScope mode(kGrad, options.create_graph), as_forward(kAutocast, false);
  Pass pass(options);
  add_roots(pass, roots, seeds);
  pass.run(0);
}

}  // namespace rille::autograd
