#include "autograd/node.h"

#include "autograd/scaled.h"
#include "core/context.h"
#include "core/fail.h"

namespace rille::autograd {
namespace {

std::atomic<uint64_t> next_seq{1};

// A node's destructor drops its edges, which may drop the next node: the list turns that recursion
// into a loop. It is made of the nodes themselves, for a destructor may not ask for memory.
void destroy(Node* dead) {
  thread_local bool running = false;
  thread_local Node* waiting = nullptr;
  dead->next_dead = std::exchange(waiting, dead);
  if (running) return;
  running = true;
  while (waiting) delete std::exchange(waiting, waiting->next_dead);
  running = false;
}

// Adds to .grad of one leaf.
class AccumulateGrad : public Node {
 public:
  static void* operator new(size_t) { return Pool<AccumulateGrad>::take(); }
  static void operator delete(void* p) { Pool<AccumulateGrad>::give(p); }
  explicit AccumulateGrad(Tensor leaf) : leaf_(std::move(leaf)) {}
  ~AccumulateGrad() override {
    if (GradMeta* m = find_grad_meta(leaf_); m && m->accumulator == this) m->accumulator = nullptr;
  }
  std::string_view name() const override { return "accumulate"; }
  bool is_leaf() const override { return true; }
  void backward(Gradients& dys, Gradients&) override {
    Tensor dy = std::move(dys[0]);
    GradMeta& m = grad_meta(leaf_);
    const auto hooks = m.hooks;  // one that runs may add or remove some
    for (const auto& [id, hook] : hooks)
      if (Tensor replaced = hook(dy)) dy = std::move(replaced);
    store(m, std::move(dy));
    const auto after = m.accumulate_hooks;
    for (const auto& [id, hook] : after) hook(leaf_);
  }

