#include "autograd/second_run.h"

#include <algorithm>
#include <string_view>

#include "autograd/node.h"
#include "autograd/pass.h"
#include "core/fail.h"

namespace rille::autograd {

SecondRun::SecondRun(const Block& block, size_t wanted)
    : block_(&block),
      wanted_(wanted),
      stops_early_(block.options_.early_stop),
      strays_(last_serial()) {}

void SecondRun::end() {
  strays_.undo();
  block_ = nullptr;
  world_ = nullptr;
}

uint64_t SecondRun::pack(const Tensor& t, const char* by) {
  const uint64_t handle = count_;
  Value value{bare(t), t.version()};
  value.starts_block = std::string_view(by) == "checkpoint";
  if (block_) {
    compare(t, by);
    value.for_block = handle < wanted_ && block_->saved_[handle].wanted;
  }
  values_.insert_or_assign(handle, std::move(value));
  ++count_;
  if (block_ && stops_early_ && count_ == wanted_) {
    if (!block_->options_.leave) throw SecondRunDone();
    block_->options_.leave();
  }
  return handle;
}

void SecondRun::differs(Error e) {
  e.fact(fmt::format("block        {}", text_of(block_->called_at_)));
  if (e.hint().empty()) e.hint("the block must do the same each time it runs");
  if (!difference_) difference_ = e;
  throw e;
}

void SecondRun::compare(const Tensor& t, const char* by) {
  const Determinism what = block_->options_.determinism;
  if (what == Determinism::none || count_ >= block_->saved_.size()) return;
  const Fingerprint& first = block_->saved_[count_].value;
  const Fingerprint now(t, by, false);
  const auto fact = [](const char* run, const Fingerprint& f) {
    return fmt::format("{:<12} {}", run, f.text());
  };
  if (!first.same_kind(t, by))
    differs(fail(Kind::state, "E_CKPT_META", "value {} that the block saves is not the first run's",
                 count_ + 1)
                .fact(fact("first run", first))
                .fact(fact("second run", now)));
  if (what == Determinism::values && !first.same_values(t))
    differs(fail(Kind::state, "E_CKPT_VALUE",
                 "value {} that the block saves differs from the first run's", count_ + 1)
                .fact(fact("first run", first))
                .fact(fact("second run", now))
                .fact(fmt::format("difference   {:.3g} at most, of {} elements compared",
                                  first.largest_difference(t), first.compared())));
}

// ---- values
// --------------------------------------------------------------------------------------

bool SecondRun::has(uint64_t handle) const {
  const auto it = values_.find(handle);
  return it != values_.end() && it->second.for_block;
}

Tensor SecondRun::take(uint64_t handle) {
  Value& v = values_.at(handle);
  v.for_block = false;
  const Tensor t = v.value;
  if (t.version() != v.version) {
    const Storage& s = *t.storage().get();
    throw fail(Kind::state, "E_INPLACE",
               "a value was changed in place after it was saved for a gradient")
        .fact(fmt::format("changed by   {:<8} {}   (version {})",
                          s.written_by ? s.written_by : "a write", text_of(s.written_at),
                          s.version))
        .hint("use x = x + y instead of the op in place, or clone before it")
        .op("backward");
  }
  values_.erase(handle);
  return t;
}

void SecondRun::forget(uint64_t handle) noexcept {
  if (const auto it = values_.find(handle); it != values_.end()) it->second.for_block = false;
  erase_if_unused(handle);
}

Tensor SecondRun::unpack(uint64_t handle) {
  const auto it = values_.find(handle);
  if (it == values_.end())
    throw fail(Kind::state, "E_CKPT_CONSUMED",
               "the graph of a block's second run is gone: its values went to the first")
        .hint("what the block's function leaves behind is for the first run only")
        .op("checkpoint");
  return it->second.value;
}

void SecondRun::drop(uint64_t handle) noexcept {
  if (const auto it = values_.find(handle); it != values_.end()) it->second.for_own_tape = false;
  erase_if_unused(handle);
}

void SecondRun::erase_if_unused(uint64_t handle) noexcept {
  const auto it = values_.find(handle);
  if (it != values_.end() && !it->second.for_block && !it->second.for_own_tape) values_.erase(it);
}

bool SecondRun::recall(const OpRun& run, std::vector<Tensor>& made) {
  const size_t index = kernels_++;
  Selection* selection = block_ ? block_->options_.selection.get() : nullptr;
  if (!selection) return false;
  const BackwardPass* pass = BackwardPass::current();
  try {
    return selection->recall(run, index, pass && !pass->keeps(), made);
  } catch (Error& e) {
    differs(std::move(e));
  }
}

// ---- the world
// ----------------------------------------------------------------------------------

void SecondRun::before_read(const Tensor& t, const char* by) {
  if (!block_ || !block_->journal_.is_older(t)) return;
  if (!read_.insert(t.storage()->serial).second) return;  // since then the run may have written
  try {
    block_->check_read(t, by);
  } catch (Error& e) {
    differs(std::move(e));
  }
}

void SecondRun::before_write(const Tensor& t) {
  if (!block_) return;
  part_from(t.storage());
  const bool own = std::any_of(own_.begin(), own_.end(),
                               [&](const StorageRef& s) { return s.get() == t.storage().get(); });
  if (!own && !block_->journal_.has(t)) strays_.before_write(t);
}

// An inner block may write to its inputs: its own second run begins before that.
void SecondRun::part_from(const StorageRef& storage) {
  for (auto& [handle, v] : values_) {
    if (!v.starts_block || v.value.storage().get() != storage.get()) continue;
    const FlagScope unseen(kGrad | kSavedHooks, false);
    v.value = engine_ops().clone(v.value);
    v.version = v.value.version();
  }
}

void SecondRun::before_draw(const std::shared_ptr<void>& owner, Generator& generator) {
  if (world_) world_->before_draw(owner, generator);
}

}  // namespace rille::autograd
