// Distances between vectors: pair by pair, or of all pairs.
#pragma once
#include "ops/op.h"

namespace rille {

struct PairwiseDistance {
  struct Args {
    Tensor x1, x2;
    double p = 2;
    double eps = 1e-6;
    bool keepdim = false;
  };
  static constexpr std::string_view name = "pairwise_distance";
  static constexpr std::string_view doc =
      "The norm of x1 - x2 + eps over the last dim, with broadcasting.";
  static constexpr std::string_view example =
      "rille.pairwise_distance(rille.tensor{{1, 2}}, rille.tensor{{4, 6}})";
  static constexpr auto fields = Fields{
      field("x1", &Args::x1, "[..., width]"), field("x2", &Args::x2, "broadcasts with x1"),
      field("p", &Args::p, "of the norm"), field("eps", &Args::eps, "added to each difference"),
      field("keepdim", &Args::keepdim, "keep the last dim with size 1")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Cdist {
  struct Args {
    Tensor x1, x2;
    double p = 2;
  };
  static constexpr std::string_view name = "cdist";
  static constexpr std::string_view doc =
      "The distances of each row of x1 to each row of x2, for each matrix of a batch.";
  static constexpr std::string_view example =
      "rille.cdist(rille.tensor{{0, 0}, {3, 4}}, rille.tensor{{0, 0}})";
  static constexpr auto fields =
      Fields{field("x1", &Args::x1, "[..., n, width]").saved(),
             field("x2", &Args::x2, "[..., m, width]; the first dims broadcast").saved(),
             field("p", &Args::p, "of the norm; 0 counts differences")};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<Cdist>& b);
  static void samples(SampleList& s);
};

struct Pdist {
  struct Args {
    Tensor x;
    double p = 2;
  };
  static constexpr std::string_view name = "pdist";
  static constexpr std::string_view doc =
      "The distances of all pairs of rows: those above the diagonal of cdist(x, x), row by row.";
  static constexpr std::string_view example = "rille.pdist(rille.tensor{{0, 0}, {3, 4}, {6, 8}})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[n, width]"), field("p", &Args::p, "of the norm")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