 private:
  // The first gradient is taken over instead of added, where nobody else holds it.
  void store(GradMeta& m, Tensor dy) {
    const bool taping = Context::current().grad();
    const std::optional<Site> scaled = scaled_at(m.grad);
    if (!m.grad) {
      const bool ours =
          dy.unique() && dy.storage().unique() && !dy.storage()->read_only && dy.is_contiguous();
      m.grad = ours || taping ? std::move(dy) : engine_ops().clone(dy);
    } else if (taping || !m.grad.is_contiguous()) {  // an expanded gradient can't be added to
      m.grad = engine_ops().add(m.grad, dy);
    } else {
      engine_ops().add_in_place(m.grad, dy);
    }
    mark_scaled(m.grad, scaled);
  }
  Tensor leaf_;
};

}  // namespace

NodeRef::NodeRef(const NodeRef& o) : p_(o.p_) {
  if (p_) add_reference(p_->refs);
}
NodeRef::~NodeRef() {
  if (p_ && drop_reference(p_->refs)) destroy(p_);
}

Node::Node() : seq(add_to_count(next_seq, uint64_t{1})) {}

uint64_t last_seq() { return next_seq.load(std::memory_order_relaxed) - 1; }

EngineOps& engine_ops() {
  static EngineOps ops;
  return ops;
}

GradMeta& grad_meta(const Tensor& t) {
  if (!t.impl()->grad) t.impl()->grad = std::make_unique<GradMeta>();
  return *find_grad_meta(t);
}

Edge edge_of(const Tensor& t) {
  if (!t.needs_grad() && (!t.impl()->grad || !requires_grad(t))) return {};
  GradMeta& m = grad_meta(t);
  if (m.base) {
    const GradMeta& base = grad_meta(m.base);
    if (base.history != m.history) {
      t.impl()->needs_grad = true;
      m.fn = engine_ops().look_again(m.base, t);
      m.slot = 0;
      m.history = base.history;
    }
  }
  if (m.fn) return {m.fn, m.slot};
  if (m.accumulator) {
    add_reference(m.accumulator->refs);
    return {NodeRef(m.accumulator), 0};
  }
  NodeRef node(new AccumulateGrad(t));
  m.accumulator = node.get();
  return {std::move(node), 0};
}

void set_history(const Tensor& t, NodeRef node, uint32_t slot) {
  GradMeta& m = grad_meta(t);
  m.fn = std::move(node);
  m.slot = slot;
  t.impl()->needs_grad = true;
}

void set_view(const Tensor& view, const Tensor& base) {
  // Only where a later write could matter to a gradient: integers never do.
  if (category(view.dtype()) != Category::floating) return;
  const GradMeta* b = find_grad_meta(base);
  GradMeta& m = grad_meta(view);
  m.base = b && b->base ? b->base : base;
  m.history = grad_meta(m.base).history;
}

void rebase_history(const Tensor& t, NodeRef node) {
  GradMeta& m = grad_meta(t);
  if (!m.base) {
    set_history(t, std::move(node), 0);
    ++m.history;
    return;
  }
  GradMeta& base = grad_meta(m.base);
  base.fn = engine_ops().write_through(m.base, t, node);
  base.slot = 0;
  m.base.impl()->needs_grad = true;
  m.history = ++base.history;
  m.fn = std::move(node);
  m.slot = 0;
  t.impl()->needs_grad = true;
}

bool requires_grad(const Tensor& t) {
  if (t.needs_grad()) return true;
  // A view of something that a recorded write has reached since.
  const GradMeta* m = find_grad_meta(t);
  return m && m->base && m->base.needs_grad() && grad_meta(m->base).history != m->history;
}

bool is_leaf(const Tensor& t) {
  const GradMeta* m = find_grad_meta(t);
  return !m || !m->fn;
}

void set_requires_grad(const Tensor& t, bool on) {
  if (on && !t.is_float())
    throw dtype_error("only float tensors can require gradients, got {}", name(t.dtype()));
  // Inside of the mode a model may be built: nothing there is recorded.
  if (on && t.impl()->inference && !(Context::current().flags & kInference))
    throw fail(Kind::state, "E_INFERENCE",
               "a tensor made in inference mode can't require gradients")
        .hint("do it on a copy made outside of rille.inference: t:detach():clone()");
  if (!is_leaf(t)) {
    if (on) return;
    throw fail(Kind::state, "E_ARG", "only leaves can stop requiring gradients")
        .hint("use t:detach() for a tensor outside of the graph");
  }
  if (!on && !t.impl()->grad) return;
  grad_meta(t).requires_grad = on;
  t.impl()->needs_grad = on;
}

Tensor grad_of(const Tensor& t) {
  const GradMeta* m = find_grad_meta(t);
  if (!m) return {};
  return m->retained ? *m->retained : m->grad;
}

void retain_grad(const Tensor& t) {
  const Edge edge = edge_of(t);
  GradMeta& m = grad_meta(t);
  if (!edge || edge.node->is_leaf() || m.retained) return;
  m.retained = std::make_shared<Tensor>();
  // The tensor may be gone when backward runs: nobody can ask for its gradient then.
  const std::weak_ptr<Tensor> place = m.retained;
  edge.node->pre_hooks.push_back({edge.slot, 0, [place](const Tensor& dy) {
                                    if (const auto p = place.lock())
                                      *p = *p ? engine_ops().add(*p, dy) : dy;
                                    return Tensor();
                                  }});
}

namespace {

// What a hook gives instead of `dy`: the ops behind it count on its shape, dtype and device.
Tensor checked(Tensor replaced, const Tensor& dy) {
  if (!replaced) return replaced;
  if (replaced.shape() != dy.shape() || replaced.dtype() != dy.dtype())
    throw shape_error("a hook must return a gradient like the one it got, {}{}, not {}{}",
                      name(dy.dtype()), to_string(dy.shape()), name(replaced.dtype()),
                      to_string(replaced.shape()))
        .op("register_hook");
  if (replaced.device() != dy.device())
    throw device_error("a hook must return a gradient on the device of the one it got, {}, not {}",
                       to_string(dy.device()), to_string(replaced.device()))
        .op("register_hook");
  return replaced;
}

std::atomic<uint64_t> hook_ids{1};

}  // namespace

uint64_t add_hook(const Tensor& t, TensorHook wanted) {
  const Edge edge = edge_of(t);
  if (!edge) throw fail(Kind::state, "E_ARG", "the tensor does not require a gradient");
  auto hook = [f = std::move(wanted)](const Tensor& dy) { return checked(f(dy), dy); };
  const uint64_t id = hook_ids.fetch_add(1);
  if (edge.node->is_leaf())
    grad_meta(t).hooks.emplace_back(id, std::move(hook));
  else
    edge.node->pre_hooks.push_back({edge.slot, id, std::move(hook)});
  return id;
}

void remove_hook(const Tensor& t, uint64_t id) {
  GradMeta* m = find_grad_meta(t);
  if (!m) return;
  std::erase_if(m->hooks, [&](const auto& h) { return h.first == id; });
  if (m->fn) std::erase_if(m->fn->pre_hooks, [&](const PreHook& h) { return h.id == id; });
}

uint64_t add_accumulate_hook(const Tensor& t, LeafHook hook) {
  const uint64_t id = hook_ids.fetch_add(1);
  grad_meta(t).accumulate_hooks.emplace_back(id, std::move(hook));
  return id;
}

void remove_accumulate_hook(const Tensor& t, uint64_t id) {
  if (GradMeta* m = find_grad_meta(t))
    std::erase_if(m->accumulate_hooks, [&](const auto& h) { return h.first == id; });
}

void set_grad(const Tensor& t, const Tensor& g) {
  if (g) {
    if (g.shape() != t.shape())
      throw shape_error("a gradient must have its tensor's shape {}, got {}", to_string(t.shape()),
                        to_string(g.shape()));
    if (g.dtype() != t.dtype())
      throw fail(Kind::dtype, "E_GRAD_DTYPE", "a gradient must have its tensor's dtype {}, got {}",
                 name(t.dtype()), name(g.dtype()));
    if (g.device() != t.device())
      throw device_error("a gradient must be on its tensor's device {}, got {}",
                         to_string(t.device()), to_string(g.device()));
  } else if (!t.impl()->grad) {
    return;
  }
  grad_meta(t).grad = g;
}

Tensor detach(const Tensor& t) {
  Tensor out = t.alias();
  return out;
}

}  // namespace rille::autograd
