// Sets, counts and places: unique elements, histograms, binary search. Where a result's shape
// depends on values the kernel makes it.
#pragma once
#include "ops/op.h"

namespace rille {

/// Arguments and the kernel of the unique ops.
struct UniqueParts {
  struct Args {
    Tensor x;
    std::optional<Axis> dim = {};
    bool consecutive = false;
  };
  struct Out {
    Tensor values, inverse, counts;
  };
  static constexpr std::string_view name = "unique_parts";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "The different elements, for each of x which it is, and how often each occurs.";
  static constexpr std::string_view no_gradient = "the number of different values changes in jumps";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "compare the parts of x along it"),
             field("consecutive", &Args::consecutive, "only neighbours are compared")};
  static constexpr bool method = false, dynamic = true;
  static std::array<Meta, 3> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static void samples(SampleList& s);
};

struct Unique {
  struct Args {
    Tensor x;
    bool sorted = true, return_inverse = false, return_counts = false;
    std::optional<Axis> dim = {};
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "unique";
  static constexpr std::string_view doc =
      "The different elements in ascending order, or, with dim, the different parts of x along it; "
      "on demand also "
      "the id of each element among them, from 0, and how often each occurs.";
  static constexpr std::string_view example =
      "rille.unique(rille.tensor{3, 1, 3}, { return_counts = true })";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("sorted", &Args::sorted, "they are sorted in any case"),
             field("return_inverse", &Args::return_inverse, "also the ids"),
             field("return_counts", &Args::return_counts, "also the counts"),
             field("dim", &Args::dim, "default: x as one row")};
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct UniqueConsecutive {
  struct Args {
    Tensor x;
    bool return_inverse = false, return_counts = false;
    std::optional<Axis> dim = {};
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "unique_consecutive";
  static constexpr std::string_view doc =
      "x with runs of equal neighbours made one; ids and counts as unique gives them.";
  static constexpr std::string_view example = "rille.unique_consecutive(rille.tensor{1, 1, 2, 1})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("return_inverse", &Args::return_inverse, "also the ids"),
             field("return_counts", &Args::return_counts, "also the counts"),
             field("dim", &Args::dim, "default: x as one row")};
  static Out compose(const Args& a);
  static void samples(SampleList& s);
};

struct Bincount {
  struct Args {
    Tensor x;
    std::optional<Tensor> weights = {};
    int64_t minlength = 0;
  };
  static constexpr std::string_view name = "bincount";
  static constexpr std::string_view doc =
      "How often each number from 0 to the largest occurs, or the sums of their weights.";
  static constexpr std::string_view example =
      "rille.bincount(rille.tensor({0, 2, 2}, { dtype = 'i64' }))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "integers from 0, one dim").saved(),
             field("weights", &Args::weights, "as many; default: 1 each"),
             field("minlength", &Args::minlength, "the result has at least so many elements")};
  static constexpr bool dynamic = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Bincount>& b);
  static void samples(SampleList& s);
};

struct Histc {
  struct Args {
    Tensor x;
    int64_t bins = 100;
    double min = 0, max = 0;
  };
  static constexpr std::string_view name = "histc";
  static constexpr std::string_view doc =
      "How many elements lie in each of some equal parts of [min, max]; both 0 means the range of "
      "x.";
  static constexpr std::string_view example = "rille.histc(rille.tensor{1, 2, 1}, 4, 0, 3)";
  static constexpr std::string_view no_gradient = "counts change in jumps";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("bins", &Args::bins, "number of parts"),
             field("min", &Args::min, "where the first begins"),
             field("max", &Args::max, "where the last ends")};
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct SearchSorted {
  struct Args {
    Tensor sorted, values;
    bool right = false, out_int32 = false;
  };
  static constexpr std::string_view name = "searchsorted";
  static constexpr std::string_view doc =
      "Where, from 0, each value would go into a sorted line: before elements equal to it, or "
      "behind them with right.";
  static constexpr std::string_view example =
      "rille.searchsorted(rille.tensor{1, 3, 5}, rille.tensor{3, 4})";
  static constexpr bool differentiable = false;
  static constexpr auto fields =
      Fields{field("sorted", &Args::sorted, "one ascending line, or one for each line of values"),
             field("values", &Args::values, "any tensor or number").number(),
             field("right", &Args::right, "behind equal elements"),
             field("out_int32", &Args::out_int32, "i32 instead of i64")};
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Bucketize {
  struct Args {
    Tensor x, boundaries;
    bool right = false, out_int32 = false;
  };
  static constexpr std::string_view name = "bucketize";
  static constexpr std::string_view doc =
      "The id, from 0, of the part between ascending boundaries in which each element lies.";
  static constexpr std::string_view example =
      "rille.bucketize(rille.tensor{0.5, 3}, rille.tensor{1, 2})";
  static constexpr bool differentiable = false;
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number(),
             field("boundaries", &Args::boundaries, "one ascending line"),
             field("right", &Args::right, "an element equal to a boundary lies behind it"),
             field("out_int32", &Args::out_int32, "i32 instead of i64")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
