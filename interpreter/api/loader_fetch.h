// One batch of a loader: what its own thread does without workers, and each worker else. The same
// code, so that batches don't depend on who makes them.
#pragma once
#include <atomic>

#include "rille/data.hpp"

namespace rille::api {

struct LoaderPlan {
  std::shared_ptr<const v1::data::Dataset> set;
  std::function<v1::data::Batch(const std::vector<v1::data::Sample>&)> collate;  // may be empty
  bool batched = true;  // else each job is a sample as it is
  uint64_t seed = 0;
};

struct LoaderJob {
  int64_t epoch = 0;
  std::vector<int64_t> samples;
};

/// Throws what the host's functions throw; a rille::Error gets the sample among its facts. `at` is
/// the sample at work, where it is one. Gives an empty batch soon after `stop` is set.
v1::data::Batch fetch(const LoaderPlan& plan, const LoaderJob& job, std::optional<int64_t>& at,
                      const std::atomic<bool>* stop = nullptr);

}  // namespace rille::api
