// What the boxes of one interpreter own, kept outside of Lua: Lua can lose a finalizer (it runs out
// of C levels or memory while calling it), and then this list still frees what the box held when
// the interpreter closes. A box has a slot from when it is made; put and give raise nothing.
//
// Boxes of tensors have no finalizer where Lua's heap is ours: to call one costs more than to make
// the tensor, and what has one lives for a collection longer. That a box is gone shows when the
// heap is given its memory back (lua/heap.cpp); what it owned is freed at the next call (ADR 0025).
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rille::lua {

enum class BoxKind : uint16_t { tensor = 1, object = 2 };

class Owned {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  // What a slot and what it holds take besides values: a tensor's shape and the like, which Lua's
  // heap knows nothing of.
  static constexpr int64_t kBytes = 512;

  /// A free slot for the box at that address, or kNone where memory for one more can't be had.
  uint32_t take(const void* box) noexcept;
  /// What a slot holds if it is the slot of the box at that address, and of that kind; else null.
  void* held_by(const void* box, uint32_t slot, BoxKind kind) const noexcept {
    if (slot >= slots_.size()) return nullptr;
    const Slot& s = slots_[slot];
    return s.box == box && s.kind == kind ? s.impl : nullptr;
  }
  void put(uint32_t slot, BoxKind kind, void* impl) noexcept {
    slots_[slot].impl = impl;
    slots_[slot].kind = kind;
  }
  /// What a slot holds: TensorImpl*, or ObjectRef*; null until filled, once freed, and for kNone.
  void* held(uint32_t slot) const noexcept { return slot == kNone ? nullptr : slots_[slot].impl; }
  /// Where a script closed what a slot held, or where the scope ended that freed it. Without a
  /// source where nobody did, or nobody knows.
  struct Closing {
    Site at;
    bool by_scope = false;
  };
  /// Frees what the slot holds; it stays taken, and knows where that was.
  void close(uint32_t slot, Closing closing) noexcept;
  Closing closing(uint32_t slot) const noexcept {
    if (slot >= slots_.size()) return {};
    const Slot& s = slots_[slot];
    return {{s.closed_in, s.closed_line}, s.closed_by_scope};
  }
  /// Frees what the slot holds, and the slot.
  void drop(uint32_t slot) noexcept;
  /// For a box that Lua frees, which nothing may be done in the midst of: its slot is dropped by
  /// drop_buried. Does nothing where the slot is not that box's.
  void bury(uint32_t slot, const void* box) noexcept {
    if (slot >= slots_.size() || slots_[slot].box != box) return;
    slots_[slot].box = nullptr;
    slots_[slot].next = std::exchange(buried_, slot);
  }
  bool any_buried() const noexcept { return buried_ != kNone; }
  /// Gives how many slots that were.
  size_t drop_buried() noexcept;
  // Scopes (rille.scope): tensors of one coroutine (`thread`, compared and never used) that were
  // made since a scope began are freed at its end, unless they are kept or want gradients.

  size_t begin_scope() noexcept {
    ++scopes_;
    return made_.size();
  }
  void end_scope(size_t began, const void* thread, Site at) noexcept;
  /// Scopes whose end never comes: what they would have freed is the collector's.
  void forget_scopes() noexcept {
    made_.clear();
    scopes_ = 0;
    paused = false;
  }
  void note(uint32_t slot, const void* thread) noexcept {
    if (scopes_ > 0 && !paused) [[unlikely]]
      remember(slot, thread);
  }
  /// The tensor stays when the innermost scope ends; it is the next one's then.
  void keep(uint32_t slot) noexcept { slots_[slot].kept = true; }
  bool paused = false;  // what is made belongs to no scope

  /// Calls see(const TensorImpl&) for every tensor that a slot holds.
  template <class F>
  void each_tensor(F&& see) const {
    for (const Slot& s : slots_)
      if (s.impl && s.kind == BoxKind::tensor) see(*static_cast<const TensorImpl*>(s.impl));
  }
  /// How many slots hold something.
  size_t live() const noexcept;
  /// Frees what no finalizer did. Called once Lua is gone; gives how many that were.
  size_t release_all() noexcept;

 private:
  struct Slot {
    void* impl;
    const void* box;
    uint32_t next;  // in the list of free ones, or of buried ones
    BoxKind kind;
    bool kept = false;
    bool closed_by_scope = false;
    uint32_t serial = 0;  // tells its owners apart
    int closed_line = 0;
    const char* closed_in = nullptr;
  };
  struct Made {
    uint32_t slot, serial;
    const void* thread;
  };
  void clear(uint32_t slot) noexcept;
  void remember(uint32_t slot, const void* thread) noexcept;

  std::vector<Slot> slots_;
  uint32_t free_ = kNone, buried_ = kNone;
  std::vector<Made> made_;
  int scopes_ = 0;
};

}  // namespace rille::lua
