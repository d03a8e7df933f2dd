// Ops that look at a part of a tensor, or at it in parts, and those that write such a part into a
// copy. Positions are given as the script gives them: from 0 here, from 1 there, both ends
// included.
#pragma once
#include "ops/strided.h"

namespace rille {

struct Narrow : PartialView<Narrow> {
  struct Args {
    Tensor x;
    Axis dim;
    Position start;
    int64_t length = 0;
  };
  static constexpr std::string_view name = "narrow";
  static constexpr std::string_view doc =
      "The part of x from position start on, length long, along one dim.";
  static constexpr std::string_view example = "rille.ones(5, 2):narrow(1, 2, 3)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("dim", &Args::dim, "the dim to cut").required(),
                                        field("start", &Args::start, "first position").required(),
                                        field("length", &Args::length, "how many").required()};
  static View view(const Args& a);
  static void samples(SampleList& s);
};

struct Select : PartialView<Select> {
  struct Args {
    Tensor x;
    Axis dim;
    Position index;
  };
  static constexpr std::string_view name = "select";
  static constexpr std::string_view doc = "What x holds at one position of a dim; the dim goes.";
  static constexpr std::string_view example = "rille.ones(5, 2):select(1, -1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim to look along").required(),
             field("index", &Args::index, "the position").required()};
  static View view(const Args& a);
  static void samples(SampleList& s);
};

struct Slice : PartialView<Slice> {
  struct Args {
    Tensor x;
    Axis dim = {0};
    Position first = {0}, last = {-1};
    int64_t step = 1;
  };
  static constexpr std::string_view name = "slice";
  static constexpr std::string_view doc =
      "Every step-th position of a dim from first to last, both included; cut off at the ends of "
      "x.";
  static constexpr std::string_view example = "rille.ones(6, 2):slice(1, 2, -1, 2)";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "the dim to cut"),
      field("first", &Args::first, "first position"), field("last", &Args::last, "last position"),
      field("step", &Args::step, "distance of two positions")};
  static View view(const Args& a);
  static void samples(SampleList& s);
};

struct Diagonal : PartialView<Diagonal> {
  struct Args {
    Tensor x;
    int64_t offset = 0;
    Axis dim1 = {0}, dim2 = {1};
  };
  static constexpr std::string_view name = "diagonal";
  static constexpr std::string_view doc =
      "A diagonal of two dims as the last dim of a view: above the main one where offset is "
      "positive.";
  static constexpr std::string_view example = "rille.eye(3):diagonal()";
  static constexpr auto fields = Fields{field("x", &Args::x, "at least two dims"),
                                        field("offset", &Args::offset, "which diagonal"),
                                        field("dim1", &Args::dim1, "counts the rows"),
                                        field("dim2", &Args::dim2, "counts the columns")};
  static View view(const Args& a);
  static void samples(SampleList& s);
};

struct Unfold : PartialView<Unfold> {
  struct Args {
    Tensor x;
    Axis dim;
    int64_t size = 1, step = 1;
  };
  static constexpr std::string_view name = "unfold";
  static constexpr std::string_view doc =
      "All windows of a size along a dim, step apart: the dim counts windows, a new last one runs "
      "in them.";
  static constexpr std::string_view example = "rille.arange(1, 7):unfold(1, 3, 2)";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "the dim to cut").required(),
      field("size", &Args::size, "of a window").required(),
      field("step", &Args::step, "from window to window").required()};
  static View view(const Args& a);
  static void samples(SampleList& s);
};

// ---- several views -----------------------------------------------------------------------------

