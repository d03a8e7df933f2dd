// Blocks of tensors from kRemembered bytes on: those that live, and when the last ones were made
// and freed. What says whose the memory is asks here, for much of it hangs on the tape, which no
// list of a script's tensors holds. A block belongs to the context that it was made under.
#pragma once
#include <cstdint>
#include <vector>

#include "core/storage.h"

namespace rille {

struct Context;

namespace memory {

struct Block {
  const Storage* storage = nullptr;  // to compare
  uint64_t serial = 0;
  int64_t bytes = 0;
  const char* made_by = nullptr;
  Site made_at;
};

struct BlockEvent {
  uint64_t serial = 0;
  int64_t bytes = 0;      // negative: it was freed
  int64_t allocated = 0;  // by all tensors, after it
  double seconds = 0;     // of the steady clock
  const char* made_by = nullptr;
  Site made_at;
  const Context* made_under = nullptr;
};

/// So many events are kept, the newest.
inline constexpr size_t kEvents = 8192;

void block_made(const Storage& s, const Context& under);
void block_freed(const Storage& s) noexcept;
/// A context ends: what it leaves belongs to none.
void forget_blocks(const Context& of) noexcept;

std::vector<Block> live_blocks(const Context& of);
/// In the order in which they happened. The maker of a block that lives is in live_blocks.
std::vector<BlockEvent> block_events(const Context& of);

}  // namespace memory
}  // namespace rille
