// What the tests of loaders share.
#pragma once
#include <chrono>
#include <thread>

#include "api/hosts.h"

namespace rille::test {

/// The numbers of each batch's first tensor, of one epoch.
using Batches = std::vector<std::vector<double>>;

inline Batches drain(data::Loader& loader) {
  Batches out;
  for (const data::Batch& batch : loader) out.push_back(list(batch[0]));
  return out;
}
inline Batches drain(data::Loader& loader, int64_t epoch) {
  loader.set_epoch(epoch);
  return drain(loader);
}

/// 0, 1, ..., n - 1: each sample is its own index.
inline data::TensorDataset numbers(int64_t n) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i);
  return data::TensorDataset({Tensor::of(values)});
}

/// The same, each with random numbers of its own on top; later samples take less time.
inline data::FunctionDataset noisy(int64_t n) {
  return data::FunctionDataset(n, [n](int64_t i) {
    std::this_thread::sleep_for(std::chrono::microseconds(200 * (n - i)));
    return data::Sample{static_cast<double>(i) + rand({2}).sum()};
  });
}

}  // namespace rille::test
