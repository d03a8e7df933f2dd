// Operations on the bits of integers and bools, and on whole numbers. None has a gradient.
#pragma once
#include <numeric>

#include "ops/pointwise.h"

namespace rille {

/// What they share: integer operands, a functor of two int64 without state.
template <class O>
struct OfIntegers {
  struct Args {
    Tensor x, y;
  };
  static constexpr auto fields = Fields{field("x", &Args::x, "an integer or bool tensor").number(),
                                        field("y", &Args::y, "an integer or bool tensor").number()};
  static constexpr bool in_place = true, strided_out = true, differentiable = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct BitwiseAnd : OfIntegers<BitwiseAnd> {
  static constexpr std::string_view name = "bitwise_and";
  static constexpr std::string_view doc = "The bits that both have; on bools, and.";
  static constexpr std::string_view example =
      "rille.bitwise_and(rille.tensor({5, 6}, { dtype = 'i64' }), 3)";
  struct Fn {
    RILLE_HD int64_t operator()(int64_t x, int64_t y) const { return x & y; }
  };
};

struct BitwiseOr : OfIntegers<BitwiseOr> {
  static constexpr std::string_view name = "bitwise_or";
  static constexpr std::string_view doc = "The bits that at least one has; on bools, or.";
  static constexpr std::string_view example =
      "rille.bitwise_or(rille.tensor({5, 6}, { dtype = 'i64' }), 3)";
  struct Fn {
    RILLE_HD int64_t operator()(int64_t x, int64_t y) const { return x | y; }
  };
};

struct BitwiseXor : OfIntegers<BitwiseXor> {
  static constexpr std::string_view name = "bitwise_xor";
  static constexpr std::string_view doc = "The bits that exactly one has; on bools, exclusive or.";
  static constexpr std::string_view example =
      "rille.bitwise_xor(rille.tensor({5, 6}, { dtype = 'i64' }), 3)";
  struct Fn {
    RILLE_HD int64_t operator()(int64_t x, int64_t y) const { return x ^ y; }
  };
};

struct LeftShift : OfIntegers<LeftShift> {
  static constexpr std::string_view name = "bitwise_left_shift";
  static constexpr std::string_view doc =
      "x with its bits moved up by y places; 0 where y is negative or passes the width.";
  static constexpr std::string_view example =
      "rille.bitwise_left_shift(rille.tensor({1, 2}, { dtype = 'i64' }), 3)";
  struct Fn {
    RILLE_HD int64_t operator()(int64_t x, int64_t y) const {
      return y < 0 || y > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << y);
    }
  };
};

struct RightShift : OfIntegers<RightShift> {
  static constexpr std::string_view name = "bitwise_right_shift";
  static constexpr std::string_view doc =
      "x with its bits moved down by y places, the sign filling in.";
  static constexpr std::string_view example =
      "rille.bitwise_right_shift(rille.tensor({16, -16}, { dtype = 'i64' }), 3)";
  struct Fn {
    RILLE_HD int64_t operator()(int64_t x, int64_t y) const {
      return x >> (y < 0 || y > 63 ? 63 : y);
    }
  };
};

/// |x|, which for the smallest integer only an unsigned one holds.
RILLE_HD inline uint64_t magnitude(int64_t x) {
  return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}

struct Gcd : OfIntegers<Gcd> {
  static constexpr std::string_view name = "gcd";
  static constexpr std::string_view doc = "The greatest common divisor of x and y, never negative.";
  static constexpr std::string_view example =
      "rille.gcd(rille.tensor({12, 18}, { dtype = 'i64' }), 8)";
  struct Fn {
    RILLE_HD int64_t operator()(int64_t x, int64_t y) const {
      return static_cast<int64_t>(std::gcd(magnitude(x), magnitude(y)));
    }
  };
};

struct Lcm : OfIntegers<Lcm> {
  static constexpr std::string_view name = "lcm";
  static constexpr std::string_view doc = "The least common multiple of x and y, never negative.";
  static constexpr std::string_view example =
      "rille.lcm(rille.tensor({4, 6}, { dtype = 'i64' }), 10)";
  struct Fn {
    RILLE_HD int64_t operator()(int64_t x, int64_t y) const {
      if (x == 0 || y == 0) return 0;
      const uint64_t a = magnitude(x), b = magnitude(y);
      return static_cast<int64_t>(a / std::gcd(a, b) * b);  // wraps, as products of integers do
    }
  };
};

struct BitwiseNot {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "bitwise_not";
  static constexpr std::string_view doc = "Every bit turned over; on bools, not.";
  static constexpr std::string_view example =
      "rille.bitwise_not(rille.tensor({0, 5}, { dtype = 'i64' }))";
  static constexpr auto fields = Fields{field("x", &Args::x, "an integer or bool tensor")};
  static constexpr bool in_place = true, strided_out = true, differentiable = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

}  // namespace rille
