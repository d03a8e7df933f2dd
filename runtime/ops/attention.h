// Scaled dot product attention, fused: the scores exist one block at a time. Backward keeps the
// result and one number a query.
#pragma once
#include "ops/op.h"

namespace rille {

struct ScaledDotProductAttention {
  struct Args {
    Tensor q, k, v;
    std::optional<Tensor> mask = {};
    bool causal = false;
    double dropout = 0;
    std::optional<double> scale = {};
    bool groups = false;
    Draw draw = {};
  };
  struct Saved {
    Tensor lse;
  };
  static constexpr std::string_view name = "scaled_dot_product_attention";
  static constexpr std::string_view doc =
      "softmax(q k' * scale + mask) v. A boolean mask is true where a query may look; a query that "
      "may "
      "look nowhere gives 0.";
  static constexpr std::string_view example =
      "rille.scaled_dot_product_attention(rille.randn(2, 4, 8), rille.randn(2, 4, 8), "
      "rille.randn(2, 4, 8), "
      "{ causal = true })";
  static constexpr auto fields =
      Fields{field("q", &Args::q, "[..., heads, queries, width]").saved(),
             field("k", &Args::k, "[..., heads, keys, width]").saved(),
             field("v", &Args::v, "[..., heads, keys, width of the result]").saved(),
             field("mask", &Args::mask,
                   "bool, or floats that are added; broadcasts to [..., heads, queries, keys]")
                 .saved(),
             field("causal", &Args::causal, "query i looks at keys 1 to i"),
             field("dropout", &Args::dropout, "probability of dropping a weight"),
             field("scale", &Args::scale, "default: 1 / sqrt(width)"),
             field("groups", &Args::groups, "k and v have fewer heads, each for a group of q's"),
             field("draw", &Args::draw, "numbers")};
  static constexpr Autocast autocast = Autocast::lower;
  static constexpr bool saves_output = true, method = false;
  static Meta infer(const Args& a);
  static double flops(const Args& a);
  static std::array<Meta, 1> saved_meta(const Args& a);
  static void cpu(const Args& a, Tensor& y, Saved* saved);
  static Tensor compose(const Args& a);
  static Args grad(const Back<ScaledDotProductAttention>& b);
  static void samples(SampleList& s);
};

/// Gradients in the shapes that q, k and v broadcast to.
struct AttentionGrad {
  struct Args {
    Tensor q, k, v, y, dy, lse;
    std::optional<Tensor> mask = {};
    bool causal = false;
    double dropout = 0;
    std::optional<double> scale = {};
    bool groups = false;
    Draw draw = {};
  };
  struct Out {
    Tensor dq, dk, dv;
  };
  static constexpr std::string_view name = "attention_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradients of scaled_dot_product_attention.";
  static constexpr auto fields =
      Fields{field("q", &Args::q, "queries"),
             field("k", &Args::k, "keys"),
             field("v", &Args::v, "values"),
             field("y", &Args::y, "the result"),
             field("dy", &Args::dy, "its gradient"),
             field("lse", &Args::lse, "logsumexp of the scores of each query"),
             field("mask", &Args::mask, "as given"),
             field("causal", &Args::causal, "as given"),
             field("dropout", &Args::dropout, "as given"),
             field("scale", &Args::scale, "as given"),
             field("groups", &Args::groups, "as given"),
             field("draw", &Args::draw, "numbers")};
  static constexpr bool method = false;
  static std::array<Meta, 3> infer(const Args& a);
  static double flops(const Args& a);
  static void cpu(const Args& a, Out& out);
  static Out compose(const Args& a);
  static void samples(SampleList&) {}
};

}  // namespace rille
