// A block of rille.checkpoint: a run of a function whose saved values are let go of and computed
// again, by a second run, when a backward wants the first of them.
//
// A block is a saved-tensor hook. In the first run it keeps the inputs, a fingerprint of each value
// that the tape saves, and a journal of the older memory that the run wrote to. The second run
// (second_run.h) starts from the same inputs, memory, modes and random numbers; so it saves the
// same values in the same order, and the tape of the first run takes them. The tape itself stays:
// the order in which gradients are added is that of a run without blocks.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autograd/fingerprint.h"
#include "autograd/journal.h"
#include "autograd/saved_value.h"
#include "autograd/selection.h"
#include "autograd/world.h"
#include "core/budget.h"
#include "core/error.h"

namespace rille::autograd {

class SecondRun;

/// What is compared between the runs: nothing; count, op, shape, dtype and device of the values
/// that are saved; or their elements, too.
enum class Determinism : uint8_t { none, kinds, values };

/// Runs the work where the function belongs: a script's in its interpreter's context, whichever
/// thread goes backward.
using Within = std::function<void(const std::function<void()>& work)>;

struct BlockOptions {
  Determinism determinism = Determinism::kinds;
  bool preserve_rng = true;
  bool early_stop = true;  // the second run ends with the last value that is wanted
  /// Asks the function to return early; without it SecondRunDone is thrown in the op.
  std::function<void()> leave = {};
  Within within = {};                         // of the second run
  std::shared_ptr<Selection> selection = {};  // this block's own; null: no results are kept
  std::shared_ptr<SpillFile> spill = {};      // where inputs go; null: they stay in memory
};

/// What a block came to, in bytes and seconds; counted where it has a selection.
struct BlockFigures {
  int64_t inputs = 0;
  int64_t kept = 0;  // inputs and results of kernels, in memory or not
  int64_t tape = 0;  // what the first run made and a tape without the block would hold
  double second_run = 0;
};

/// E_CKPT_DONE: ends a second run whose values are complete. The function lets it pass.
struct SecondRunDone : Error {
  SecondRunDone()
      : Error(Kind::interrupt, "E_CKPT_DONE", "the second run of the block is complete") {}
};

/// Runs the block's function once more.
using RunAgain = std::function<void(std::vector<Tensor> inputs)>;

class Block final : public SavedHook, public std::enable_shared_from_this<Block> {
 public:
  /// Before the first run, in which the block is the innermost saved-tensor hook. `inputs` pass
  /// through the hooks that are there now.
  Block(std::span<const Tensor> inputs, RunAgain again, BlockOptions options);

  /// Outlives the block.
  const std::shared_ptr<BlockFigures>& figures() const { return figures_; }

  uint64_t pack(const Tensor& t, const char* by) override;
  /// Throws E_CKPT_COUNT, E_CKPT_META, E_CKPT_VALUE, E_CKPT_MUTATED, E_INPLACE, and what the
  /// function throws.
  Tensor unpack(uint64_t handle) override;
  void drop(uint64_t handle) noexcept override;
  void before_read(const Tensor& t, const char* by) override;
  void before_write(const Tensor& t) override;
  void before_draw(const std::shared_ptr<void>& owner, Generator& generator) override;
  void begin(const OpRun& run) override;
  void end(const OpRun& run) override;
  bool recall(const OpRun& run, std::vector<Tensor>& made) override;
  void keep(const OpRun& run, std::span<const Tensor> outs, std::span<const Tensor> saved) override;

 private:
  friend class SecondRun;
  struct Saved {
    Fingerprint value;
    bool wanted = true;  // the tape still has it
    Charge charge{kSavedBytes};
  };
  struct Read {
    uint32_t version;
    const char* by;
    Site at;
  };
  struct Input {
    Tensor value;  // a bare view; a shell where an outer hook has it
    SavedValue kept;
    bool requires_grad;
    std::unique_ptr<SpillFile::Spilled> spilled = {};
  };
  void spill(Input& input) const;
  Tensor input_again(const Input& input, SecondRun& run) const;

  void run_again();
  void second_run(SecondRun& run, std::shared_ptr<SavedHook> hook);
  std::vector<Tensor> inputs_again(SecondRun& run);
  void check_inputs(std::span<const Tensor> inputs) const;
  void count_on_tape(const Tensor& t);
  void call_again(const SecondRun& run, std::vector<Tensor> inputs);
  size_t wanted() const;
  void check_read(const Tensor& t, const char* by) const;
  Error another_count(size_t found) const;

  static constexpr int64_t kSavedBytes = 256;
  const BlockOptions options_;
  const RunAgain again_;
  const Site called_at_;
  const uint64_t newest_;  // the newest memory when the block began
  World world_;
  Journal journal_;
  std::vector<Saved> saved_;
  std::unordered_map<uint64_t, Read> reads_;  // of older memory, by its serial
  std::vector<Input> inputs_;

  std::unordered_set<uint64_t> on_tape_;  // serials of memory that is younger than the block
  const std::shared_ptr<BlockFigures> figures_ = std::make_shared<BlockFigures>();

  std::shared_ptr<SecondRun> second_;  // the latest
  uint64_t second_for_ = 0;            // the pass that it ran for
  bool running_ = false;
};

/// E_CKPT_MUTATED for `what`, which `read` says was used first.
Error changed_between_runs(const Tensor& t, std::string_view what, std::string read);

}  // namespace rille::autograd
