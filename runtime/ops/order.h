// What needs an order: sort, topk, medians, quantiles, mode. nan is larger than any number; equal
// elements keep their order, so results are the same on every run and for any number of threads.
#pragma once
#include "ops/extreme.h"

namespace rille {

struct Sort {
  struct Args {
    Tensor x;
    Axis dim = {-1};
    bool descending = false, stable = true;
  };
  using Out = Picked;
  static constexpr std::string_view name = "sort";
  static constexpr std::string_view doc =
      "x sorted along a dim, and the ids, from 0, of where each element was. Always stable.";
  static constexpr std::string_view example = "rille.sort(rille.tensor{3, 1, 2})";
  static constexpr auto result_names = kPickedNames;
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "the dim"),
             field("descending", &Args::descending, "largest first"),
             field("stable", &Args::stable, "equal elements keep their order")};
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Out compose(const Args& a) { return picked<Sort>(a); }
  static void samples(SampleList& s);
};

struct Argsort {
  struct Args {
    Tensor x;
    Axis dim = {-1};
    bool descending = false, stable = true;
  };
  static constexpr std::string_view name = "argsort";
  static constexpr std::string_view doc =
      "The ids, from 0, that sort x along a dim. Always stable.";
  static constexpr std::string_view example = "rille.argsort(rille.tensor{3, 1, 2})";
  static constexpr bool differentiable = false;
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "the dim"),
             field("descending", &Args::descending, "largest first"),
             field("stable", &Args::stable, "equal elements keep their order")};
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Msort {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "msort";
  static constexpr std::string_view doc = "x sorted along its first dim.";
  static constexpr std::string_view example = "rille.msort(rille.tensor{3, 1, 2})";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static Tensor compose(const Args& a) { return call<Sort>({.x = a.x, .dim = {0}}).values; }
  static void samples(SampleList& s);
};

struct TopK {
  struct Args {
    Tensor x;
    int64_t k = 1;
    Axis dim = {-1};
    bool largest = true, sorted = true;
  };
  using Out = Picked;
  static constexpr std::string_view name = "topk";
  static constexpr std::string_view doc =
      "The k largest (or smallest) elements along a dim, best first, and their ids from 0.";
  static constexpr std::string_view example = "rille.topk(rille.tensor{3, 1, 2}, 2)";
  static constexpr auto result_names = kPickedNames;
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("k", &Args::k, "how many").required(),
      field("dim", &Args::dim, "the dim"), field("largest", &Args::largest, "false: the smallest"),
      field("sorted", &Args::sorted, "they are sorted in any case")};
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Out compose(const Args& a) { return picked<TopK>(a); }
  static void samples(SampleList& s);
};

struct KthValue {
  struct Args {
    Tensor x;
    int64_t k = 1;
    Axis dim = {-1};
    bool keepdim = false;
  };
  using Out = Picked;
  static constexpr std::string_view name = "kthvalue";
  static constexpr std::string_view doc =
      "The k-th smallest element along a dim, k from 1, and its id from 0.";
  static constexpr std::string_view example = "rille.kthvalue(rille.tensor{3, 1, 2}, 2)";
  static constexpr auto result_names = kPickedNames;
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("k", &Args::k, "which, from 1").required(),
      field("dim", &Args::dim, "the dim"), field("keepdim", &Args::keepdim, "keep it with size 1")};
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Out compose(const Args& a) { return picked<KthValue>(a); }
  static void samples(SampleList& s);
};

struct MedianDim : DimPick<MedianDim> {
  static constexpr std::string_view name = "median_dim", what = "median";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "Medians along a dim, the lower of two, and their ids.";
  static constexpr bool method = false;
  static void cpu(const Args& a, Out& y);
};

struct NanMedianDim : DimPick<NanMedianDim> {
  static constexpr std::string_view name = "nanmedian_dim", what = "median";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "Medians along a dim of what is not nan, and their ids.";
  static constexpr bool method = false;
  static void cpu(const Args& a, Out& y);
};

struct Median : MaybeDimPick<Median> {
  static constexpr std::string_view name = "median";
  static constexpr std::string_view doc =
      "The median, the lower of two; with a dim medians along it, and their ids from 0. nan where "
      "there is a nan.";
  static constexpr std::string_view example = "rille.median(rille.tensor{3, 1, 2})";
  static Out compose(const Args& a);
};

struct NanMedian : MaybeDimPick<NanMedian> {
  static constexpr std::string_view name = "nanmedian";
  static constexpr std::string_view doc =
      "The median of what is not nan; with a dim medians along it, and their ids from 0.";
  static constexpr std::string_view example = "rille.nanmedian(rille.tensor{3, 0/0, 2})";
  static Out compose(const Args& a);
};

struct Mode : DimPick<Mode> {
  static constexpr std::string_view name = "mode", what = "mode";
  static constexpr std::string_view doc =
      "The most frequent element along a dim, the smallest of several, and the id, from 0, of its "
      "last occurrence.";
  static constexpr std::string_view example = "rille.mode(rille.tensor{3, 1, 3})";
  static void cpu(const Args& a, Out& y);
};

// ---- quantiles --------------------------------------------------------------------------------

enum class Interpolation { linear, lower, higher, midpoint, nearest };
constexpr std::array<std::string_view, 5> names_of(Interpolation) {
  return {"linear", "lower", "higher", "midpoint", "nearest"};
}

template <class O>
struct QuantileOf {
  struct Args {
    Tensor x, q;
    std::optional<Axis> dim = {};
    bool keepdim = false;
    Interpolation interpolation = Interpolation::linear;
  };
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"),
             field("q", &Args::q, "from 0 to 1: a number or several").number(),
             field("dim", &Args::dim, "default: all"),
             field("keepdim", &Args::keepdim, "keep reduced dims with size 1"),
             field("interpolation", &Args::interpolation, "between two elements")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Quantile : QuantileOf<Quantile> {
  static constexpr std::string_view name = "quantile";
  static constexpr std::string_view doc =
      "The values that a share q of the elements does not exceed, of all or along a dim. Several q "
      "come first.";
  static constexpr std::string_view example = "rille.quantile(rille.tensor{1, 2, 3, 4}, 0.5)";
  static constexpr bool skip_nan = false;
};

struct NanQuantile : QuantileOf<NanQuantile> {
  static constexpr std::string_view name = "nanquantile";
  static constexpr std::string_view doc = "Quantiles of what is not nan.";
  static constexpr std::string_view example = "rille.nanquantile(rille.tensor{1, 0/0, 3}, 0.5)";
  static constexpr bool skip_nan = true;
};

/// Between which elements of each line the quantiles lie, and how far.
struct QuantileIds {
  struct Args {
    Tensor x, q;
    Axis dim;
    Interpolation interpolation = Interpolation::linear;
    bool skip_nan = false;
  };
  struct Out {
    Tensor low, high, weight;
  };
  static constexpr std::string_view name = "quantile_ids";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "Between which elements of each line quantiles lie, and how far.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("q", &Args::q, "from 0 to 1").number(),
             field("dim", &Args::dim, "the dim"),
             field("interpolation", &Args::interpolation, "between two elements"),
             field("skip_nan", &Args::skip_nan, "leave out nan")};
  static constexpr bool method = false, differentiable = false;
  static std::array<Meta, 3> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static void samples(SampleList& s);
};

}  // namespace rille
