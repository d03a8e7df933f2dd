// Blocks of a few sizes for Lua's heap. Every result of an op is a box of 40 bytes that Lua
// allocates, and frees soon after: lists of free blocks cost a tenth of what malloc does. Chunks
// are given back when the interpreter ends.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace rille::lua {

class SmallBlocks {
 public:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr size_t kLargest = 0;  // let the sanitizer see each block
#else
  static constexpr size_t kLargest = 128;
#endif
  static bool fits(size_t size) { return size <= kLargest; }
  /// Sizes of one class may be exchanged without a move.
  static size_t class_of(size_t size) { return (size + kStep - 1) / kStep; }

  /// Null where memory can't be had.
  void* take(size_t size) noexcept {
    Free*& list = free_[class_of(size)];
    if (!list) [[unlikely]]
      refill(list, class_of(size) * kStep);
    Free* block = list;
    if (block) list = block->next;
    return block;
  }
  void give(void* p, size_t size) noexcept {
    Free*& list = free_[class_of(size)];
    list = new (p) Free{list};
  }

 private:
  static constexpr size_t kStep = 16, kChunk = size_t{1} << 15;
  struct Free {
    Free* next;
  };
  struct Release {
    void operator()(void* p) const { std::free(p); }
  };

  void refill(Free*& list, size_t size) noexcept;

  Free* free_[128 / kStep + 1] = {};
  std::vector<std::unique_ptr<void, Release>> chunks_;
};

}  // namespace rille::lua
