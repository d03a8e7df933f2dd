#include "core/segments.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

namespace rille::memory {
namespace {

constexpr size_t up(size_t n, size_t grain) { return (n + grain - 1) / grain * grain; }
char* up(char* p, size_t grain) {
  return p + (grain - reinterpret_cast<uintptr_t>(p) % grain) % grain;
}
char* down(char* p, size_t grain) { return p - reinterpret_cast<uintptr_t>(p) % grain; }

}  // namespace

bool Lately::note(size_t bytes, size_t in_use) {
  constexpr size_t kEpoch = 8;
  now_ = std::max(now_, in_use);
  taken_ += bytes;
  if (taken_ < kEpoch * most()) return false;
  before_ = std::exchange(now_, in_use);
  taken_ = 0;
  return true;
}

void* Segments::take(size_t bytes) {
  bytes = up(bytes, kGrain);
  const std::lock_guard lock(mutex_);
  try {
    auto fit = free_.lower_bound({bytes, nullptr});
    if (fit == free_.end()) {
      if (!grow(bytes)) return nullptr;
      fit = free_.lower_bound({bytes, nullptr});
    }
    const auto [size, at] = *fit;
    const auto rest = size > bytes ? add(at + bytes, size - bytes) : pieces_.end();
    const auto it = pieces_.find(at);
    hold(it);
    it->second.bytes = bytes;
    if (rest != pieces_.end()) release(rest);
    in_use_ += bytes;
    if (lately_.note(bytes, in_use_)) {
      refused_ = false;
      shrink(bound());
    }
    return at;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Segments::give(void* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = pieces_.find(static_cast<char*>(block));
  in_use_ -= it->second.bytes;
  release(it);
  if (refused_) shrink(bound());
}

void Segments::trim() noexcept {
  const std::lock_guard lock(mutex_);
  shrink(0);
}

size_t Segments::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

Segments::Pieces::iterator Segments::add(char* at, size_t bytes) {
  Free one{{bytes, at}};
  return pieces_.try_emplace(at, Piece{bytes, one.extract(one.begin())}).first;
}

void Segments::hold(Pieces::iterator it) noexcept {
  it->second.node = free_.extract({it->second.bytes, it->first});
}

void Segments::release(Pieces::iterator it) noexcept {
  const auto next = std::next(it);
  if (next != pieces_.end() && next->second.is_free() &&
      it->first + it->second.bytes == next->first) {
    it->second.bytes += next->second.bytes;
    hold(next);
    pieces_.erase(next);
  }
  if (it != pieces_.begin()) {
    const auto before = std::prev(it);
    if (before->second.is_free() && before->first + before->second.bytes == it->first) {
      hold(before);
      before->second.bytes += it->second.bytes;
      pieces_.erase(it);
      it = before;
    }
  }
  it->second.node.value() = {it->second.bytes, it->first};
  free_.insert(std::move(it->second.node));
}

bool Segments::grow(size_t bytes) {
  const size_t want = up(bytes, kHuge);
  // Room that is free, but in pieces too small, makes way: the total stays near what is in use.
  const size_t most = std::max(bound(), in_use_ + want);
  if (reserved_ + want > most) shrink(most - want);
  char* at = map(want);
  refused_ = refused_ || !at;
  if (!at) return false;
  try {
    release(add(at, want));
  } catch (const std::bad_alloc&) {
    munmap(at, want);
    throw;
  }
  reserved_ += want;
  return true;
}

// On the boundary of a huge page, next to the mapping before where the system agrees.
char* Segments::map(size_t bytes) {
  const auto ask = [](void* at, size_t n) {
    void* raw = mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return raw == MAP_FAILED ? nullptr : static_cast<char*>(raw);
  };
  char* lowest = pieces_.empty() ? nullptr : down(pieces_.begin()->first, kHuge);
  char* hint = bytes < reinterpret_cast<uintptr_t>(lowest) ? lowest - bytes : nullptr;
  char* at = ask(hint, bytes);
  if (at && at != up(at, kHuge)) {
    munmap(at, bytes);
    at = ask(nullptr, bytes + kHuge);
    if (!at) return nullptr;
    char *begin = up(at, kHuge), *end = at + bytes + kHuge;
    if (begin > at) munmap(at, static_cast<size_t>(begin - at));
    if (end > begin + bytes) munmap(begin + bytes, static_cast<size_t>(end - (begin + bytes)));
    at = begin;
  }
  if (at) madvise(at, bytes, MADV_HUGEPAGE);
  return at;
}

// Gives whole huge pages that are free back, from the largest pieces, until no more than `to` bytes
// are reserved.
void Segments::shrink(size_t to) noexcept {
  std::pair<size_t, char*> below{SIZE_MAX, nullptr};
  while (reserved_ > to) {
    auto largest = free_.lower_bound(below);
    if (largest == free_.begin() || (--largest)->first < kHuge) return;
    below = *largest;
    give_back(pieces_.find(below.second));
  }
}

// The ends of a piece that are no whole huge page stay.
void Segments::give_back(Pieces::iterator it) noexcept {
  char *at = it->first, *until = at + it->second.bytes;
  char *begin = up(at, kHuge), *end = down(until, kHuge);
  if (begin >= end) return;
  auto tail = pieces_.end();
  try {
    if (end < until) tail = add(end, static_cast<size_t>(until - end));
  } catch (const std::bad_alloc&) {
    return;
  }
  const size_t whole = static_cast<size_t>(end - begin);
  if (munmap(begin, whole) != 0) {
    if (tail != pieces_.end()) pieces_.erase(tail);
    return;
  }
  reserved_ -= whole;
  hold(it);
  it->second.bytes = static_cast<size_t>(begin - at);
  if (it->second.bytes > 0)
    release(it);
  else
    pieces_.erase(it);
  if (tail != pieces_.end()) release(tail);
}

}  // namespace rille::memory
