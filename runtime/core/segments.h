// Large blocks: pieces of address space in order of address. A freed piece joins its free
// neighbours, whatever mapping they came from; a request takes the smallest piece that fits and
// leaves the rest. Memory is asked for in huge pages. What is kept free is bounded by what was in
// use lately: past that, whole huge pages go back to the system.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace rille::memory {

/// The most bytes that were in use lately. "Lately" is counted in bytes taken, not in time, so that
/// a program that rests keeps its memory and the same program always does the same.
class Lately {
 public:
  /// After `bytes` were taken, which made it `in_use`. True where an epoch ended, after eight times
  /// what was in use: then a peak that did not come again may be forgotten.
  bool note(size_t bytes, size_t in_use);
  size_t most() const { return before_ > now_ ? before_ : now_; }

 private:
  size_t now_ = 0, before_ = 0, taken_ = 0;
};

class Segments {
 public:
  static constexpr size_t kGrain = size_t{1} << 12;  // blocks are multiples of it
  static constexpr size_t kHuge = size_t{2} << 20;   // mappings are

  /// At least `bytes` bytes; null where the system has none left.
  void* take(size_t bytes);
  void give(void* block) noexcept;
  /// Gives every whole huge page that is free back to the system.
  void trim() noexcept;
  size_t reserved() const;

 private:
  using Free = std::set<std::pair<size_t, char*>>;
  // While a piece is taken it keeps the node that it will be free with: giving back can't fail.
  struct Piece {
    size_t bytes = 0;
    Free::node_type node;
    bool is_free() const { return node.empty(); }
  };
  using Pieces = std::map<char*, Piece>;

  Pieces::iterator add(char* at, size_t bytes);  // a taken piece
  void hold(Pieces::iterator it) noexcept;
  void release(Pieces::iterator it) noexcept;
  bool grow(size_t bytes);
  char* map(size_t bytes);
  void shrink(size_t to) noexcept;
  void give_back(Pieces::iterator it) noexcept;
  size_t bound() const {
    if (refused_) return in_use_ + kSlack;
    return lately_.most() + lately_.most() / 16 + kSlack;
  }

  static constexpr size_t kSlack = size_t{32} << 20;
  mutable std::mutex mutex_;
  Pieces pieces_;
  Free free_;
  size_t reserved_ = 0, in_use_ = 0;
  bool refused_ = false;  // by the system, in this epoch: others need what we would keep
  Lately lately_;
};

}  // namespace rille::memory
