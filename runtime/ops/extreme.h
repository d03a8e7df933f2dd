// The largest and the smallest: values over dims (amax), values with their places along a dim
// (max_dim), places alone (argmax). Ids count from 0; the first of equal elements is meant; nan
// counts as more extreme than any number.
#pragma once
#include "ops/reduce.h"

namespace rille {

// ---- ops that pick elements -------------------------------------------------------------------

/// Values of x and the ids along a dim where they stand.
struct Picked {
  Tensor values, ids;
};
inline constexpr std::array<std::string_view, 2> kPickedNames{"values", "ids"};

/// The elements of x at `ids` along dim; a dim that ids lack is put in and taken out again.
Tensor pick(const Tensor& x, int64_t dim, const Tensor& ids);
/// Metas of values and ids of that shape.
std::array<Meta, 2> picked_meta(const Tensor& x, const Shape& shape);
/// Shape of one element for each line along dim. Throws E_SHAPE where the dim is empty.
Shape one_each(const Tensor& x, const Axis& dim, bool keepdim, std::string_view what);
/// A dim, or all of them.
Axes dim_or_all(const std::optional<Axis>& dim);
/// x as one row.
Tensor flat(const Tensor& x);

/// An op that picks elements means: find the ids, then gather. So its gradient is that of gather,
/// and only the ids are kept for it.
template <class O, class A>
Picked picked(const A& a) {
  Tensor ids;
  {
    const NoGrad search;
    ids = call<O>(a).ids;
  }
  return {pick(a.x, a.dim.value, ids), ids};
}

/// One element for each line along a dim.
template <class O>
struct DimPick {
  struct Args {
    Tensor x;
    Axis dim = {-1};
    bool keepdim = false;
  };
  using Out = Picked;
  static constexpr auto result_names = kPickedNames;
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "the dim"),
             field("keepdim", &Args::keepdim, "keep it with size 1")};
  static std::array<Meta, 2> infer(const Args& a) {
    return picked_meta(a.x, one_each(a.x, a.dim, a.keepdim, O::what));
  }
  static Out compose(const Args& a) { return picked<O>(a); }
  static void samples(SampleList& s) {
    add_sample<O>(s, {.x = grid({3, 4}, -1.3, 2.1)});
    add_sample<O>(s, {.x = strided(grid({2, 5, 3}, -1.3, 2.1)), .dim = {1}, .keepdim = true});
    add_sample<O>(s, {.x = grid({}, -1.3, 2.1)});
    add_sample<O>(s, {.x = rille::ids({2, 7}, 4)});
    add_sample<O>(s, {.x = grid({0, 2}, -1.3, 2.1)});
  }
};

/// Without a dim one value, with a dim values and ids: max, min, median.
struct MaybeDim {
  Tensor x;
  std::optional<Axis> dim = {};
  bool keepdim = false;
};
template <class O>
struct MaybeDimPick {
  using Args = MaybeDim;
  using Out = std::vector<Tensor>;
  static constexpr auto fields =
      Fields{field("x", &MaybeDim::x, "any tensor"),
             field("dim", &MaybeDim::dim, "default: all of x, and values only"),
             field("keepdim", &MaybeDim::keepdim, "keep the dim with size 1")};
  static constexpr auto result_names = kPickedNames;
  static void samples(SampleList& s) {
    add_sample<O>(s, {.x = grid({3, 4}, -1.3, 2.1)});
    add_sample<O>(s, {.x = strided(grid({2, 5, 3}, -1.3, 2.1)), .dim = Axis{1}, .keepdim = true});
    add_sample<O>(s, {.x = grid({}, -1.3, 2.1)});
  }
};

// ---- the ops ----------------------------------------------------------------------------------

struct Amax : Reduction<Amax> {
  static constexpr std::string_view name = "amax";
  static constexpr std::string_view doc =
      "The largest element, of all or along the dims given; equal ones share the gradient.";
  static constexpr std::string_view example = "rille.amax(rille.tensor{{1, 4}, {3, 2}}, 2)";
  static constexpr bool saves_output = true;
  static uint64_t saves(const Args&, uint64_t) { return 1; }
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Amax>& b);
};

struct Amin : Reduction<Amin> {
  static constexpr std::string_view name = "amin";
  static constexpr std::string_view doc =
      "The smallest element, of all or along the dims given; equal ones share the gradient.";
  static constexpr std::string_view example = "rille.amin(rille.tensor{{1, 4}, {3, 2}}, 2)";
  static constexpr bool saves_output = true;
  static uint64_t saves(const Args&, uint64_t) { return 1; }
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Amin>& b);
};

struct MaxDim : DimPick<MaxDim> {
  static constexpr std::string_view name = "max_dim", what = "maximum";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The largest elements along a dim, and their ids.";
  static constexpr bool method = false;
  static void cpu(const Args& a, Out& y);
};

struct MinDim : DimPick<MinDim> {
  static constexpr std::string_view name = "min_dim", what = "minimum";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The smallest elements along a dim, and their ids.";
  static constexpr bool method = false;
  static void cpu(const Args& a, Out& y);
};

struct Max : MaybeDimPick<Max> {
  static constexpr std::string_view name = "max";
  static constexpr std::string_view doc =
      "The largest element; with a dim the largest along it, and their ids from 0.";
  static constexpr std::string_view example = "rille.max(rille.tensor{{1, 4}, {3, 2}}, 2)";
  static Out compose(const Args& a);
};

struct Min : MaybeDimPick<Min> {
  static constexpr std::string_view name = "min";
  static constexpr std::string_view doc =
      "The smallest element; with a dim the smallest along it, and their ids from 0.";
  static constexpr std::string_view example = "rille.min(rille.tensor{{1, 4}, {3, 2}}, 2)";
  static Out compose(const Args& a);
};

/// Ids of one element for each line, or of one of all.
template <class O>
struct ArgReduction {
  struct Args {
    Tensor x;
    std::optional<Axis> dim = {};
    bool keepdim = false;
  };
  static constexpr bool differentiable = false;
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "default: all of x, as one row"),
      field("keepdim", &Args::keepdim, "keep reduced dims with size 1")};
  static Meta infer(const Args& a);
  static void samples(SampleList& s);
};

struct Argmax : ArgReduction<Argmax> {
  static constexpr std::string_view name = "argmax", what = "maximum";
  static constexpr std::string_view doc =
      "The id, from 0, of the largest element: of all of them as one row, or along a dim.";
  static constexpr std::string_view example = "rille.argmax(rille.tensor{1, 5, 2})";
  static void cpu(const Args& a, Tensor& y);
};

struct Argmin : ArgReduction<Argmin> {
  static constexpr std::string_view name = "argmin", what = "minimum";
  static constexpr std::string_view doc =
      "The id, from 0, of the smallest element: of all of them as one row, or along a dim.";
  static constexpr std::string_view example = "rille.argmin(rille.tensor{1, 5, 2})";
  static void cpu(const Args& a, Tensor& y);
};

struct Aminmax {
  struct Args {
    Tensor x;
    std::optional<Axis> dim = {};
    bool keepdim = false;
  };
  struct Out {
    Tensor min, max;
  };
  static constexpr std::string_view name = "aminmax";
  static constexpr std::string_view doc =
      "The smallest and the largest element, of all or along a dim.";
  static constexpr std::string_view example = "rille.aminmax(rille.tensor{1, 5, 2})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "default: all"),
             field("keepdim", &Args::keepdim, "keep reduced dims with size 1")};
  static constexpr std::array<std::string_view, 2> result_names{"min", "max"};
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
