#include "interpreter/lua/heap.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lua.hpp>
#include <new>
#include <string_view>

#include "interpreter/lua/bounded_libraries.h"
#include "interpreter/lua/box.h"
#include "interpreter/lua/limits.h"
#include "interpreter/lua/printable.h"

namespace rille::lua {
namespace {

// Lua answers a failed allocation with a collection and a second try, so it takes two in a row
// before a script gets an error.
bool fails(Stress& s) {
  if (s.fail_at == 0) return false;
  ++s.allocations;
  const int64_t past = s.allocations - s.fail_at;
  if (past < 0) return false;
  const int64_t place = s.repeat ? past % s.fail_at : past;
  if (s.fail_count != 0 && place >= s.fail_count) return false;
  ++s.failures;
  return true;
}

void* fresh(SmallBlocks& small, size_t size) {
  return SmallBlocks::fits(size) ? small.take(size) : std::malloc(size);
}

void release(SmallBlocks& small, void* block, size_t size) {
  if (SmallBlocks::fits(size))
    small.give(block, size);
  else
    std::free(block);
}

void* resize(SmallBlocks& small, void* block, size_t old_size, size_t size) {
  const bool was_small = SmallBlocks::fits(old_size), is_small = SmallBlocks::fits(size);
  if (!was_small && !is_small) return std::realloc(block, size);
  if (was_small && is_small && SmallBlocks::class_of(old_size) == SmallBlocks::class_of(size))
    return block;
  void* moved = fresh(small, size);
  if (!moved) return size <= old_size ? block : nullptr;  // Lua relies on blocks that shrink
  std::memcpy(moved, block, std::min(old_size, size));
  release(small, block, old_size);
  return moved;
}

// A userdata lies at the end of its block. What another object has there may look like a box, but
// the list knows of none at that address.
void bury_box(Owned& owned, const void* block, size_t size) {
  if (size < sizeof(Box)) return;
  const char* at = static_cast<const char*>(block) + size - sizeof(Box);
  Box box;
  std::memcpy(&box, at, sizeof box);
  if (box.tag == Box::tag_of(BoxKind::tensor)) owned.bury(box.slot, at);
}

// Without a block, old_size is what kind of object it will be.
void* allocate(void* interpreter, void* block, size_t old_size, size_t size) {
  Interpreter& in = *static_cast<Interpreter*>(interpreter);
  if (size == 0) {
    if (!block) return nullptr;
    bury_box(in.owned, block, old_size);
    release(in.small_blocks, block, old_size);
    return nullptr;
  }
  if ((!block || size > old_size) && fails(in.stress)) return nullptr;
  return block ? resize(in.small_blocks, block, old_size, size) : fresh(in.small_blocks, size);
}

// What one instruction works on must be of moderate length where a run has to end in time: a
// string, which Lua copies and compares whole, and the keys of a table, which it all moves when the
// table grows (Lua asks for the room of keys as of no kind, in a new block).
bool is_too_long(Interpreter& in, const void* block, size_t kind, size_t size) {
  constexpr int64_t kHead = 64;  // what Lua keeps before a string, at most
  if (block || in.policy.time_limit <= 0 || !in.budget->running()) return false;
  const int64_t most = kind == LUA_TSTRING ? kLongestTimed + kHead
                       : kind == 0         ? kLongestKeys
                                           : INT64_MAX;
  const auto bytes = static_cast<int64_t>(size);
  if (bytes <= most) return false;
  in.budget->refuse_block(bytes, kind == LUA_TSTRING ? kLongestTimed : kLongestKeys);
  return true;
}

void note_size(Interpreter& in, const void* block, size_t old_size, size_t size) {
  if (in.policy.time_limit <= 0) return;
  if (in.block_sizes.add(size)) look_soon(in);
  if (block) in.block_sizes.remove(old_size);
}

constexpr size_t kMoved = size_t{1} << 20;

// What a block takes with what is lost around it.
int64_t taken(size_t size) {
  constexpr size_t kStep = 16;
  return static_cast<int64_t>((size + kStep - 1) / kStep * kStep +
                              (SmallBlocks::fits(size) ? 0 : kStep));
}

// The same under a budget, which counts every byte. Lua answers a refusal with a collection, and
// counts on blocks that shrink.
void* allocate_counted(void* interpreter, void* block, size_t old_size, size_t size) {
  Interpreter& in = *static_cast<Interpreter*>(interpreter);
  Budget& budget = *in.budget;
  const int64_t grown = (size > 0 ? taken(size) : 0) - (block ? taken(old_size) : 0);
  if (grown <= 0) {
    budget.shrink_heap(-grown);
    note_size(in, block, old_size, size);
    return allocate(interpreter, block, old_size, size);
  }
  if (is_too_long(in, block, old_size, size)) return nullptr;
  // A large block may have to be copied: then both are there for a moment.
  const int64_t copied = block && old_size >= kMoved ? taken(old_size) : 0;
  if (!budget.grow_heap(grown + copied, static_cast<int64_t>(size))) return nullptr;
  void* made = allocate(interpreter, block, old_size, size);
  if (copied > 0) budget.shrink_heap(copied);
  if (made)
    note_size(in, block, old_size, size);
  else
    budget.shrink_heap(grown);
  return made;
}

// Lua warns of errors in finalizers, in pieces; it says of an error object only that it is none of
// its strings.
void warn(void* interpreter, const char* piece, int more) {
  Interpreter& in = *static_cast<Interpreter*>(interpreter);
  if (in.policy.sandbox) return;  // a stranger's words are not for the host's terminal
  if (!in.warned) {
    if (!more && piece[0] == '@') return;  // a control message
    std::fputs("rille: warning: ", in.log);
  }
  const bool object = std::strcmp(piece, "error object is not a string") == 0;
  try {
    const auto text = object && !in.last_error.empty() ? std::string_view(in.last_error) : piece;
    std::fputs((in.hosted ? printable(text) : reported(text)).c_str(), in.log);
  } catch (const std::bad_alloc&) {  // the rest of the line, then
  }
  if (!more) std::fputc('\n', in.log);
  in.warned = more != 0;
}

int panic(lua_State* L) {
  const char* text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error object";
  std::fprintf(stderr, "rille: an error outside of any protected call: %s\n", text);
  return 0;
}

}  // namespace

void SmallBlocks::refill(Free*& list, size_t size) noexcept {
  std::unique_ptr<void, Release> chunk(std::malloc(kChunk));
  if (!chunk) return;
  char* at = static_cast<char*>(chunk.get());
  try {
    chunks_.push_back(std::move(chunk));
  } catch (const std::bad_alloc&) {
    return;
  }
  for (size_t i = kChunk / size; i-- > 0;) list = new (at + i * size) Free{list};
}

lua_State* new_state(Interpreter& in) {
  lua_State* L = lua_newstate(in.budget ? allocate_counted : allocate, &in);
  if (!L) return nullptr;
  in.owns_heap = true;
  lua_atpanic(L, panic);
  lua_setwarnf(L, warn, &in);
  return L;
}

}  // namespace rille::lua
