#include "interpreter/api/loader_fetch.h"

#include "core/context.h"
#include "core/fail.h"
#include "data/order.h"
#include "interpreter/api/inside.h"

namespace rille::api {
namespace {

// Modes and random numbers while samples are made; the thread's own come back at the end.
class Aside {
 public:
  Aside() : context_(Context::current()), flags_(context_.flags), generator_(context_.generator) {
    context_.flags &= ~(kGrad | kAutocast | kInference | kSavedHooks);
  }
  ~Aside() {
    context_.flags = flags_;
    context_.generator = generator_;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// Scripts count samples from 1, and draw the same numbers.
  void draw_for(uint64_t seed, int64_t epoch, int64_t sample) {
    const int64_t bits = rille::data::random_bits(static_cast<int64_t>(seed), epoch, sample + 1);
    context_.generator = {static_cast<uint64_t>(bits), 0};
  }

 private:
  Context& context_;
  const uint32_t flags_;
  const Generator generator_;
};

v1::data::Batch made(const LoaderPlan& plan, const LoaderJob& job, std::optional<int64_t>& at,
                     const std::atomic<bool>* stop) {
  Aside aside;
  if (plan.batched && !plan.collate) {
    aside.draw_for(plan.seed, job.epoch, job.samples.front());
    if (auto whole = plan.set->get_batch(job.samples)) return std::move(*whole);
  }
  std::vector<v1::data::Sample> samples;
  for (const int64_t i : job.samples) {
    if (stop && *stop) return {};
    at = i;
    aside.draw_for(plan.seed, job.epoch, i);
    samples.push_back(plan.set->get(i));
  }
  if (!plan.batched) return std::move(samples.front());
  at.reset();
  return plan.collate ? plan.collate(samples) : v1::data::collate(samples, job.samples);
}

}  // namespace

v1::data::Batch fetch(const LoaderPlan& plan, const LoaderJob& job, std::optional<int64_t>& at,
                      const std::atomic<bool>* stop) {
  try {
    return guarded_around_host("Loader", [&] { return made(plan, job, at, stop); });
  } catch (v1::Error& e) {
    if (at) e.facts.push_back(fmt::format("sample {}", *at));
    throw;
  }
}

}  // namespace rille::api
