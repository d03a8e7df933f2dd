// How large the blocks of Lua's heap are. One instruction of Lua works on one or two of them: it
// compares, joins or hashes strings, moves a table that grows, copies a stack. So the largest says
// how long an instruction may take, and how soon before its end a run must be looked at.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rille::lua {

class BlockSizes {
 public:
  static constexpr size_t kFrom = 4096;  // what is smaller takes some microseconds
  // Comparing two strings that are all zeros takes the longest for its bytes: 8 ns each.
  static constexpr double kSecondsPerByte = 1e-8;

  /// Whether it is larger, by its power of two, than all that are there.
  bool add(size_t bytes) noexcept {
    if (bytes < kFrom) return false;
    const auto power = static_cast<int>(std::bit_width(bytes));
    ++counts_[power];
    if (power <= top_) return false;
    top_ = power;
    return true;
  }
  void remove(size_t bytes) noexcept {
    if (bytes < kFrom) return;
    --counts_[static_cast<int>(std::bit_width(bytes))];
    while (top_ > 0 && counts_[top_] == 0) --top_;
  }
  /// How long one instruction may take, in seconds.
  double slowest_instruction() const noexcept {
    return top_ == 0 ? 0 : static_cast<double>(int64_t{1} << top_) * kSecondsPerByte;
  }

 private:
  int64_t counts_[65] = {};
  int top_ = 0;
};

}  // namespace rille::lua
