// The second run of a block, as a saved-tensor hook: takes the values that the tape of the second
// run saves, compares them with the first run's, and gives them to the tape of the first.
#pragma once
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "autograd/block.h"
#include "core/error.h"

namespace rille::autograd {

class SecondRun final : public SavedHook {
 public:
  /// Collects the first `wanted` values.
  SecondRun(const Block& block, size_t wanted);
  /// After the run: the block may go.
  void end();

  uint64_t pack(const Tensor& t, const char* by) override;
  // For the tape of the second run itself: a function may go backward.
  Tensor unpack(uint64_t handle) override;
  void drop(uint64_t handle) noexcept override;
  void before_read(const Tensor& t, const char* by) override;
  void before_write(const Tensor& t) override;
  void before_draw(const std::shared_ptr<void>& owner, Generator& generator) override;

  bool recall(const OpRun& run, std::vector<Tensor>& made) override;

  void enter(InWorld& world) { world_ = &world; }
  /// Memory that was made for this run: it may keep what it writes there.
  void owns(const Tensor& t) { own_.push_back(t.storage()); }
  size_t count() const { return count_; }
  bool is_complete() const { return count_ >= wanted_; }
  /// A difference from the first run, also where the function caught the error.
  const std::optional<Error>& difference() const { return difference_; }

  bool has(uint64_t handle) const;
  /// Hands a value to the first run's tape, which asks once. Throws E_INPLACE for one that was
  /// written to since it was saved.
  Tensor take(uint64_t handle);
  void forget(uint64_t handle) noexcept;

 private:
  struct Value {
    Tensor value;
    uint32_t version = 0;
    bool for_block = false, for_own_tape = true;
    bool starts_block = false;  // the input of an inner block
  };
  void compare(const Tensor& t, const char* by);
  [[noreturn]] void differs(Error e);
  void erase_if_unused(uint64_t handle) noexcept;
  void part_from(const StorageRef& storage);

  const Block* block_;  // null after the run
  const size_t wanted_;
  const bool stops_early_;
  size_t count_ = 0, kernels_ = 0;
  Journal strays_;  // what only this run writes to
  std::vector<StorageRef> own_;
  std::unordered_set<uint64_t> read_;  // serials of older memory
  InWorld* world_ = nullptr;
  std::unordered_map<uint64_t, Value> values_;
  std::optional<Error> difference_;
};

}  // namespace rille::autograd
