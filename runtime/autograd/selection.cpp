#include "autograd/selection.h"

#include <algorithm>
#include <string_view>

#include "autograd/fingerprint.h"
#include "autograd/node.h"
#include "autograd/saved_value.h"
#include "core/fail.h"

namespace rille::autograd {
namespace {

int64_t bytes_made(std::span<const Tensor> list, uint64_t newest,
                   std::vector<const Storage*>& seen) {
  int64_t sum = 0;
  for (const Tensor& t : list) {
    const Storage* s = t ? t.storage().get() : nullptr;
    if (!s || s->serial <= newest) continue;
    if (std::find(seen.begin(), seen.end(), s) != seen.end()) continue;
    seen.push_back(s);
    sum += t.is_meta() ? t.nbytes() : static_cast<int64_t>(s->bytes);
  }
  return sum;
}

}  // namespace

void Selection::before_kernel() {
  newest_ = last_serial();
  started_ = std::chrono::steady_clock::now();
}

void Selection::after_kernel(const OpRun& run, std::span<const Tensor> outs,
                             std::span<const Tensor> saved) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started_;
  std::vector<const Storage*> seen;
  const int64_t made = bytes_made(outs, newest_, seen) + bytes_made(saved, newest_, seen);
  const KernelRun kernel{
      run.op, within_, count_, run.flops, took.count(), made, outs.empty() ? nullptr : &outs[0]};
  const Keep how = options_.policy(kernel);
  if (how != Keep::recompute) {
    Kept kept{run.op, Context::current().site(), {}};
    for (const Tensor& t : outs) kept.results.push_back(kept_result(t, how));
    for (const Tensor& t : saved) kept.results.push_back(kept_result(t, how));
    kept_.emplace(count_, std::move(kept));
    kept_bytes_ += made;
  }
  ++count_;
}

Selection::Result Selection::kept_result(const Tensor& t, Keep how) const {
  if (!t) return {};
  if (how == Keep::save || t.is_meta()) return {bare(t), t.version()};
  if (!options_.spill)
    throw option_error("the policy offloads, and there is nowhere to")
        .hint("offload = 'disk' says where")
        .op("checkpointer");
  const FlagScope unseen(kGrad | kSavedHooks | kListeners, false);
  const Tensor dense = t.is_contiguous() && !t.is_packed() ? t : engine_ops().clone(t);
  return {t.shell(), t.version(), options_.spill->write(dense)};
}

Tensor Selection::given(const Kept& kept, const Result& r) const {
  if (r.spilled) return r.spilled->read();
  if (!r.value || r.value.version() == r.version || options_.allow_mutation) return r.value;
  const Storage& s = *r.value.storage().get();
  throw fail(Kind::state, "E_CKPT_MUTATED", "a result that the block keeps was changed in place")
      .fact(
          fmt::format("kept of      {:<8} {}   (version {})", kept.op, text_of(kept.at), r.version))
      .fact(fmt::format("changed by   {:<8} {}   (version {})",
                        s.written_by ? s.written_by : "a write", text_of(s.written_at), s.version))
      .hint("recompute that op, or write to a copy");
}

bool Selection::recall(const OpRun& run, size_t index, bool last, std::vector<Tensor>& made) {
  const auto it = kept_.find(index);
  if (it == kept_.end()) return false;
  Kept& kept = it->second;
  if (std::string_view(kept.op) != run.op)
    throw fail(Kind::state, "E_CKPT_META", "op {} of the block is not the first run's", index + 1)
        .fact(fmt::format("first run    {:<8} {}", kept.op, text_of(kept.at)))
        .fact(fmt::format("second run   {:<8} {}", run.op, text_of(Context::current().site())))
        .hint("the block must do the same each time it runs");
  if (kept.given_away)
    throw fail(Kind::state, "E_CKPT_CONSUMED",
               "what the block kept went to an earlier backward, which was to be the last")
        .fact(fmt::format("kept of      {:<8} {}", kept.op, text_of(kept.at)))
        .hint("pass { retain_graph = true } to the first backward if you need two");
  for (const Result& r : kept.results) made.push_back(given(kept, r));
  if (last) {
    kept.results.clear();
    kept.given_away = true;
  }
  return true;
}

}  // namespace rille::autograd
