// Losses of distances and margins, and the similarities that they are made of. As in loss.h they
// are written in other ops, compute in f32 or f64 and take equal shapes; losses use its checks.
#pragma once
#include "ops/cross_entropy.h"

namespace rille {

struct HingeEmbeddingLoss {
  struct Args {
    Tensor x, target;
    double margin = 1;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "hinge_embedding_loss";
  static constexpr std::string_view doc =
      "x where the target is 1, max(0, margin - x) where it is -1.";
  static constexpr std::string_view example =
      "rille.hinge_embedding_loss(rille.tensor{0.2, 0.5}, rille.tensor{-1, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "distances"), field("target", &Args::target, "like x: 1 or -1"),
             field("margin", &Args::margin, "distance that is far enough"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MarginRankingLoss {
  struct Args {
    Tensor x1, x2, target;
    double margin = 0;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "margin_ranking_loss";
  static constexpr std::string_view doc =
      "max(0, margin - target * (x1 - x2)): x1 should rank higher where the target is 1.";
  static constexpr std::string_view example =
      "rille.margin_ranking_loss(rille.ones(2), rille.zeros(2), rille.tensor{-1, 1})";
  static constexpr auto fields =
      Fields{field("x1", &Args::x1, "any float tensor"), field("x2", &Args::x2, "like x1"),
             field("target", &Args::target, "like x1: 1 or -1"),
             field("margin", &Args::margin, "by how much to rank higher"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct TripletMarginLoss {
  struct Args {
    Tensor anchor, positive, negative;
    double margin = 1;
    double p = 2;
    double eps = 1e-6;
    bool swap = false;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "triplet_margin_loss";
  static constexpr std::string_view doc =
      "max(0, margin + |anchor - positive| - |anchor - negative|), norms over the last dim.";
  static constexpr std::string_view example =
      "rille.triplet_margin_loss(rille.tensor{{1, 2}}, rille.tensor{{2, 1}}, rille.ones(1, 2))";
  static constexpr auto fields = Fields{
      field("anchor", &Args::anchor, "[..., width]"),
      field("positive", &Args::positive, "like anchor"),
      field("negative", &Args::negative, "like anchor"),
      field("margin", &Args::margin, "distance that is far enough"),
      field("p", &Args::p, "of the norm"),
      field("eps", &Args::eps, "added to each difference"),
      field("swap", &Args::swap, "uses the distance of positive and negative where it is less"),
      field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct CosineEmbeddingLoss {
  struct Args {
    Tensor x1, x2, target;
    double margin = 0;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "cosine_embedding_loss";
  static constexpr std::string_view doc =
      "1 - cosine where the target is 1, max(0, cosine - margin) where it is -1.";
  static constexpr std::string_view example =
      "rille.cosine_embedding_loss(rille.tensor{{1, 2}}, rille.tensor{{2, 1}}, rille.tensor{1})";
  static constexpr auto fields =
      Fields{field("x1", &Args::x1, "[n, width] or [width]"), field("x2", &Args::x2, "like x1"),
             field("target", &Args::target, "[n] or a single one: 1 or -1"),
             field("margin", &Args::margin, "cosine that is low enough"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MultiMarginLoss {
  struct Args {
    Tensor x, target;
    int64_t p = 1;
    double margin = 1;
    std::optional<Tensor> weight = {};
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "multi_margin_loss";
  static constexpr std::string_view doc =
      "The sum over the other classes of max(0, margin - x[target] + x[class])^p, divided by the "
      "classes.";
  static constexpr std::string_view example =
      "rille.multi_margin_loss(rille.tensor{{1, 2, 3}}, rille.tensor({0}, { dtype = 'i64' }))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, classes] or [classes]"),
             field("target", &Args::target, "ids from 0: [n] or a single one"),
             field("p", &Args::p, "1 or 2"),
             field("margin", &Args::margin, "by how much the target should lead"),
             field("weight", &Args::weight, "of each class"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MultilabelMarginLoss {
  struct Args {
    Tensor x, target;
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "multilabel_margin_loss";
  static constexpr std::string_view doc =
      "The sum of max(0, 1 - x[label] + x[class]) over the labels of a row, up to the first -1, "
      "and "
      "the classes that are none of them, divided by the classes.";
  static constexpr std::string_view example =
      "rille.multilabel_margin_loss(rille.tensor{1, 2, 3}, rille.tensor({2, -1, 0}, { dtype = "
      "'i64' }))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, classes] or [classes]"),
             field("target", &Args::target, "like x: label ids from 0, then -1"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MultilabelSoftMarginLoss {
  struct Args {
    Tensor x, target;
    std::optional<Tensor> weight = {};
    LossReduction reduction = LossReduction::mean;
  };
  static constexpr std::string_view name = "multilabel_soft_margin_loss";
  static constexpr std::string_view doc =
      "bce_with_logits_loss averaged over the classes of each row.";
  static constexpr std::string_view example =
      "rille.multilabel_soft_margin_loss(rille.tensor{{-2, 3}}, rille.tensor{{0, 1}})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "logits, [..., classes]"),
             field("target", &Args::target, "like x: 1 for labels, else 0"),
             field("weight", &Args::weight, "of each class"),
             field("reduction", &Args::reduction, "what becomes of the single losses")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct CosineSimilarity {
  struct Args {
    Tensor x1, x2;
    Axis dim{1};
    double eps = 1e-8;
  };
  static constexpr std::string_view name = "cosine_similarity";
  static constexpr std::string_view doc =
      "The cosine of the angle between x1 and x2 along a dim, with broadcasting.";
  static constexpr std::string_view example =
      "rille.cosine_similarity(rille.tensor{{1, 2}}, rille.tensor{{2, 1}})";
  static constexpr auto fields = Fields{
      field("x1", &Args::x1, "any float tensor"), field("x2", &Args::x2, "broadcasts with x1"),
      field("dim", &Args::dim, "along which vectors lie"), field("eps", &Args::eps, "least norm")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Normalize {
  struct Args {
    Tensor x;
    double p = 2;
    Axis dim{1};
    double eps = 1e-12;
  };
  static constexpr std::string_view name = "normalize";
  static constexpr std::string_view doc = "x divided by its norm along a dim.";
  static constexpr std::string_view example = "rille.normalize(rille.tensor{{3, 4}})";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any float tensor"), field("p", &Args::p, "of the norm"),
      field("dim", &Args::dim, "along which vectors lie"), field("eps", &Args::eps, "least norm")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
