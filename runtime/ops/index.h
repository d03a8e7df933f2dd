// Ops that read elements where ids say. Ids are stored numbers: they count from 0. Those that write
// are in ops/scatter.h.
#pragma once
#include "ops/op.h"

namespace rille {

struct IndexSelect {
  struct Args {
    Tensor x;
    Axis dim;
    Tensor index;
  };
  static constexpr std::string_view name = "index_select";
  static constexpr std::string_view doc =
      "The parts of x along a dim that a list of ids names, in its order.";
  static constexpr std::string_view example =
      "rille.index_select(rille.ones(4, 2), 1, rille.tensor({3, 0}, { dtype = 'i64' }))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim to pick from").required(),
             field("index", &Args::index, "ids from 0, one dim").saved()};
  static constexpr bool narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<IndexSelect>& b);
  static void samples(SampleList& s);
};

struct Gather {
  struct Args {
    Tensor x;
    Axis dim;
    Tensor index;
  };
  static constexpr std::string_view name = "gather";
  static constexpr std::string_view doc =
      "For each position of index, the element of x there, but at that id along dim.";
  static constexpr std::string_view example =
      "rille.gather(rille.ones(2, 3), 2, rille.zeros(2, 1, { dtype = 'i64' }))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim that ids address").required(),
             field("index", &Args::index, "ids from 0; as many dims as x, no larger but along dim")
                 .saved()};
  static constexpr bool narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Gather>& b);
  static void samples(SampleList& s);
};

struct TakeAlong {
  struct Args {
    Tensor x, index;
    std::optional<Axis> dim = {};
  };
  static constexpr std::string_view name = "take_along";
  static constexpr std::string_view doc =
      "gather with broadcasting: what argsort and argmax give picks the elements they mean.";
  static constexpr std::string_view example =
      "rille.take_along(rille.ones(2, 3), rille.zeros(2, 1, { dtype = 'i64' }), 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("index", &Args::index, "ids from 0"),
             field("dim", &Args::dim, "the dim that ids address; default: x is flattened")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Take {
  struct Args {
    Tensor x, index;
  };
  static constexpr std::string_view name = "take";
  static constexpr std::string_view doc = "Elements of x, taken as one row, in the shape of index.";
  static constexpr std::string_view example =
      "rille.take(rille.ones(2, 3), rille.tensor({5, -1}, { dtype = 'i64' }))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("index", &Args::index, "ids from 0; negative ones count from the end")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Index {
  struct Args {
    Tensor x;
    std::vector<Tensor> indices;
    Axes dims;
  };
  static constexpr std::string_view name = "index";
  static constexpr std::string_view doc =
      "What ids or masks name along some dims at once: they are broadcast together, and their "
      "shape "
      "takes the place of those dims (the front, where the dims are not neighbours).";
  static constexpr std::string_view example =
      "rille.index(rille.ones(4, 2), { rille.tensor({3, 0}, { dtype = 'i64' }) })";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"),
      field("indices", &Args::indices, "ids from 0, negative ones from the end, or bool masks")
          .required(),
      field("dims", &Args::dims, "the dim that each stands for; default: the first ones")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// `index` by ids alone: the kernel.
struct IndexIds {
  struct Args {
    Tensor x;
    std::vector<Tensor> indices;
    Axes dims;
  };
  static constexpr std::string_view name = "index_ids";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "index by ids only.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("indices", &Args::indices, "ids").saved(),
             field("dims", &Args::dims, "the dim that each stands for")};
  static constexpr bool method = false, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<IndexIds>& b);
  static void samples(SampleList& s);
};

struct MaskedSelect {
  struct Args {
    Tensor x, mask;
  };
  static constexpr std::string_view name = "masked_select";
  static constexpr std::string_view doc = "The elements of x where mask is true, as one row.";
  static constexpr std::string_view example =
      "rille.masked_select(rille.ones(3), rille.ones(3, { dtype = 'bool' }))";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("mask", &Args::mask, "bool; the two are broadcast")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- what is not zero --------------------------------------------------------------------------

struct Argwhere {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "argwhere";
  static constexpr std::string_view doc =
      "The positions of what is not zero, one a row, counted from 0.";
  static constexpr std::string_view example = "rille.argwhere(rille.eye(2))";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool dynamic = true, differentiable = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Nonzero {
  struct Args {
    Tensor x;
    bool as_tuple = false;
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "nonzero";
  static constexpr std::string_view doc =
      "The positions of what is not zero, counted from 0: one a row, or with as_tuple a list for "
      "each dim.";
  static constexpr std::string_view example = "rille.nonzero(rille.eye(2))";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor"),
                                        field("as_tuple", &Args::as_tuple, "one result a dim")};
  static constexpr bool differentiable = false;
  static std::vector<Tensor> compose(const Args& a);
  static void samples(SampleList& s);
};

struct OneHot {
  struct Args {
    Tensor x;
    int64_t classes = -1;
  };
  static constexpr std::string_view name = "one_hot";
  static constexpr std::string_view doc = "Ids as rows of zeros with a one at the id; i64.";
  static constexpr std::string_view example =
      "rille.one_hot(rille.tensor({0, 2}, { dtype = 'i64' }), 3)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "ids from 0"),
             field("classes", &Args::classes, "-1: one more than the largest id")};
  static constexpr bool differentiable = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- for other ops -----------------------------------------------------------------------------

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& ids);
Tensor gather(const Tensor& x, int64_t dim, const Tensor& ids);
/// x at ids (or where masks are true) along some dims; the first ones where none are given.
Tensor index(const Tensor& x, const std::vector<Tensor>& indices, const Axes& dims = {});
/// The ids of what is true, one vector for each dim.
std::vector<Tensor> mask_ids(const Tensor& mask);

/// Ids as i64, each in [0, n), dims that repeat kept so. Throws E_INDEX, naming value, range and
/// position; E_DTYPE. `dim` is for the text.
Tensor checked_ids(const Tensor& ids, int64_t n, int dim, bool negative_too);

}  // namespace rille
