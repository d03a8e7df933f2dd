// Losses beyond cross-entropy, each written in other ops. They compute in f32 (f64 where an
// argument is f64) and check their arguments at the top. Shapes must be equal unless a field says
// otherwise: what broadcasts by accident is the commonest wrong loss. Those of distances and
// margins are in margin_loss.h.
#pragma once
#include "ops/cross_entropy.h"

namespace rille {

/// A loss of each element and its target, with no options of its own.
struct ElementLoss {
  struct Args {
    Tensor x, target;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("target", &Args::target, "like x"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
};

struct MseLoss : ElementLoss {
  static constexpr std::string_view name = "mse_loss";
  static constexpr std::string_view doc = "(x - target)^2.";
  static constexpr std::string_view example =
      "rille.mse_loss(rille.tensor{0.2, 0.5}, rille.tensor{0, 1})";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct L1Loss : ElementLoss {
  static constexpr std::string_view name = "l1_loss";
  static constexpr std::string_view doc = "|x - target|.";
  static constexpr std::string_view example =
      "rille.l1_loss(rille.tensor{0.2, 0.5}, rille.tensor{0, 1})";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct SmoothL1Loss {
  struct Args {
    Tensor x, target;
    LossReduction reduction = LossReduction::mean;
    double beta = 1;
  };
  static constexpr std::string_view name = "smooth_l1_loss";
  static constexpr std::string_view doc =
      "(x - target)^2 / (2 * beta) where the difference is below beta, else it less beta / 2.";
  static constexpr std::string_view example =
      "rille.smooth_l1_loss(rille.tensor{0.2, 0.5}, rille.tensor{0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("target", &Args::target, "like x"),
             field("reduction", &Args::reduction, "what becomes of the single losses"),
             field("beta", &Args::beta, "where the line begins; 0 is l1_loss")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct HuberLoss {
  struct Args {
    Tensor x, target;
    LossReduction reduction = LossReduction::mean;
    double delta = 1;
  };
  static constexpr std::string_view name = "huber_loss";
  static constexpr std::string_view doc =
      "(x - target)^2 / 2 where the difference is below delta, else delta * (it - delta / 2).";
  static constexpr std::string_view example =
      "rille.huber_loss(rille.tensor{0.2, 0.5}, rille.tensor{0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("target", &Args::target, "like x"),
             field("reduction", &Args::reduction, "what becomes of the single losses"),
             field("delta", &Args::delta, "where the line begins")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct BceLoss {
  struct Args {
    Tensor x, target;
    std::optional<Tensor> weight = {};
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "bce_loss";
  static constexpr std::string_view doc =
      "-(target * log(x) + (1 - target) * log(1 - x)) of probabilities x, from 0 to 1; no log is "
      "below -100.";
  static constexpr std::string_view example =
      "rille.bce_loss(rille.tensor{0.2, 0.5}, rille.tensor{0, 1})";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "probabilities"), field("target", &Args::target, "like x, from 0 to 1"),
      field("weight", &Args::weight, "of each element; broadcasts to x"),
      field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::banned;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// Its single losses. The gradient is bounded where x is 0 or 1.
struct BceElements {
  struct Args {
    Tensor x, target;
  };
  static constexpr std::string_view name = "bce_elements";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "Binary cross-entropy of each probability.";
  static constexpr auto fields = Fields{field("x", &Args::x, "probabilities").saved(),
                                        field("target", &Args::target, "like x").saved()};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<BceElements>& b);
  static void samples(SampleList& s);
};

struct BceWithLogitsLoss {
  struct Args {
    Tensor x, target;
    std::optional<Tensor> weight = {};
    LossReduction reduction = LossReduction::mean;
    std::optional<Tensor> pos_weight = {};
  };
  static constexpr std::string_view name = "bce_with_logits_loss";
  static constexpr std::string_view doc = "bce_loss of sigmoid(x), exact for large logits too.";
  static constexpr std::string_view example =
      "rille.bce_with_logits_loss(rille.tensor{-2, 3}, rille.tensor{0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "logits"), field("target", &Args::target, "like x, from 0 to 1"),
             field("weight", &Args::weight, "of each element; broadcasts to x"),
             field("reduction", &Args::reduction, "what becomes of the single losses"),
             field("pos_weight", &Args::pos_weight, "of the targets that are 1; broadcasts to x")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct NllLoss {
  struct Args {
    Tensor x, target;
    std::optional<Tensor> weight = {};
    int64_t ignore = -100;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "nll_loss";
  static constexpr std::string_view doc =
      "-x of the target class, x being log-probabilities; classes are dim 2 (dim 1 of a single "
      "row). Where "
      "every target is ignored the loss is 0.";
  static constexpr std::string_view example =
      "rille.nll_loss(rille.log_softmax(rille.tensor{{1, 2, 3}}, 2), rille.tensor({0}, { dtype = "
      "'i64' }))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[classes], [n, classes] or [n, classes, ...]"),
             field("target", &Args::target, "ids from 0 without the dim of classes"),
             field("weight", &Args::weight, "of each class"),
             field("ignore", &Args::ignore, "target id to leave out"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

enum class KlReduction { mean, sum, none, batchmean };
constexpr std::array<std::string_view, 4> names_of(KlReduction) {
  return {"mean", "sum", "none", "batchmean"};
}

struct KlDiv {
  struct Args {
    Tensor x, target;
    KlReduction reduction = KlReduction::mean;
    bool log_target = false;
  };
  static constexpr std::string_view name = "kl_div";
  static constexpr std::string_view doc = "target * (log(target) - x), x being log-probabilities.";
  static constexpr std::string_view example =
      "rille.kl_div(rille.tensor{0.5, 0.5}:log(), rille.tensor{0.2, 0.8}, { reduction = 'sum' })";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "log-probabilities"),
             field("target", &Args::target, "probabilities like x"),
             field("reduction", &Args::reduction, "'batchmean' divides the sum by dim 1"),
             field("log_target", &Args::log_target, "the target is log-probabilities, too")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct PoissonNllLoss {
  struct Args {
    Tensor x, target;
    bool log_input = true;
    bool full = false;
    double eps = 1e-8;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "poisson_nll_loss";
  static constexpr std::string_view doc =
      "exp(x) - target * x, or x - target * log(x + eps) where x is the rate itself.";
  static constexpr std::string_view example =
      "rille.poisson_nll_loss(rille.tensor{0.2, 0.5}, rille.tensor{0, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"),
             field("target", &Args::target, "like x"),
             field("log_input", &Args::log_input, "x is the logarithm of the rate"),
             field("full", &Args::full, "adds Stirling's approximation of log(target!)"),
             field("eps", &Args::eps, "keeps log(0) away"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct GaussianNllLoss {
  struct Args {
    Tensor x, target, var;
    bool full = false;
    double eps = 1e-6;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "gaussian_nll_loss";
  static constexpr std::string_view doc = "(log(var) + (x - target)^2 / var) / 2.";
  static constexpr std::string_view example =
      "rille.gaussian_nll_loss(rille.tensor{0.2, 0.5}, rille.tensor{0, 1}, rille.ones(2))";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any float tensor"),
      field("target", &Args::target, "broadcasts to x"),
      field("var", &Args::var, "like x, or without its last dim, or that of size 1").number(),
      field("full", &Args::full, "adds log(2 * pi) / 2"),
      field("eps", &Args::eps, "least variance"),
      field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct SoftMarginLoss : ElementLoss {
  static constexpr std::string_view name = "soft_margin_loss";
  static constexpr std::string_view doc = "log(1 + exp(-target * x)), targets being 1 or -1.";
  static constexpr std::string_view example =
      "rille.soft_margin_loss(rille.tensor{0.2, 0.5}, rille.tensor{-1, 1})";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// What the losses share: arguments checked and in the type to compute in.
struct LossTerms {
  Tensor x, target;
  DType dtype;  // of the result
};
LossTerms loss_terms(const Tensor& x, const Tensor& target);
/// Throws E_DTYPE unless it is a float.
void check_loss_input(const Tensor& t, std::string_view name);
/// Throws E_SHAPE unless the second has the shape of the first.
void check_same_shape(const Tensor& x, const Tensor& y, std::string_view x_name,
                      std::string_view y_name);
/// Throws E_SHAPE unless there is one float for each class.
void check_class_weight(const std::optional<Tensor>& weight, int64_t classes);
/// Ids in i64, of that shape; else E_DTYPE or E_SHAPE.
Tensor class_ids(const Tensor& target, const Shape& shape);

}  // namespace rille
