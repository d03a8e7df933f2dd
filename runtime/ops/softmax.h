// Softmax and its logarithm over one dim. Both keep the result for backward, not the argument; the
// backward kernels are ops of their own, composed where a second derivative is wanted.
#pragma once
#include "ops/op.h"

namespace rille {

/// One dim of a float tensor, in the dtype that is asked for.
struct AlongDim {
  struct Args {
    Tensor x;
    Axis dim{-1};
    std::optional<DType> dtype = {};
  };
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any float tensor"), field("dim", &Args::dim, "the dim to sum over"),
      field("dtype", &Args::dtype, "of the result; x is cast first")};
  static constexpr Autocast autocast = Autocast::f32_out;
};

struct Softmax : AlongDim {
  static constexpr std::string_view name = "softmax";
  static constexpr std::string_view doc =
      "exp(x) over its sum along a dim: positive values that sum to 1.";
  static constexpr std::string_view example = "rille.softmax(rille.tensor{1, 2, 3}, -1)";
  static constexpr bool saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<Softmax>& b);
  static void samples(SampleList& s);
};

struct LogSoftmax : AlongDim {
  static constexpr std::string_view name = "log_softmax";
  static constexpr std::string_view doc =
      "The logarithm of softmax along a dim, without its overflow.";
  static constexpr std::string_view example = "rille.log_softmax(rille.tensor{1, 2, 3}, -1)";
  static constexpr bool saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<LogSoftmax>& b);
  static void samples(SampleList& s);
};

struct Softmin : AlongDim {
  static constexpr std::string_view name = "softmin";
  static constexpr std::string_view doc = "The softmax of -x along a dim.";
  static constexpr std::string_view example = "rille.softmin(rille.tensor{1, 2, 3}, -1)";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// Jang et al., 2017. A hard result is one-hot and has the gradient of the soft one.
struct GumbelSoftmax {
  struct Args {
    Tensor x;
    double tau = 1;
    bool hard = false;
    Axis dim{-1};
    Draw draw = {};
  };
  static constexpr std::string_view name = "gumbel_softmax";
  static constexpr std::string_view doc =
      "Draws from the categories of logits x, relaxed: the softmax of (x + Gumbel noise) / tau. "
      "With hard "
      "a one stands at the largest, and the gradient is that of the soft result.";
  static constexpr std::string_view example = "rille.gumbel_softmax(rille.zeros(2, 3), 0.5)";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "logits"), field("tau", &Args::tau, "temperature"),
      field("hard", &Args::hard, "one-hot results"),
      field("dim", &Args::dim, "the dim of categories"), field("draw", &Args::draw, "numbers")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// dx = y * (dy - sum(y * dy)).
struct SoftmaxGrad {
  struct Args {
    Tensor y, dy;
    Axis dim;
  };
  static constexpr std::string_view name = "softmax_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradient of softmax, from its result.";
  static constexpr auto fields =
      Fields{field("y", &Args::y, "the result"), field("dy", &Args::dy, "its gradient"),
             field("dim", &Args::dim, "the dim summed over").required()};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& dx);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// dx = dy - exp(y) * sum(dy).
struct LogSoftmaxGrad {
  struct Args {
    Tensor y, dy;
    Axis dim;
  };
  static constexpr std::string_view name = "log_softmax_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradient of log_softmax, from its result.";
  static constexpr auto fields =
      Fields{field("y", &Args::y, "the result"), field("dy", &Args::dy, "its gradient"),
             field("dim", &Args::dim, "the dim summed over").required()};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& dx);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

Tensor softmax(const Tensor& x, int64_t dim);
Tensor log_softmax(const Tensor& x, int64_t dim);

}  // namespace rille
