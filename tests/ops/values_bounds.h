// What each op may be off by in the sweep over values, and why where it is more than usual. The
// only place for such bounds.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

#include "ops/values.h"

namespace rille::values {

/// Families that are not measured: they move elements, or add products, which tests/shapes compares
/// with plain loops.
inline constexpr std::array<std::string_view, 19> kNotMeasured{
    "arrange", "attention", "contract", "conv",   "decompose",     "embedding", "fold",
    "index",   "linalg",    "matmul",   "matrix", "pool",          "quantize",  "recurrent",
    "resize",  "scatter",   "shape",    "view",   "scatter_reduce"};

/// Of an op, or of a family: "@loss".
struct Exception {
  std::string_view op;
  Bound f32, narrow;
};

constexpr Judge kSize = Judge::of_size, kArgs = Judge::of_arguments, kPlain = Judge::plain,
                kBoth = Judge::of_both, kNone = Judge::none;
constexpr Range kHalf = Range::half, kQuarter = Range::quarter, kOrdinary = Range::ordinary,
                kApart = Range::apart;

inline constexpr std::array kExceptions{
    // Slopes from the result, which is rounded: sigmoid of 20 is 1.
    Exception{"sigmoid", {4, 4, kPlain, kSize}, {1, 2, kPlain, kSize}},
    Exception{"tanh", {4, 4, kPlain, kSize}, {1, 2, kPlain, kSize}},
    Exception{"expm1", {4, 4, kPlain, kSize}, {1, 2, kPlain, kSize}},
    Exception{"rsqrt", {4, 8}, {1, 4}},
    Exception{"reciprocal", {4, 6}, {1, 3}},
    Exception{"tan", {4, 8}, {1, 3}},
    Exception{"erfinv", {4, 8, kPlain, kArgs}, {1, 10}},
    Exception{"glu", {4, 0, kBoth, kNone, kHalf}, {2, 0, kBoth, kNone, kHalf}},
    // Slopes that pass through 0: what is left of a difference, and x times the rounding of 1 - s.
    Exception{"silu", {4, 24, kPlain, kSize}, {1, 2}},
    Exception{"gelu", {4, 64, kSize, kSize}, {1, 2}},
    Exception{"mish", {4, 6, kPlain, kSize}, {1, 2}},
    Exception{"hardswish", {4, 4, kPlain, kSize}, {1, 2}},
    // exp(-x * x): the square is rounded before.
    Exception{"erf", {4, 4, kPlain, kArgs}, {1, 2}},
    Exception{"erfc", {4, 4, kPlain, kArgs}, {1, 2}},
    // Differences of what is alike, by their definition.
    Exception{"tanhshrink", {4, 6, kSize, kPlain}, {1, 2, kSize, kPlain}},
    Exception{"logit", {4, 6, kArgs, kPlain}, {1, 2}},
    Exception{"logaddexp", {4, 16, kBoth, kArgs}, {1, 2, kBoth, kArgs}},
    Exception{"logaddexp2", {6, 32, kBoth, kArgs}, {1, 2, kBoth, kArgs}},
    Exception{"lerp", {4, 6, kSize, kSize, kHalf}, {1, 2, kSize, kSize, kHalf}},
    Exception{"addcmul", {4, 6, kArgs, kPlain}, {1, 2, kArgs, kPlain}},
    Exception{"addcdiv", {4, 6, kBoth, kPlain}, {16, 2, kBoth, kPlain}},
    Exception{"diff", {4, 4, kArgs, kSize}, {2, 2, kArgs, kSize}},
    // The whole quotient may be beyond the range.
    Exception{"remainder", {4, 6, kPlain, kArgs, kHalf}, {1, 2, kPlain, kArgs, kHalf}},
    Exception{"fmod", {4, 6, kPlain, kArgs, kHalf}, {1, 2, kPlain, kArgs, kHalf}},
    // Products of several factors meet in one order.
    Exception{"prelu", {4, 8, kPlain, kBoth, kHalf}, {1, 8, kPlain, kBoth, kHalf}},
    Exception{"pow", {4, 32, kPlain, kArgs, kOrdinary}, {1, 3, kPlain, kArgs, kOrdinary}},
    Exception{"ldexp", {4, 6, kPlain, kArgs, kOrdinary}, {2, 4, kPlain, kArgs, kOrdinary}},
    Exception{"xlogy", {6, 6}, {1, 3}},
    Exception{"prod", {4, 6, kPlain, kBoth, kOrdinary}, {1, 2, kPlain, kBoth, kOrdinary}},
    Exception{"prod_others", {4, 6, kPlain, kArgs}, {1, 3, kPlain, kArgs}},
    Exception{"signed_pow", {4, 0, kPlain, kNone}, {1, 0, kPlain, kNone}},
    Exception{"sinc", {4, 64, kPlain, kArgs}, {1, 2, kPlain, kArgs}},
    // Sums.
    Exception{"sum", {8, 4, kSize, kPlain, kHalf}, {2, 2, kSize, kPlain, kHalf}},
    Exception{"mean", {8, 4, kSize, kPlain}, {1, 2}},
    Exception{"nansum", {8, 4, kSize, kPlain, kHalf}, {2, 2, kSize, kPlain, kHalf}},
    Exception{"nanmean", {8, 4, kSize, kPlain, kHalf}, {2, 2, kSize, kPlain, kHalf}},
    Exception{"logsumexp", {8, 8, kSize, kSize}, {3, 3, kSize, kSize}},
    Exception{"logcumsumexp", {4, 8, kArgs, kArgs}, {1, 3, kArgs, kArgs}},
    Exception{"var", {8, 16, kArgs, kArgs, kApart}, {1, 2, kArgs, kArgs, kApart}},
    Exception{"std", {8, 1024, kArgs, kBoth, kOrdinary}, {1, 3, kArgs, kBoth, kOrdinary}},
    Exception{"var_mean", {8, 64, kArgs, kArgs, kApart}, {1, 3, kArgs, kArgs, kApart}},
    Exception{"std_mean", {8, 1024, kArgs, kBoth, kOrdinary}, {1, 3, kArgs, kBoth, kOrdinary}},
    Exception{"norm", {4, 8, kPlain, kArgs, kHalf}, {1, 16, kPlain, kArgs, kHalf}},
    Exception{"vector_norm", {4, 8, kPlain, kArgs, kHalf}, {1, 6, kPlain, kArgs, kHalf}},
    Exception{"dist", {4, 8, kPlain, kArgs, kHalf}, {2, 6, kArgs, kArgs, kHalf}},
    Exception{"softmax", {8, 4, kArgs, kSize}, {1, 2, kArgs, kSize}},
    Exception{"softmin", {8, 4, kArgs, kSize}, {1, 2, kArgs, kSize}},
    Exception{"log_softmax", {4, 8, kSize, kSize}, {2, 8, kSize, kSize}},
    Exception{"trapezoid", {4, 8, kBoth, kBoth, kOrdinary}, {4, 4, kBoth, kBoth, kOrdinary}},
    Exception{
        "cumulative_trapezoid", {4, 8, kBoth, kBoth, kOrdinary}, {4, 4, kBoth, kBoth, kOrdinary}},
    Exception{"quantile", {4, 16, kBoth, kArgs}, {4, 8, kBoth, kArgs, kOrdinary}},
    Exception{"nanquantile", {4, 16, kBoth, kArgs}, {4, 8, kBoth, kArgs, kOrdinary}},
    Exception{"rsub", {4, 4, kPlain, kSize}, {1, 2, kPlain, kSize}},
    Exception{"cummin", {4, 4, kPlain, kSize}, {1, 2, kPlain, kSize}},
    Exception{"cummax", {4, 4, kPlain, kSize}, {1, 2, kPlain, kSize}},
    Exception{"as_strided_scatter", {4, 4, kPlain, kSize}, {1, 2, kPlain, kSize}},
    Exception{"hypot", {4, 6}, {1, 2, kPlain, kArgs}},
    Exception{"lgamma", {8, 6, kSize, kPlain}, {1, 2}},
    Exception{"aminmax", {4, 4, kPlain, kSize}, {1, 2, kPlain, kSize}},
    // The default of eps is that of the dtype, so that f64 is another function.
    Exception{"rms_norm", {0, 0, kNone, kNone}, {0, 0, kNone, kNone}},
    // Exponentials of the arguments, times others of them.
    Exception{"ctc_loss", {8, 128, kBoth, kBoth, kOrdinary}, {2, 16, kBoth, kBoth, kOrdinary}},
    Exception{"ctc_losses", {8, 32, kBoth, kBoth, kOrdinary}, {2, 16, kBoth, kBoth, kOrdinary}},
    Exception{
        "bce_with_logits_loss", {8, 64, kBoth, kBoth, kOrdinary}, {2, 16, kBoth, kBoth, kOrdinary}},
    Exception{"multilabel_soft_margin_loss",
              {8, 64, kBoth, kBoth, kOrdinary},
              {2, 16, kBoth, kBoth, kOrdinary}},
    Exception{"multilabel_margin_loss",
              {8, 64, kBoth, kBoth, kOrdinary},
              {2, 16, kBoth, kBoth, kOrdinary}},
    Exception{
        "multi_margin_loss", {8, 64, kBoth, kBoth, kOrdinary}, {2, 64, kBoth, kBoth, kOrdinary}},
    Exception{"cosine_embedding_loss",
              {8, 64, kBoth, kBoth, kOrdinary},
              {2, 16, kBoth, kBoth, kOrdinary}},
    Exception{
        "cosine_similarity", {8, 64, kBoth, kBoth, kOrdinary}, {2, 16, kBoth, kBoth, kOrdinary}},
    Exception{"cross_entropy_rows", {8, 8, kSize, kSize, kQuarter}, {2, 2, kSize, kSize, kQuarter}},
    Exception{"kl_div", {8, 32, kBoth, kBoth, kOrdinary}, {2, 4, kBoth, kBoth, kOrdinary}},
    Exception{
        "poisson_nll_loss", {8, 32, kBoth, kBoth, kOrdinary}, {2, 4, kBoth, kBoth, kOrdinary}},
    Exception{"cross_entropy", {8, 32, kBoth, kBoth, kOrdinary}, {2, 8, kBoth, kBoth, kOrdinary}},
    Exception{
        "triplet_margin_loss", {8, 512, kBoth, kBoth, kOrdinary}, {2, 16, kBoth, kBoth, kOrdinary}},
    // Families: sums and products of sums, in f32, of which a step in between may leave the range.
    Exception{"@loss", {8, 64, kBoth, kBoth, kQuarter}, {2, 16, kBoth, kBoth, kQuarter}},
    Exception{"@norm", {16, 512, kBoth, kBoth, kOrdinary}, {2, 4, kBoth, kBoth, kOrdinary}},
};

inline const Bound* bound_of(const OpInfo& op, DType d) {
  static constexpr Bound wide{4, 6}, narrow{1, 2};
  if (std::find(kNotMeasured.begin(), kNotMeasured.end(), op.family) != kNotMeasured.end())
    return nullptr;
  for (const Exception& e : kExceptions)
    if (e.op == op.name || (e.op.front() == '@' && e.op.substr(1) == op.family))
      return d == DType::f32 ? &e.f32 : &e.narrow;
  return d == DType::f32 ? &wide : &narrow;
}

// ---- f64 against many digits (truth.py) ---------------------------------------------------------

struct TruthBound {
  double value = 4, gradient = 6;
};
struct TruthException {
  std::string_view op;
  TruthBound bound;
};
inline constexpr double kNotJudged = 1e300;
inline constexpr std::array kTruthExceptions{
    // Slopes from the result, which is rounded: sigmoid of 40 is 1.
    TruthException{"sigmoid", {4, kNotJudged}},
    TruthException{"tanh", {4, kNotJudged}},
    TruthException{"expm1", {4, kNotJudged}},
    // The argument of erfc is rounded, and is 36 times as important in the tail; near -0.75 the
    // slope
    // passes through 0.
    TruthException{"gelu", {2000, 1000}},
    // 1 - s has the roundings of s, and is multiplied by x.
    TruthException{"silu", {4, 24}},
    TruthException{"mish", {4, 24}},
    // Rounded are y - x, up to 300, and the exponent less 1.
    TruthException{"logaddexp", {4, 300}},
    TruthException{"pow", {4, 512}},
    // Near 1.46 digamma passes through 0.
    TruthException{"digamma", {32, 6}},
    TruthException{"lgamma", {4, 32}},
};

inline TruthBound truth_bound(std::string_view op) {
  for (const TruthException& e : kTruthExceptions)
    if (e.op == op) return e.bound;
  return {};
}

}  // namespace rille::values
