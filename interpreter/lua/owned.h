// What the boxes of one interpreter own, kept outside of Lua: Lua can lose a finalizer (it runs out
// of C levels or memory while calling it), and then this list still frees what the box held when
// the interpreter closes. A box has a slot from when it is made; put and give raise nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rille::lua {

enum class BoxKind : uint16_t { tensor = 1, object = 2 };

class Owned {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// A free slot, or kNone where memory for one more can't be had.
  uint32_t take() noexcept;
  void put(uint32_t slot, BoxKind kind, void* impl) noexcept {
    slots_[slot].impl = impl;
    slots_[slot].kind = kind;
  }
  /// The slot is free again; whoever calls this frees what it held.
  void give(uint32_t slot) noexcept {
    slots_[slot] = {nullptr, free_, BoxKind::tensor};
    free_ = slot;
  }
  /// How many slots hold something.
  size_t live() const noexcept;
  /// Frees what no finalizer did. Called once Lua is gone; gives how many that were.
  size_t release_all() noexcept;

 private:
  struct Slot {
    void* impl;
    uint32_t next;  // in the list of free ones
    BoxKind kind;
  };
  std::vector<Slot> slots_;
  uint32_t free_ = kNone;
};

/// Frees what a box held.
void release(BoxKind kind, void* impl) noexcept;

}  // namespace rille::lua
