// Cross-entropy of logits against class ids or class probabilities, fused: neither forward nor
// backward makes anything of the size of the logits but their gradient.
#pragma once
#include "ops/op.h"

namespace rille {

enum class LossReduction { mean, sum, none };
constexpr std::array<std::string_view, 3> names_of(LossReduction) {
  return {"mean", "sum", "none"};
}

struct CrossEntropy {
  struct Args {
    Tensor x, target;
    std::optional<Tensor> weight = {};
    int64_t ignore = -100;
    double label_smoothing = 0;
    LossReduction reduction = LossReduction::mean;
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "cross_entropy";
  static constexpr std::string_view doc =
      "-log softmax(x) of the target class, averaged; classes are dim 2 (dim 1 of a single row). "
      "Where "
      "every target is ignored the loss is 0.";
  static constexpr std::string_view example =
      "rille.cross_entropy(rille.tensor{{1, 2, 3}}, rille.tensor({0}, { dtype = 'i64' }))";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "[classes], [n, classes] or [n, classes, ...]"),
      field("target", &Args::target,
            "ids from 0 without the dim of classes, or probabilities like x"),
      field("weight", &Args::weight, "of each class"),
      field("ignore", &Args::ignore, "target id to leave out"),
      field("label_smoothing", &Args::label_smoothing, "share spread over all classes, 0 to 1"),
      field("reduction", &Args::reduction, "what becomes of the single losses"),
      field("dtype", &Args::dtype, "of the result; default: that of x")};
  static constexpr Autocast autocast = Autocast::f32_out;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// The fused one: [n, classes] against ids. The weight takes no gradient here.
struct CrossEntropyRows {
  struct Args {
    Tensor x, target;
    std::optional<Tensor> weight = {};
    int64_t ignore = -100;
    double label_smoothing = 0;
    LossReduction reduction = LossReduction::mean;
    std::optional<DType> dtype = {};
  };
  struct Saved {
    Tensor lse, total;
  };  // lse: as CrossEntropyGrad takes it; total: what a mean divides by
  static constexpr std::string_view name = "cross_entropy_rows";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "Cross-entropy of a matrix of logits against class ids.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, classes]").saved(),
             field("target", &Args::target, "[n], i64").saved(),
             field("weight", &Args::weight, "of each class").saved(),
             field("ignore", &Args::ignore, "target id to leave out"),
             field("label_smoothing", &Args::label_smoothing, "share spread over all classes"),
             field("reduction", &Args::reduction, "what becomes of the single losses"),
             field("dtype", &Args::dtype, "of the result")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static std::array<Meta, 2> saved_meta(const Args& a);
  static void cpu(const Args& a, Tensor& y, Saved* saved);
  static Tensor compose(const Args& a);
  static Args grad(const Back<CrossEntropyRows>& b);
  static void samples(SampleList& s);
};

/// dx = scale * (gradient of each row's loss); scale is [n] or 0-d.
struct CrossEntropyGrad {
  struct Args {
    Tensor x, target, lse, scale;
    std::optional<Tensor> weight = {};
    int64_t ignore = -100;
    double label_smoothing = 0;
  };
  static constexpr std::string_view name = "cross_entropy_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradient of cross_entropy_rows.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, classes]"),
             field("target", &Args::target, "[n], i64"),
             field("lse", &Args::lse, "[n, 2], of each row maximum and logsumexp without it"),
             field("scale", &Args::scale, "of each row, or of all"),
             field("weight", &Args::weight, "of each class"),
             field("ignore", &Args::ignore, "target id to leave out"),
             field("label_smoothing", &Args::label_smoothing, "share spread over all classes")};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& dx);
  static Tensor compose(const Args& a);
  static void samples(SampleList&) {}
};

Tensor cross_entropy(const Tensor& x, const Tensor& target);
/// The losses of single elements brought together.
Tensor reduce_loss(const Tensor& losses, LossReduction reduction);

}  // namespace rille
