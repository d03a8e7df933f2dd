// Random tensors. Element i of the k-th random op under a seed is always the same number, whatever
// the threads and the device (core/philox.h). The path hands each op its draw in a hidden field.
#pragma once
#include "ops/op.h"

namespace rille {

// ---- from nothing
// --------------------------------------------------------------------------------

/// What is drawn into nothing but a shape.
struct Drawn {
  struct Args {
    Sizes shape;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
    Draw draw = {};
  };
  static constexpr auto fields =
      Fields{field("shape", &Args::shape, "sizes"),
             field("dtype", &Args::dtype, "default: the default dtype"),
             field("device", &Args::device, "default: the default device"),
             field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false;
};

struct Rand : Drawn {
  static constexpr std::string_view name = "rand";
  static constexpr std::string_view doc = "A tensor of that shape, uniform in [0, 1).";
  static constexpr std::string_view example = "rille.rand(2, 3)";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Randn : Drawn {
  static constexpr std::string_view name = "randn";
  static constexpr std::string_view doc =
      "A tensor of that shape, normal with mean 0 and deviation 1.";
  static constexpr std::string_view example = "rille.randn(2, 3)";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Randint {
  struct Args {
    int64_t low = 0, high = 0;
    Sizes shape;
    DType dtype = DType::i64;
    std::optional<Device> device = {};
    Draw draw = {};
  };
  static constexpr std::string_view name = "randint";
  static constexpr std::string_view doc =
      "A tensor of whole numbers from low to high, both included.";
  static constexpr std::string_view example = "rille.randint(1, 6, {2, 3})";
  static constexpr auto fields =
      Fields{field("low", &Args::low, "the least").required(),
             field("high", &Args::high, "the greatest").required(),
             field("shape", &Args::shape, "sizes"),
             field("dtype", &Args::dtype, "of the result"),
             field("device", &Args::device, "default: the default device"),
             field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Randperm {
  struct Args {
    int64_t n = 0;
    DType dtype = DType::i64;
    std::optional<Device> device = {};
    Draw draw = {};
  };
  static constexpr std::string_view name = "randperm";
  static constexpr std::string_view doc = "The ids 0 to n - 1 in a random order.";
  static constexpr std::string_view example = "rille.randperm(5)";
  static constexpr auto fields = Fields{
      field("n", &Args::n, "how many").required(), field("dtype", &Args::dtype, "of the result"),
      field("device", &Args::device, "default: the default device"),
      field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Normal {
  struct Args {
    Tensor mean;
    std::optional<Tensor> std = {};
    std::optional<Sizes> shape = {};
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
    Draw draw = {};
  };
  static constexpr std::string_view name = "normal";
  static constexpr std::string_view doc =
      "Normal numbers with a mean and a deviation, each a number or a tensor of them; the shape is "
      "theirs unless one is given.";
  static constexpr std::string_view example = "rille.normal(0, 2, {2, 3})";
  static constexpr auto fields =
      Fields{field("mean", &Args::mean, "a number or a tensor").number(),
             field("std", &Args::std, "deviation: a number or a tensor; default: 1").number(),
             field("shape", &Args::shape, "sizes"),
             field("dtype", &Args::dtype, "default: that of mean and std"),
             field("device", &Args::device, "default: theirs"),
             field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false, differentiable = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

/// True with probability p in each place: what dropout drops.
struct RandomMask {
  struct Args {
    Sizes shape;
    double p = 0.5;
    std::optional<Device> device = {};
    Draw draw = {};
  };
  static constexpr std::string_view name = "random_mask";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "A bool tensor, true with probability p.";
  static constexpr std::string_view example = "rille.random_mask({2, 3}, 0.25)";
  static constexpr auto fields = Fields{
      field("shape", &Args::shape, "sizes").required(), field("p", &Args::p, "probability of true"),
      field("device", &Args::device, "default: the default device"),
      field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false, differentiable = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

// ---- shaped like a tensor
// ------------------------------------------------------------------------

struct DrawnLike {
  struct Args {
    Tensor x;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
    Draw draw = {};
  };
  static constexpr auto fields = Fields{field("x", &Args::x, "gives shape, dtype and device"),
                                        field("dtype", &Args::dtype, "default: that of x"),
                                        field("device", &Args::device, "default: that of x"),
                                        field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false, differentiable = false;
};

struct RandLike : DrawnLike {
  static constexpr std::string_view name = "rand_like";
  static constexpr std::string_view doc = "A tensor shaped as x, uniform in [0, 1).";
  static constexpr std::string_view example = "rille.rand_like(rille.zeros(2, 3))";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct RandnLike : DrawnLike {
  static constexpr std::string_view name = "randn_like";
  static constexpr std::string_view doc =
      "A tensor shaped as x, normal with mean 0 and deviation 1.";
  static constexpr std::string_view example = "rille.randn_like(rille.zeros(2, 3))";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct RandintLike {
  struct Args {
    Tensor x;
    int64_t low = 0, high = 0;
    std::optional<DType> dtype = {};
    std::optional<Device> device = {};
    Draw draw = {};
  };
  static constexpr std::string_view name = "randint_like";
  static constexpr std::string_view doc =
      "A tensor shaped as x of whole numbers from low to high, both included.";
  static constexpr std::string_view example = "rille.randint_like(rille.zeros(2, 3), 1, 6)";
  static constexpr auto fields = Fields{field("x", &Args::x, "gives shape, dtype and device"),
                                        field("low", &Args::low, "the least").required(),
                                        field("high", &Args::high, "the greatest").required(),
                                        field("dtype", &Args::dtype, "default: that of x"),
                                        field("device", &Args::device, "default: that of x"),
                                        field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false, differentiable = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// Base of t:name_(...): every element is drawn anew, so that no gradient goes through.
template <class O>
struct Redraw {
  static constexpr bool in_place = true, strided_out = true;
  template <class A>
  static Meta infer(const A& a);
  template <class A>
  static void cpu(const A& a, Tensor& y);
  template <class B>
  static auto grad(const B& b) -> typename B::Args;
};

struct Uniform : Redraw<Uniform> {
  struct Args {
    Tensor x;
    double low = 0, high = 1;
    Draw draw = {};
  };
  static constexpr std::string_view name = "uniform";
  static constexpr std::string_view doc = "Numbers shaped as x, uniform in [low, high).";
  static constexpr std::string_view example = "rille.zeros(2, 3):uniform_(-1, 1)";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "a float tensor"), field("low", &Args::low, "the least"),
      field("high", &Args::high, "above the greatest"), field("draw", &Args::draw, "numbers")};
  static void check(const Args& a);
  static void fill(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct NormalLike : Redraw<NormalLike> {
  struct Args {
    Tensor x;
    double mean = 0, std = 1;
    Draw draw = {};
  };
  static constexpr std::string_view name = "normal_like";
  static constexpr const char* in_place_name = "normal_";
  static constexpr std::string_view doc =
      "Numbers shaped as x, normal with that mean and deviation.";
  static constexpr std::string_view example = "rille.zeros(2, 3):normal_(0, 0.02)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "a float tensor"), field("mean", &Args::mean, "of all numbers"),
             field("std", &Args::std, "their deviation"), field("draw", &Args::draw, "numbers")};
  static void check(const Args& a);
  static void fill(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Exponential : Redraw<Exponential> {
  struct Args {
    Tensor x;
    double rate = 1;
    Draw draw = {};
  };
  static constexpr std::string_view name = "exponential";
  static constexpr std::string_view doc =
      "Numbers shaped as x with the density rate * exp(-rate * y).";
  static constexpr std::string_view example = "rille.zeros(2, 3):exponential_(2)";
  static constexpr auto fields = Fields{field("x", &Args::x, "a float tensor"),
                                        field("rate", &Args::rate, "one over the mean"),
                                        field("draw", &Args::draw, "numbers")};
  static void check(const Args& a);
  static void fill(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

// ---- by probabilities
// ----------------------------------------------------------------------------

struct Bernoulli {
  struct Args {
    Tensor x;
    std::optional<Tensor> p = {};
    Draw draw = {};
  };
  static constexpr std::string_view name = "bernoulli";
  static constexpr std::string_view doc =
      "1 with probability x in each place, else 0. With p, a number or a tensor, x gives only the "
      "shape.";
  static constexpr std::string_view example = "rille.bernoulli(rille.tensor{0.1, 0.9})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "probabilities, or any tensor where p is given"),
             field("p", &Args::p, "probabilities").number(), field("draw", &Args::draw, "numbers")};
  static constexpr bool in_place = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Bernoulli>& b);
  static void samples(SampleList& s);
};

struct Multinomial {
  struct Args {
    Tensor x;
    int64_t count = 1;
    bool replacement = false;
    Draw draw = {};
  };
  static constexpr std::string_view name = "multinomial";
  static constexpr std::string_view doc =
      "Ids drawn with the probabilities in each row of x, which need not sum to 1.";
  static constexpr std::string_view example = "rille.multinomial(rille.tensor{0.1, 0.2, 0.7}, 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "weights, [n] or [rows, n]"),
             field("count", &Args::count, "draws a row"),
             field("replacement", &Args::replacement, "an id may be drawn again"),
             field("draw", &Args::draw, "numbers")};
  static constexpr bool differentiable = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

Tensor random_mask(const Shape& shape, double p, Device device, const Draw& draw);

}  // namespace rille
