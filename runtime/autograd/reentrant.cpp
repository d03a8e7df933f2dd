// The reentrant form of checkpoint blocks: one node stands for the whole function.
#include "autograd/checkpoint.h"
#include "autograd/engine.h"
#include "autograd/node.h"
#include "autograd/pass.h"
#include "core/fail.h"

namespace rille::autograd {
namespace {

class ReentrantNode final : public Node {
 public:
  ReentrantNode(BlockFunction fn, std::span<const Tensor> inputs, World world, Journal journal,
                bool preserve_rng, Within within)
      : fn_(std::move(fn)),
        within_(std::move(within)),
        world_(std::move(world)),
        journal_(std::move(journal)),
        preserve_rng_(preserve_rng) {
    site = Context::current().site();
    for (const Tensor& t : inputs) {
      next.push_back(edge_of(t));
      inputs_.push_back(bare(t));
      versions_.push_back(t.version());
    }
  }
  void set_outputs(std::span<const Tensor> made) {
    outputs = static_cast<uint32_t>(made.size());
    for (const Tensor& t : made) shells_.push_back(t.shell());
  }
  std::string_view name() const override { return "checkpoint"; }
  void release() override {
    freed_ = true;
    inputs_.clear();
    fn_ = nullptr;
  }

  void backward(Gradients& dys, Gradients& dxs) override {
    check_pass();
    const std::vector<Tensor> inputs = leaves();
    std::vector<Tensor> outs;
    const auto work = [&] { outs = second_run(inputs); };
    if (within_)
      within_(work);
    else
      work();
    std::vector<Tensor> roots, seeds;
    for (size_t i = 0; i < outs.size(); ++i) {
      if (!dys[i] || !requires_grad(outs[i])) continue;
      roots.push_back(outs[i]);
      seeds.push_back(dys[i]);
    }
    if (!roots.empty()) autograd::backward(roots, seeds);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (next[i]) dxs[i] = grad_of(inputs[i]);
  }

 private:
  std::vector<Tensor> second_run(const std::vector<Tensor>& inputs) {
    const Rewound memory(journal_);
    check_versions();
    InWorld world(world_, {}, preserve_rng_);
    const FlagScope recorded(kGrad, true);
    std::vector<Tensor> outs = fn_(inputs);
    if (outs.size() != outputs)
      throw fail(Kind::state, "E_CKPT_COUNT", "the second run gave {} tensor{}, the first {}",
                 outs.size(), outs.size() == 1 ? "" : "s", outputs)
          .op("checkpoint");
    for (size_t i = 0; i < outs.size(); ++i)
      if (outs[i].shape() != shells_[i].shape() || outs[i].dtype() != shells_[i].dtype())
        throw fail(Kind::state, "E_CKPT_META", "result {} is {} in the second run, {} in the first",
                   i + 1, describe(outs[i]), describe(shells_[i]))
            .op("checkpoint");
    return outs;
  }

  void check_pass() const {
    if (freed_)
      throw fail(Kind::state, "E_GRAPH_FREED", "the graph was freed by an earlier backward")
          .hint("pass { retain_graph = true } to the first backward if you need two")
          .op("backward");
    const BackwardPass* pass = BackwardPass::current();
    if (!pass || (!pass->selects() && !pass->records())) return;
    throw fail(Kind::state, "E_CKPT_REENTRANT_GRAD", "a reentrant block takes no part in {}",
               pass->records() ? "a backward that is recorded" : "gradients of chosen inputs")
        .hint("without reentrant = true it does")
        .op("checkpoint");
  }

  void check_versions() const {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].version() != versions_[i])
        throw changed_between_runs(
            inputs_[i], fmt::format("input {} of the block", i + 1),
            fmt::format("given to     checkpoint {}   (version {})", text_of(site), versions_[i]))
            .op("checkpoint");
  }

  // Of the second run: gradients of the inputs end here.
  std::vector<Tensor> leaves() const {
    std::vector<Tensor> list;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      list.push_back(bare(inputs_[i]));
      if (next[i]) set_requires_grad(list.back(), true);
    }
    return list;
  }

  BlockFunction fn_;
  const Within within_;
  World world_;
  Journal journal_;
  const bool preserve_rng_;
  bool freed_ = false;
  std::vector<Tensor> inputs_, shells_;
  std::vector<uint32_t> versions_;
};

// Follows the first run, of which it keeps no value.
class Witness final : public SavedHook {
 public:
  Witness() : world(Context::current()), journal(last_serial()) {}
  uint64_t pack(const Tensor&, const char*) override { return 0; }
  Tensor unpack(uint64_t) override { return {}; }
  void drop(uint64_t) noexcept override {}
  void before_write(const Tensor& t) override { journal.before_write(t); }
  void before_draw(const std::shared_ptr<void>& owner, Generator& g) override {
    world.before_draw(owner, g);
  }
  World world;
  Journal journal;
};

}  // namespace

std::vector<Tensor> checkpoint_reentrant(const std::function<std::vector<Tensor>()>& first,
                                         BlockFunction again, std::span<const Tensor> inputs,
                                         bool preserve_rng, Within within) {
  Context& c = Context::current();
  if (!c.grad()) return first();
  if (std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return requires_grad(t); }))
    throw fail(Kind::argument, "E_CKPT_NO_GRAD_INPUT",
               "no input of the reentrant block requires a gradient")
        .hint("without reentrant = true parameters alone are enough")
        .op("checkpoint");
  const auto witness = std::make_shared<Witness>();
  std::vector<Tensor> outs;
  {
    const HookScope watched(witness);
    const NoGrad quiet;
    outs = first();
  }
  auto* made = new ReentrantNode(std::move(again), inputs, std::move(witness->world),
                                 std::move(witness->journal), preserve_rng, std::move(within));
  const NodeRef node(made);
  made->set_outputs(outs);
  for (size_t i = 0; i < outs.size(); ++i) {
    outs[i] = outs[i].alias();
    if (outs[i].is_float()) set_history(outs[i], node, static_cast<uint32_t>(i));
  }
  return outs;
}

}  // namespace rille::autograd
