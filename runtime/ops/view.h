// Ops that look at all of a tensor under another shape or order of dims. Results share storage with
// the argument and follow its version. Looks at a part of it are in ops/slice.h.
#pragma once
#include "ops/op.h"

namespace rille {

struct ViewShape {
  struct Args {
    Tensor x;
    Sizes shape;
  };
  static constexpr std::string_view name = "view";
  static constexpr std::string_view doc =
      "x under another shape, sharing its memory. One size may be -1: it is worked out.";
  static constexpr std::string_view example = "rille.ones(2, 6):view(3, -1)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("shape", &Args::shape, "the new sizes").required()};
  static View view(const Args& a);
  static Args grad(const Back<ViewShape>& b);
  static void samples(SampleList& s);
};

struct Reshape {
  struct Args {
    Tensor x;
    Sizes shape;
  };
  static constexpr std::string_view name = "reshape";
  static constexpr std::string_view doc =
      "x under another shape: a view where its strides allow, else a copy. -1 is worked out.";
  static constexpr std::string_view example = "rille.ones(2, 6):t():reshape(3, -1)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("shape", &Args::shape, "the new sizes").required()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct ViewAs {
  struct Args {
    Tensor x, other;
  };
  static constexpr std::string_view name = "view_as";
  static constexpr std::string_view doc = "x as a view with the shape of another tensor.";
  static constexpr std::string_view example = "rille.ones(6):view_as(rille.ones(2, 3))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("other", &Args::other, "gives the shape")};
  static View view(const Args& a);
  static Args grad(const Back<ViewAs>& b);
  static void samples(SampleList& s);
};

struct Flatten {
  struct Args {
    Tensor x;
    Axis start = {0}, end = {-1};
  };
  static constexpr std::string_view name = "flatten";
  static constexpr std::string_view doc =
      "x with the dims from start to end, both included, made one.";
  static constexpr std::string_view example = "rille.ones(2, 3, 4):flatten(2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("start", &Args::start, "first dim"),
             field("end", &Args::end, "last dim")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Unflatten {
  struct Args {
    Tensor x;
    Axis dim;
    Sizes sizes;
  };
  static constexpr std::string_view name = "unflatten";
  static constexpr std::string_view doc = "x with one dim split into several. One size may be -1.";
  static constexpr std::string_view example = "rille.ones(2, 6):unflatten(2, 3, -1)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("dim", &Args::dim, "the dim to split").required(),
                                        field("sizes", &Args::sizes, "its new sizes").required()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Squeeze {
  struct Args {
    Tensor x;
    std::optional<Axis> dim = {};
  };
  static constexpr std::string_view name = "squeeze";
  static constexpr std::string_view doc =
      "x without dims of size 1: all of them, or the one named if its size is 1.";
  static constexpr std::string_view example = "rille.zeros(1, 3, 1):squeeze()";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("dim", &Args::dim, "default: every dim of size 1")};
  static View view(const Args& a);
  static Args grad(const Back<Squeeze>& b);
  static void samples(SampleList& s);
};

struct Unsqueeze {
  struct Args {
    Tensor x;
    Axis dim;
  };
  static constexpr std::string_view name = "unsqueeze";
  static constexpr std::string_view doc = "x with a dim of size 1 put in; dim is where it will be.";
  static constexpr std::string_view example = "rille.ones(3):unsqueeze(-1)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("dim", &Args::dim, "the new dim").required()};
  static View view(const Args& a);
  static Args grad(const Back<Unsqueeze>& b);
  static void samples(SampleList& s);
};

struct Permute {
  struct Args {
    Tensor x;
    Axes dims;
  };
  static constexpr std::string_view name = "permute";
  static constexpr std::string_view doc = "x with its dims in another order.";
  static constexpr std::string_view example = "rille.ones(2, 3, 4):permute(3, 1, 2)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("dims", &Args::dims, "every dim, once").required()};
  static View view(const Args& a);
  static Args grad(const Back<Permute>& b);
  static void samples(SampleList& s);
};

struct Transpose {
  struct Args {
    Tensor x;
    Axis dim0 = {-2}, dim1 = {-1};
  };
  static constexpr std::string_view name = "transpose";
  static constexpr std::string_view doc = "x with two dims exchanged; by default the last two.";
  static constexpr std::string_view example = "rille.ones(2, 3):transpose(1, 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim0", &Args::dim0, "one dim"),
             field("dim1", &Args::dim1, "the other")};
  static View view(const Args& a);
  static Args grad(const Back<Transpose>& b);
  static void samples(SampleList& s);
};

struct SwapAxes {
  struct Args {
    Tensor x;
    Axis dim0, dim1;
  };
  static constexpr std::string_view name = "swapaxes";
  static constexpr std::string_view doc = "x with two dims exchanged.";
  static constexpr std::string_view example = "rille.ones(2, 3):swapaxes(1, 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim0", &Args::dim0, "one dim").required(),
             field("dim1", &Args::dim1, "the other").required()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MatrixTranspose {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "t";
  static constexpr std::string_view doc =
      "The transpose of a matrix; x itself where it has fewer dims.";
  static constexpr std::string_view example = "rille.ones(2, 3):t()";
  static constexpr auto fields = Fields{field("x", &Args::x, "at most two dims")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MoveDim {
  struct Args {
    Tensor x;
    Axes source, destination;
  };
  static constexpr std::string_view name = "movedim";
  static constexpr std::string_view doc =
      "x with dims moved to other places; those that are not named keep their order.";
  static constexpr std::string_view example = "rille.ones(2, 3, 4):movedim(1, -1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("source", &Args::source, "the dims to move").required(),
             field("destination", &Args::destination, "where each goes").required()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Expand {
  struct Args {
    Tensor x;
    Sizes sizes;
  };
  static constexpr std::string_view name = "expand";
  static constexpr std::string_view doc =
      "x with dims of size 1 repeated, without a copy. -1 keeps a size; new dims come first.";
  static constexpr std::string_view example = "rille.ones(3, 1):expand(-1, 4)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("sizes", &Args::sizes, "the new sizes").required()};
  static constexpr bool broadcasts = true;
  static View view(const Args& a);
  static Args grad(const Back<Expand>& b);
  static void samples(SampleList& s);
};

struct BroadcastTo {
  struct Args {
    Tensor x;
    Sizes sizes;
  };
  static constexpr std::string_view name = "broadcast_to";
  static constexpr std::string_view doc =
      "x repeated to a shape by the rules of broadcasting, without a copy.";
  static constexpr std::string_view example = "rille.ones(3):broadcast_to(2, 3)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("sizes", &Args::sizes, "the shape").required()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct ExpandAs {
  struct Args {
    Tensor x, other;
  };
  static constexpr std::string_view name = "expand_as";
  static constexpr std::string_view doc =
      "x repeated to the shape of another tensor, without a copy.";
  static constexpr std::string_view example = "rille.ones(3):expand_as(rille.ones(2, 3))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("other", &Args::other, "gives the shape")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// x with that shape, as a view where strides allow, else copied. -1 in the shape is worked out.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor permute(const Tensor& x, const Dims& dims);
/// Dims exchanged, counted from 0; negative ones from the end.
Tensor transpose(const Tensor& x, int64_t dim0 = -2, int64_t dim1 = -1);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor expand(const Tensor& x, const Shape& shape);
/// The strides that show a tensor under another shape, where there are such.
std::optional<Strides> view_strides(const Shape& from, const Strides& strides, const Shape& to);
/// A shape as the script gave it, with its -1 worked out for that many elements.
Shape resolve_sizes(const Dims& given, int64_t numel);

}  // namespace rille
