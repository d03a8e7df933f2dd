#include "autograd/block.h"

#include <chrono>

#include "autograd/node.h"
#include "autograd/pass.h"
#include "autograd/second_run.h"
#include "core/fail.h"

namespace rille::autograd {
namespace {

// Where an input of the second run comes from. Hooks that the function sets there end here, and the
// function may write to the input in place, as to any result of an op.
class Entrance final : public Node {
 public:
  std::string_view name() const override { return "checkpoint"; }
  void backward(Gradients&, Gradients&) override {}
};

constexpr char kName[] = "checkpoint";

// Ends the run, on errors too.
class Running {
 public:
  Running(bool& flag, SecondRun& run) : flag_(flag), run_(run) { flag_ = true; }
  ~Running() {
    flag_ = false;
    run_.end();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool& flag_;
  SecondRun& run_;
};

}  // namespace

Error changed_between_runs(const Tensor& t, std::string_view what, std::string read) {
  const Storage& s = *t.storage().get();
  Error e = fail(Kind::state, "E_CKPT_MUTATED",
                 "{} was changed in place between the block's two runs", what);
  e.fact(std::move(read));
  e.fact(fmt::format("changed by   {:<8} {}   (version {})",
                     s.written_by ? s.written_by : "a write", text_of(s.written_at), s.version));
  return std::move(e).hint("backward comes before the write, or the block takes a copy");
}

Block::Block(std::span<const Tensor> inputs, RunAgain again, BlockOptions options)
    : options_(std::move(options)),
      again_(std::move(again)),
      called_at_(Context::current().site()),
      newest_(last_serial()),
      world_(Context::current()),
      journal_(newest_) {
  for (const Tensor& t : inputs) {
    Input& in = inputs_.emplace_back(Input{bare(t), {}, requires_grad(t)});
    in.kept.pack(in.value, kName);
    spill(in);
    figures_->inputs += t.nbytes();
  }
}

// Leaves are somebody else's, and what is small is not worth its way to the disk.
void Block::spill(Input& in) const {
  constexpr int64_t kSmall = int64_t{64} << 10;
  if (!options_.spill || in.kept.is_packed() || in.value.is_meta() || in.value.is_packed()) return;
  if (in.value.nbytes() < kSmall) return;
  const FlagScope unseen(kGrad | kSavedHooks | kListeners, false);
  in.spilled =
      options_.spill->write(in.value.is_contiguous() ? in.value : engine_ops().clone(in.value));
  in.value = in.value.shell();
}

// ---- the first run
// ------------------------------------------------------------------------------

uint64_t Block::pack(const Tensor& t, const char* by) {
  if (options_.selection) count_on_tape(t);
  saved_.push_back({Fingerprint(t, by, options_.determinism == Determinism::values)});
  return saved_.size() - 1;
}

void Block::count_on_tape(const Tensor& t) {
  const Storage* s = t.storage().get();
  if (!s || s->serial <= newest_ || !on_tape_.insert(s->serial).second) return;
  figures_->tape += t.is_meta() ? t.nbytes() : static_cast<int64_t>(s->bytes);
}

void Block::drop(uint64_t handle) noexcept {
  saved_[handle].wanted = false;
  if (second_) second_->forget(handle);
}

void Block::before_read(const Tensor& t, const char* by) {
  if (!journal_.is_older(t) || reads_.contains(t.storage()->serial)) return;
  reads_.emplace(t.storage()->serial, Read{t.version(), by, Context::current().site()});
}

void Block::before_write(const Tensor& t) { journal_.before_write(t); }

void Block::before_draw(const std::shared_ptr<void>& owner, Generator& generator) {
  world_.before_draw(owner, generator);
}

void Block::begin(const OpRun& run) {
  if (options_.selection) options_.selection->begin(run);
}
void Block::end(const OpRun&) {
  if (options_.selection) options_.selection->end();
}
bool Block::recall(const OpRun&, std::vector<Tensor>&) {
  if (options_.selection) options_.selection->before_kernel();
  return false;
}
void Block::keep(const OpRun& run, std::span<const Tensor> outs, std::span<const Tensor> saved) {
  if (!options_.selection) return;
  options_.selection->after_kernel(run, outs, saved);
  figures_->kept = figures_->inputs + options_.selection->kept_bytes();
}

// ---- the second run
// -----------------------------------------------------------------------------

size_t Block::wanted() const {
  size_t n = saved_.size();
  while (n > 0 && !saved_[n - 1].wanted) --n;
  return n;
}

Tensor Block::unpack(uint64_t handle) {
  if (!second_ || second_for_ != BackwardPass::number() || !second_->has(handle)) run_again();
  if (!second_->has(handle)) throw another_count(second_->count());
  return second_->take(handle);
}

void Block::run_again() {
  if (running_)
    throw fail(Kind::state, "E_STATE", "the second run of a block needs a value of the first")
        .hint("a block must not go backward through itself")
        .op(kName);
  second_.reset();
  const auto run = std::make_shared<SecondRun>(*this, wanted());
  const auto work = [&] { second_run(*run, run); };
  if (options_.within)
    options_.within(work);
  else
    work();
  second_ = run;
  second_for_ = BackwardPass::number();
  if (BackwardPass* pass = BackwardPass::current())
    pass->at_end([weak = weak_from_this(), number = second_for_] {
      const auto block = weak.lock();
      if (block && block->second_for_ == number) block->second_.reset();
    });
}

void Block::second_run(SecondRun& run, std::shared_ptr<SavedHook> hook) {
  std::vector<Tensor> inputs = inputs_again(run);
  const Running running(running_, run);
  const Rewound memory(journal_);
  check_inputs(inputs);
  InWorld world(world_, {std::move(hook)}, options_.preserve_rng);
  run.enter(world);
  const auto begin = std::chrono::steady_clock::now();
  call_again(run, std::move(inputs));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  figures_->second_run = took.count();
}

// Values that an outer block has may need its second run first.
std::vector<Tensor> Block::inputs_again(SecondRun& run) {
  std::vector<Tensor> inputs;
  for (const Input& in : inputs_) {
    inputs.push_back(input_again(in, run));
    if (in.requires_grad) set_history(inputs.back(), NodeRef(new Entrance), 0);
  }
  return inputs;
}

Tensor Block::input_again(const Input& in, SecondRun& run) const {
  if (!in.kept.is_packed() && !in.spilled) return bare(in.value);
  const Tensor t = in.spilled ? in.spilled->read() : bare(in.kept.unpack(in.value));
  run.owns(t);
  return t;
}

void Block::check_inputs(std::span<const Tensor> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SavedValue& kept = inputs_[i].kept;
    if (kept.is_packed() || inputs_[i].spilled) continue;
    if (inputs[i].version() == kept.version()) continue;
    throw changed_between_runs(inputs[i], fmt::format("input {} of the block", i + 1),
                               fmt::format("given to     checkpoint {}   (version {})",
                                           text_of(called_at_), kept.version()))
        .op(kName);
  }
}

void Block::call_again(const SecondRun& run, std::vector<Tensor> inputs) {
  try {
    again_(std::move(inputs));
  } catch (const std::exception&) {
    // What was asked to end by SecondRunDone may end by any error, once all values are there.
    if (options_.leave || run.difference() || !run.is_complete()) throw;
  }
  if (run.difference()) throw Error(*run.difference());
  const bool compared = !options_.early_stop && options_.determinism != Determinism::none;
  if (compared && run.count() > saved_.size()) throw another_count(run.count());
}

Error Block::another_count(size_t found) const {
  Error e = fail(Kind::state, "E_CKPT_COUNT", "the second run saved {} value{}, the first {}",
                 found, found == 1 ? "" : "s", saved_.size());
  e.fact(fmt::format("block        {}", text_of(called_at_)));
  if (found < saved_.size())
    e.fact(fmt::format("first run    {}   (value {})", saved_[found].value.text(), found + 1));
  return std::move(e).hint("the block must do the same each time it runs").op(kName);
}

void Block::check_read(const Tensor& t, const char* by) const {
  const auto it = reads_.find(t.storage()->serial);
  if (it == reads_.end() || it->second.version == t.version()) return;
  throw changed_between_runs(t, fmt::format("a tensor that {} takes", by),
                             fmt::format("first taken  {:<8} {}   (version {})", it->second.by,
                                         text_of(it->second.at), it->second.version));
}

}  // namespace rille::autograd