struct Unbind {
  struct Args {
    Tensor x;
    Axis dim = {0};
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "unbind";
  static constexpr std::string_view doc = "What x holds at each position of a dim, one view each.";
  static constexpr std::string_view example = "rille.ones(2, 3):unbind(1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "the dim to take apart")};
  static std::vector<View> view(const Args& a);
  static Args grad(const Back<Unbind>& b);
  static void samples(SampleList& s);
};

struct Split {
  struct Args {
    Tensor x;
    Counts size;
    Axis dim = {0};
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "split";
  static constexpr std::string_view doc =
      "x cut into parts of a size, the last one maybe smaller, or of the sizes listed; each a "
      "view.";
  static constexpr std::string_view example = "rille.ones(5, 2):split({2, 3}, 1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("size", &Args::size, "of every part, or of each").required(),
             field("dim", &Args::dim, "the dim to cut")};
  static std::vector<View> view(const Args& a);
  static Args grad(const Back<Split>& b);
  static void samples(SampleList& s);
};

struct Chunk {
  struct Args {
    Tensor x;
    int64_t n = 1;
    Axis dim = {0};
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "chunk";
  static constexpr std::string_view doc =
      "x cut into at most n parts, all as large as the first but for the last; each a view.";
  static constexpr std::string_view example = "rille.ones(5, 2):chunk(2, 1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("n", &Args::n, "how many parts").required(),
             field("dim", &Args::dim, "the dim to cut")};
  static std::vector<Tensor> compose(const Args& a);
  static void samples(SampleList& s);
};

struct TensorSplit {
  struct Args {
    Tensor x;
    std::optional<int64_t> sections = {};
    Axis dim = {0};
    Counts cuts = {};
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "tensor_split";
  static constexpr std::string_view doc =
      "x cut into that many parts, sizes differing by one at most, or after the positions in cuts.";
  static constexpr std::string_view example = "rille.ones(5, 2):tensor_split(3, 1)";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("sections", &Args::sections, "how many parts"),
      field("dim", &Args::dim, "the dim to cut"),
      field("cuts", &Args::cuts, "instead: after how many elements to cut, rising")};
  static std::vector<View> view(const Args& a);
  static Args grad(const Back<TensorSplit>& b);
  static void samples(SampleList& s);
};

// ---- into a copy -------------------------------------------------------------------------------

struct SliceScatter {
  struct Args {
    Tensor x, source;
    Axis dim = {0};
    Position first = {0}, last = {-1};
    int64_t step = 1;
  };
  static constexpr std::string_view name = "slice_scatter";
  static constexpr std::string_view doc = "A copy of x with source where slice would look.";
  static constexpr std::string_view example =
      "rille.zeros(4):slice_scatter(rille.ones(2), 1, 2, 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("source", &Args::source, "in the shape of that slice"),
             field("dim", &Args::dim, "the dim to cut"),
             field("first", &Args::first, "first position"),
             field("last", &Args::last, "last position"),
             field("step", &Args::step, "distance of two positions")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct SelectScatter {
  struct Args {
    Tensor x, source;
    Axis dim;
    Position index;
  };
  static constexpr std::string_view name = "select_scatter";
  static constexpr std::string_view doc = "A copy of x with source at one position of a dim.";
  static constexpr std::string_view example =
      "rille.zeros(2, 3):select_scatter(rille.ones(3), 1, 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("source", &Args::source, "in the shape of that select"),
             field("dim", &Args::dim, "the dim to look along").required(),
             field("index", &Args::index, "the position").required()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct DiagonalScatter {
  struct Args {
    Tensor x, source;
    int64_t offset = 0;
    Axis dim1 = {0}, dim2 = {1};
  };
  static constexpr std::string_view name = "diagonal_scatter";
  static constexpr std::string_view doc = "A copy of x with source on a diagonal.";
  static constexpr std::string_view example = "rille.zeros(3, 3):diagonal_scatter(rille.ones(3))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "at least two dims"),
             field("source", &Args::source, "in the shape of that diagonal"),
             field("offset", &Args::offset, "which diagonal"),
             field("dim1", &Args::dim1, "counts the rows"),
             field("dim2", &Args::dim2, "counts the columns")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// Dims and positions from 0; negative ones from the end.
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor select(const Tensor& x, int64_t dim, int64_t index);
std::vector<Tensor> split(const Tensor& x, std::span<const int64_t> sizes, int64_t dim);
std::vector<Tensor> chunk(const Tensor& x, int64_t n, int64_t dim);
std::vector<Tensor> unbind(const Tensor& x, int64_t dim);

}  // namespace rille
