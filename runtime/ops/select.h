// Choosing between values: the larger, the smaller, one or the other by a condition. Gradients
// follow PyTorch: equal arguments of maximum and minimum share theirs, and so do x and a tensor
// that limits it; at a number as a limit x has none.
#pragma once
#include "ops/pointwise.h"

namespace rille {

struct Where {
  struct Args {
    Tensor condition, x, y;
  };
  static constexpr std::string_view name = "where";
  static constexpr std::string_view doc =
      "x where the condition is true, else y, with broadcasting.";
  static constexpr std::string_view example = "rille.where(rille.tensor{1, -2}:gt(0), 1, 0)";
  static constexpr auto fields =
      Fields{field("condition", &Args::condition, "a bool tensor").saved(),
             field("x", &Args::x, "any tensor or number").number(),
             field("y", &Args::y, "any tensor or number").number()};
  static constexpr bool broadcasts = true, method = false, narrow = true;
  static constexpr Autocast autocast = Autocast::follow;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Where>& b);
  static void samples(SampleList& s);
};

struct MaskedFill {
  struct Args {
    Tensor x, mask, value;
  };
  static constexpr std::string_view name = "masked_fill";
  static constexpr std::string_view doc =
      "value where the mask is true, else x, with broadcasting.";
  static constexpr std::string_view example =
      "rille.masked_fill(rille.tensor{1, -2}, rille.tensor{1, -2}:lt(0), 0)";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("mask", &Args::mask, "a bool tensor").saved(),
      field("value", &Args::value, "a number or a 0-d tensor").number()};
  static constexpr bool in_place = true, strided_out = true, broadcasts = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<MaskedFill>& b);
  static void samples(SampleList& s);
};

/// Without a bound on one side the limit is infinite.
struct Clamp {
  struct Args {
    Tensor x;
    std::optional<Tensor> min{}, max{};
  };
  static constexpr std::string_view name = "clamp";
  static constexpr std::string_view doc =
      "x between min and max, each a number, a tensor or left out; max wins.";
  static constexpr std::string_view example = "rille.clamp(rille.tensor{-3, 0, 3}, -1, 1)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor").saved(),
                                        field("min", &Args::min, "lower limit").number().saved(),
                                        field("max", &Args::max, "upper limit").number().saved()};
  static constexpr bool in_place = true, strided_out = true, broadcasts = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Clamp>& b);
  static void samples(SampleList& s);
};

struct ClampMin {
  struct Args {
    Tensor x, min;
  };
  static constexpr std::string_view name = "clamp_min";
  static constexpr std::string_view doc = "x, but min where it is below.";
  static constexpr std::string_view example = "rille.clamp_min(rille.tensor{-3, 3}, 0)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("min", &Args::min, "lower limit").number()};
  static constexpr bool in_place = true;
  static Tensor compose(const Args& a) { return call<Clamp>({.x = a.x, .min = a.min}); }
  static void samples(SampleList& s);
};

struct ClampMax {
  struct Args {
    Tensor x, max;
  };
  static constexpr std::string_view name = "clamp_max";
  static constexpr std::string_view doc = "x, but max where it is above.";
  static constexpr std::string_view example = "rille.clamp_max(rille.tensor{-3, 3}, 0)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("max", &Args::max, "upper limit").number()};
  static constexpr bool in_place = true;
  static Tensor compose(const Args& a) { return call<Clamp>({.x = a.x, .max = a.max}); }
  static void samples(SampleList& s);
};

struct Maximum : Binary<Maximum> {
  static constexpr std::string_view name = "maximum";
  static constexpr std::string_view doc = "The larger of x and y; nan where either is nan.";
  static constexpr std::string_view example = "rille.maximum(rille.tensor{1, 5}, 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool in_place = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return x != x || x > y ? x : y;
    }
  };
  static Args grad(const Back<Maximum>& b);
  static void samples(SampleList& s);
};

struct Minimum : Binary<Minimum> {
  static constexpr std::string_view name = "minimum";
  static constexpr std::string_view doc = "The smaller of x and y; nan where either is nan.";
  static constexpr std::string_view example = "rille.minimum(rille.tensor{1, 5}, 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool in_place = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return x != x || x < y ? x : y;
    }
  };
  static Args grad(const Back<Minimum>& b);
  static void samples(SampleList& s);
};

struct FMax : Binary<FMax> {
  static constexpr std::string_view name = "fmax";
  static constexpr std::string_view doc = "The larger of x and y; the other one where one is nan.";
  static constexpr std::string_view example = "rille.fmax(rille.tensor{1, 5}, 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool in_place = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return y != y || x >= y ? x : y;
    }
  };
  static Args grad(const Back<FMax>& b);
  static void samples(SampleList& s);
};

struct FMin : Binary<FMin> {
  static constexpr std::string_view name = "fmin";
  static constexpr std::string_view doc = "The smaller of x and y; the other one where one is nan.";
  static constexpr std::string_view example = "rille.fmin(rille.tensor{1, 5}, 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number().saved(),
             field("y", &Args::y, "any tensor or number").number().saved()};
  static constexpr bool in_place = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return y != y || x <= y ? x : y;
    }
  };
  static Args grad(const Back<FMin>& b);
  static void samples(SampleList& s);
};

/// x where the condition is true, else y.
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
/// x, but `value` where the mask is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

}  // namespace rille
