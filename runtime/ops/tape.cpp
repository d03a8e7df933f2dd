#include "ops/tape.h"

#include <unordered_set>

#include "autograd/saved_value.h"
#include "core/budget.h"
#include "core/fail.h"
#include "ops/call.h"

namespace rille {
namespace {

using autograd::Gradients;
using autograd::SavedValue;

Error made_in_inference(std::string_view what) {
  Error e = fail(Kind::state, "E_INFERENCE", "a tensor made in inference mode can't {}", what);
  return std::move(e).hint("use a copy made outside of rille.inference: t:detach():clone()");
}

void refuse_saving(const FieldInfo& f, const Tensor& t) {
  if (t.impl()->inference) [[unlikely]]
    throw made_in_inference("be saved for a gradient").of(f.name);
}

uint64_t saved_fields(const OpInfo& op, const void* args, uint64_t needs) {
  return op.saves ? op.saves(args, needs) : op.saved_fields;
}

// What a node takes besides the values it saves: itself, its arguments, what hangs on its results.
constexpr int64_t kNodeBytes = 1024;

class OpNode final : public autograd::Node {
 public:
  static void* operator new(size_t) { return Pool<OpNode>::take(); }
  static void operator delete(void* p) { Pool<OpNode>::give(p); }
  OpNode(const OpInfo& op, const void* args, std::span<const Tensor> outs, std::span<Tensor> saved,
         uint64_t needs)
      : op_(op), needs_(needs), args_(op, args) {
    outputs = static_cast<uint32_t>(outs.size());
    const uint64_t keep = saved_fields(op, args, needs);
    each_tensor(op, args_.get(), [&](size_t field, Tensor& t) {
      next.emplace_made([&] { return edge_of(field, t); });
      if (keep >> field & 1) {
        refuse_saving(op.fields[field], t);
        keep_value(t);
        keeps_values_ = true;
      } else {
        t = t.shell();
      }
    });
    for (Tensor& s : saved) {
      keep_value(s);
      saved_.push_back(std::move(s));
      keeps_values_ = true;
    }
    // Results are kept as bare looks at their storage: the whole tensor would hold this node.
    for (const Tensor& y : outs) {
      if (op.saves_output) {
        Tensor look = y.alias();
        keep_value(look);
        outs_.push_back(std::move(look));
        keeps_values_ = true;
      } else if (outs.size() > 1) {
        outs_.push_back(y.shell());
      }
    }
    if (const Context& c = Context::current(); keeps_values_ || (c.flags & kLinesOfNodes))
      site = c.site();
  }

  std::string_view name() const override { return op_.name; }

  bool took(DType dtype) {
    bool any = false;
    if (!freed_)
      each_tensor(op_, args_.get(),
                  [&](size_t, const Tensor& t) { any |= t && t.dtype() == dtype; });
    return any;
  }

  // An unpack hook may run backward over the graph that is being unpacked: then what is walked is
  // let go of once the walk is over.
  void release() override {
    if (!keeps_values_ || freed_) return;
    freed_at_ = Context::current().site();
    freed_ = true;
    if (walks_ == 0) let_go();
  }

  void backward(Gradients& dys, Gradients& dxs) override {
    if (freed_) throw graph_freed();
    const Walk walk(*this);
    ArgBlock args = args_.clone();
    SmallVector<Tensor, 2> saved = saved_, outs = outs_;
    unpack(args, saved, outs);
    fill_missing(dys);
    ArgBlock grads(op_);
    const BackFrame frame{args.get(), op_.saves_output ? outs.data() : nullptr,
                          dys.data(), saved.empty() ? nullptr : saved.data(),
                          needs_,     dys.size()};
    op_.grad(frame, grads.get());
    dys.clear();
    collect(args, grads, dxs);
  }

 private:
  autograd::Edge edge_of(size_t field, const Tensor& t) const {
    if (!(needs_ >> field & 1)) return {};
    if (t.impl()->inference) [[unlikely]]
      throw made_in_inference("take part in gradients").of(op_.fields[field].name);
    return autograd::edge_of(t);
  }

  void keep_value(Tensor& t) {
    kept_.emplace_back();
    kept_.back().pack(t, op_.name.data());
  }

  void let_go() {
    args_ = ArgBlock();
    saved_.clear();
    outs_.clear();
    kept_.clear();
  }

  class Walk {
   public:
    explicit Walk(OpNode& node) : node_(node) { ++node_.walks_; }
    ~Walk() {
      if (--node_.walks_ == 0 && node_.freed_) node_.let_go();
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

   private:
    OpNode& node_;
  };

  void unpack(ArgBlock& args, SmallVector<Tensor, 2>& saved, SmallVector<Tensor, 2>& outs) {
    size_t position = 0, slot = 0;
    auto take = [&](Tensor& t, const autograd::Edge& from) {
      const SavedValue& k = kept_[position++];
      if (k.is_packed())
        t = with_history(k.unpack(t), from);
      else if (t.version() != k.version())
        throw changed(t, k.version());
    };
    const uint64_t keep = saved_fields(op_, args.get(), needs_);
    each_tensor(op_, args.get(), [&](size_t field, Tensor& t) {
      if (keep >> field & 1) take(t, next[slot]);
      ++slot;
    });
    for (Tensor& s : saved) take(s, {});
    if (!op_.saves_output) return;
    const bool recording = Context::current().flags & kGrad;
    for (size_t i = 0; i < outs.size(); ++i) {
      take(outs[i], {});
      if (!recording) continue;
      // With this node as its history a saved result takes part in second derivatives. A look of
      // its own: what the node keeps must not hold the node.
      outs[i] = outs[i].alias();
      refs.fetch_add(1, std::memory_order_relaxed);
      autograd::set_history(outs[i], autograd::NodeRef(this), static_cast<uint32_t>(i));
    }
  }

