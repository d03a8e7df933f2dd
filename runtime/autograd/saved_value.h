// A value that backward needs: kept as it is with the version it had, or handed to the saved-tensor
// hooks. The innermost hook packs first; tensors that it keeps itself go through the next one out,
// for while it packs it is off the list of hooks.
#pragma once
#include <cstdint>
#include <memory>

#include "autograd/node.h"
#include "core/context.h"

namespace rille::autograd {

class SavedValue {
 public:
  SavedValue() = default;
  SavedValue(const SavedValue&) = delete;
  SavedValue& operator=(const SavedValue&) = delete;
  SavedValue(SavedValue&& o) noexcept
      : version_(o.version_), handle_(o.handle_), hook_(std::move(o.hook_)) {}
  ~SavedValue() {
    if (hook_) hook_->drop(handle_);
  }

  /// Remembers the version of `t`, or hands it to the innermost hook; then `t` becomes its shell.
  /// Numbers among an op's arguments stay as they are: the script sees none. `by`, an op's name,
  /// lives as long as the process.
  void pack(Tensor& t, const char* by);
  bool is_packed() const { return hook_ != nullptr; }
  /// What the hook gives back for the shell `t`. Throws E_SHAPE, E_DEVICE_MISMATCH where that is
  /// unlike what was packed.
  Tensor unpack(const Tensor& t) const;
  /// The version that `t` had.
  uint32_t version() const { return version_; }

 private:
  uint32_t version_ = 0;
  uint64_t handle_ = 0;
  std::shared_ptr<SavedHook> hook_;
};

/// A tensor with the values of `t` and no history.
Tensor bare(const Tensor& t);

/// `t` as the value at the other end of `edge`: without one, or where nothing is recorded, `t`
/// itself. So an unpacked value takes part in gradients of gradients as the packed one would have.
Tensor with_history(Tensor t, const Edge& edge);

}  // namespace rille::autograd
