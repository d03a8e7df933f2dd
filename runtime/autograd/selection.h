// Selective checkpointing: which results of kernels a block keeps from its first run, so that they
// need not be computed in the second.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/context.h"
#include "core/spill_file.h"

namespace rille::autograd {

enum class Keep : uint8_t { recompute, save, offload };

/// One kernel of a first run, after it ran.
struct KernelRun {
  const char* op;
  std::span<const char* const> within;  // the ops that it is a part of, the outermost first
  size_t index;                         // of the block's kernels, from 0
  double flops;                         // additions and multiplications of products
  double seconds;
  int64_t bytes;         // of memory that it made and its results and backward hold
  const Tensor* result;  // the first one
};
using Policy = std::function<Keep(const KernelRun&)>;

struct SelectionOptions {
  Policy policy;
  std::shared_ptr<SpillFile> spill;  // where offloaded results go
  bool allow_mutation = false;       // results that are written to in place are given as they are
};

class Selection {
 public:
  explicit Selection(SelectionOptions options) : options_(std::move(options)) {}

  // The first run, as SavedHook has it.
  void begin(const OpRun& run) { within_.push_back(run.op); }
  void end() { within_.pop_back(); }
  void before_kernel();
  void after_kernel(const OpRun& run, std::span<const Tensor> outs, std::span<const Tensor> saved);
  /// Bytes of memory that the first run's kernels made and the block keeps, in memory or not.
  int64_t kept_bytes() const { return kept_bytes_; }

  /// The second run: the results of kernel `index`, if they were kept. With `last` they are given
  /// away. Throws E_CKPT_META for another op, E_CKPT_MUTATED, E_CKPT_CONSUMED.
  bool recall(const OpRun& run, size_t index, bool last, std::vector<Tensor>& made);

 private:
  struct Result {
    Tensor value;  // bare; a shell where it was offloaded
    uint32_t version = 0;
    std::unique_ptr<SpillFile::Spilled> spilled = {};
  };
  struct Kept {
    const char* op;
    Site at;
    std::vector<Result> results;
    bool given_away = false;
  };
  Result kept_result(const Tensor& t, Keep how) const;
  Tensor given(const Kept& kept, const Result& r) const;

  const SelectionOptions options_;
  std::vector<const char*> within_;
  size_t count_ = 0;
  int64_t kept_bytes_ = 0;
  uint64_t newest_ = 0;
  std::chrono::steady_clock::time_point started_;
  std::unordered_map<size_t, Kept> kept_;
};

}  // namespace rille::autograd