  // An op with several results sees zeros where nobody used one.
  void fill_missing(Gradients& dys) {
    if (dys.size() < 2) return;
    for (size_t i = 0; i < dys.size(); ++i)
      if (!dys[i] && category(outs_[i].dtype()) == Category::floating)
        dys[i] = autograd::engine_ops().zeros_like(outs_[i]);
  }

  // Gradients stand in the place of the arguments; broadcast ones are summed back to their shape.
  void collect(const ArgBlock& args, const ArgBlock& grads, Gradients& dxs) {
    SmallVector<Tensor, 2> given;
    for (const FieldInfo& f : op_.fields) append(args, grads, f, given);
    size_t slot = 0;
    each_tensor(op_, args.get(), [&](size_t, Tensor& x) {
      Tensor& dx = given[slot];
      if (next[slot] && dx) dxs[slot] = fit_gradient(std::move(dx), x, op_.name);
      ++slot;
    });
  }

  // One entry of `given` for every tensor that each_tensor visits in the arguments.
  static void append(const ArgBlock& args, const ArgBlock& grads, const FieldInfo& f,
                     SmallVector<Tensor, 2>& given) {
    if (f.kind == ArgKind::tensor) {
      if (args.at<Tensor>(f)) given.push_back(grads.at<Tensor>(f));
    } else if (f.kind == ArgKind::maybe_tensor) {
      const auto& x = args.at<std::optional<Tensor>>(f);
      const auto& dx = grads.at<std::optional<Tensor>>(f);
      if (x && *x) given.push_back(dx ? *dx : Tensor());
    } else if (f.kind == ArgKind::tensors) {
      const auto& dx = grads.at<std::vector<Tensor>>(f);
      const size_t n = args.at<std::vector<Tensor>>(f).size();
      for (size_t i = 0; i < n; ++i) given.push_back(i < dx.size() ? dx[i] : Tensor());
    }
  }

  Error changed(const Tensor& t, uint32_t saved_version) const {
    auto line = [](const char* what, std::string_view who, Site at, uint32_t version) {
      return fmt::format("{:<12} {:<8} {}(version {})", what, who,
                         at.source ? fmt::format("{}:{}   ", at.source, at.line) : "", version);
    };
    const Storage* s = t.storage().get();
    Error e = fail(Kind::state, "E_INPLACE",
                   "a value was changed in place after it was saved for a gradient");
    return std::move(e)
        .fact(line("saved by", op_.name, site, saved_version))
        .fact(line("changed by", s->written_by ? s->written_by : "a write", s->written_at,
                   s->version))
        .hint("use x = x + y instead of the op in place, or clone before it")
        .op("backward");
  }

  Error graph_freed() const {
    Error e = fail(Kind::state, "E_GRAPH_FREED", "the graph was freed by an earlier backward");
    if (freed_at_.source)
      e.fact(fmt::format("freed by     backward {}:{}", freed_at_.source, freed_at_.line));
    return std::move(e)
        .hint("pass { retain_graph = true } to the first backward if you need two")
        .op("backward");
  }

  const OpInfo& op_;
  uint64_t needs_;
  bool keeps_values_ = false, freed_ = false;
  int walks_ = 0;  // backwards that are under way
  ArgBlock args_;
  SmallVector<Tensor, 2> saved_, outs_;
  std::vector<SavedValue> kept_;
  Site freed_at_;
  const Charge charge_{kNodeBytes};
};

}  // namespace

autograd::NodeRef make_node(const OpInfo& op, const void* args, std::span<const Tensor> outs,
                            std::span<Tensor> saved, uint64_t needs) {
  return autograd::NodeRef(new OpNode(op, args, outs, saved, needs));
}

void refuse_inference(const OpInfo& op, const void* args, const Tensor& dest, uint64_t needs) {
  if (dest.impl()->inference)
    throw made_in_inference("take a value that needs a gradient").of(op.fields[0].name);
  const uint64_t keep = saved_fields(op, args, needs);
  each_tensor(op, args, [&](size_t field, const Tensor& t) {
    if (keep >> field & 1) refuse_saving(op.fields[field], t);
  });
}

bool came_through(const Tensor& t, DType dtype) {
  std::unordered_set<const autograd::Node*> seen;
  std::vector<autograd::NodeRef> stack{autograd::edge_of(t).node};
  while (!stack.empty()) {
    const autograd::NodeRef node = std::move(stack.back());
    stack.pop_back();
    if (!node || !seen.insert(node.get()).second) continue;
    if (auto* op = dynamic_cast<OpNode*>(node.get()); op && op->took(dtype)) return true;
    for (const autograd::Edge& e : node->next) stack.push_back(e.node);
  }
  return false;
}

}  // namespace rille
