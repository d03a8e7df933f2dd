// Arguments as no caller means them: every kind with values at and beyond its ends, tensors of all
// dtypes, shapes and layouts in memory between walls. What is drawn depends on the seed alone.
#pragma once
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "ops/op_info.h"

namespace rille::misuse {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t word() { return random_(); }
  int64_t between(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  template <class T>
  T any_of(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<int64_t>(list.size()) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

/// Memory of tensors with walls around it, which nothing may write to.
class Walled {
 public:
  ~Walled();
  /// A tensor that looks at such memory: row-major, of any bits.
  Tensor tensor(const Shape& shape, DType dtype, Dice& dice);
  /// The same elements in memory of our own.
  Tensor copy(const Tensor& t);
  /// Whether all walls stand.
  bool whole() const;

 private:
  static constexpr size_t kWall = 256;
  struct Block {
    char* memory;
    size_t bytes;
  };
  std::deque<Block> blocks_;
};

/// Blocks of the allocator of many sizes, which lie between those that kernels are given: a write
/// outside of these meets one.
class Canaries {
 public:
  Canaries();
  bool whole() const;

 private:
  std::vector<Tensor> kept_;
};

/// An integer, mostly one that is much too large or too small.
int64_t any_integer(Dice& dice);
/// A tensor of any dtype, shape, layout and device.
Tensor any_tensor(Dice& dice, Walled& memory);
/// The sample's arguments in memory of our own, with one to three of them exchanged or bent.
void bend(ArgBlock& args, Dice& dice, Walled& memory);
/// All arguments by chance.
void fill(ArgBlock& args, Dice& dice, Walled& memory);
/// "add(x = f32[2, 3], y = 1e+300)"
std::string described(const ArgBlock& args);

}  // namespace rille::misuse
