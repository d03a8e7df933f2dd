// Ops that join tensors and repeat them.
#pragma once
#include "ops/op.h"

namespace rille {

struct Cat {
  struct Args {
    std::vector<Tensor> tensors;
    Axis dim = {0};
  };
  static constexpr std::string_view name = "cat";
  static constexpr std::string_view doc =
      "The tensors one after another along a dim. Other sizes must agree; dtypes are promoted.";
  static constexpr std::string_view example =
      "rille.cat({ rille.ones(2, 3), rille.zeros(1, 3) }, 1)";
  static constexpr auto fields = Fields{field("tensors", &Args::tensors, "at least one"),
                                        field("dim", &Args::dim, "the dim that grows")};
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr bool method = false, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Cat>& b);
  static void samples(SampleList& s);
};

struct Stack {
  struct Args {
    std::vector<Tensor> tensors;
    Axis dim = {0};
  };
  static constexpr std::string_view name = "stack";
  static constexpr std::string_view doc = "Tensors of one shape side by side along a new dim.";
  static constexpr std::string_view example = "rille.stack({ rille.ones(3), rille.zeros(3) }, 1)";
  static constexpr auto fields = Fields{field("tensors", &Args::tensors, "at least one"),
                                        field("dim", &Args::dim, "where the new dim will be")};
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr bool method = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// hstack, vstack and dstack: cat along one dim of tensors that have at least so many.
struct StackAlong {
  struct Args {
    std::vector<Tensor> tensors;
  };
  static constexpr auto fields = Fields{field("tensors", &Args::tensors, "at least one")};
  static constexpr bool method = false;
};

struct Hstack : StackAlong {
  static constexpr std::string_view name = "hstack";
  static constexpr std::string_view doc =
      "cat along the second dim, or the first of tensors with one.";
  static constexpr std::string_view example =
      "rille.hstack { rille.ones(2, 3), rille.zeros(2, 1) }";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Vstack : StackAlong {
  static constexpr std::string_view name = "vstack";
  static constexpr std::string_view doc = "cat along the first dim; tensors with one dim are rows.";
  static constexpr std::string_view example = "rille.vstack { rille.ones(3), rille.zeros(2, 3) }";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Dstack : StackAlong {
  static constexpr std::string_view name = "dstack";
  static constexpr std::string_view doc =
      "cat along the third dim, which is made where it is missing.";
  static constexpr std::string_view example =
      "rille.dstack { rille.ones(2, 3), rille.zeros(2, 3) }";
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AtLeast1d {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "atleast_1d";
  static constexpr std::string_view doc = "x, with one dim where it has none.";
  static constexpr std::string_view example = "rille.atleast_1d(rille.tensor(3))";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AtLeast2d {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "atleast_2d";
  static constexpr std::string_view doc = "x, as a matrix of one row where it has fewer dims.";
  static constexpr std::string_view example = "rille.atleast_2d(rille.ones(3))";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct AtLeast3d {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "atleast_3d";
  static constexpr std::string_view doc =
      "x with three dims: [1, n, 1] of a vector, [m, n, 1] of a matrix.";
  static constexpr std::string_view example = "rille.atleast_3d(rille.ones(2, 3))";
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct BlockDiag {
  struct Args {
    std::vector<Tensor> tensors;
  };
  static constexpr std::string_view name = "block_diag";
  static constexpr std::string_view doc =
      "A matrix with the tensors as blocks on its diagonal; vectors are rows.";
  static constexpr std::string_view example =
      "rille.block_diag { rille.ones(2, 2), rille.ones(1, 3) }";
  static constexpr auto fields = Fields{field("tensors", &Args::tensors, "at most two dims each")};
  static constexpr bool method = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- repeated ----------------------------------------------------------------------------------

struct Tile {
  struct Args {
    Tensor x;
    Sizes sizes;
  };
  static constexpr std::string_view name = "tile";
  static constexpr std::string_view doc =
      "x repeated that often along each dim, copied: PyTorch's repeat. New dims come first; fewer "
      "numbers than dims are for the last ones.";
  static constexpr std::string_view example = "rille.ones(2, 3):tile(2, 1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("sizes", &Args::sizes, "how often, each dim").required()};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct RepeatInterleave {
  struct Args {
    Tensor x, repeats;
    std::optional<Axis> dim = {};
  };
  static constexpr std::string_view name = "repeat_interleave";
  static constexpr std::string_view doc =
      "Each element along a dim repeated in its place: all equally often, or as a tensor of counts "
      "says.";
  static constexpr std::string_view example = "rille.ones(2, 3):repeat_interleave(2, 1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("repeats", &Args::repeats, "how often, or a count for each position").number(),
             field("dim", &Args::dim, "default: x is flattened first")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- grids -------------------------------------------------------------------------------------

struct BroadcastTensors {
  struct Args {
    std::vector<Tensor> tensors;
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "broadcast_tensors";
  static constexpr std::string_view doc = "The tensors as views of their common shape.";
  static constexpr std::string_view example =
      "rille.broadcast_tensors { rille.ones(3, 1), rille.ones(2) }";
  static constexpr auto fields = Fields{field("tensors", &Args::tensors, "any tensors")};
  static constexpr bool method = false;
  static std::vector<Tensor> compose(const Args& a);
  static void samples(SampleList& s);
};

struct Meshgrid {
  enum class Indexing { ij, xy };
  struct Args {
    std::vector<Tensor> tensors;
    Indexing indexing = Indexing::ij;
  };
  using Out = std::vector<Tensor>;
  static constexpr std::string_view name = "meshgrid";
  static constexpr std::string_view doc =
      "Coordinates of a grid from those along its sides: result k varies along dim k; 'xy' "
      "exchanges the first two.";
  static constexpr std::string_view example =
      "rille.meshgrid { rille.arange(1, 2), rille.arange(1, 3) }";
  static constexpr auto fields =
      Fields{field("tensors", &Args::tensors, "vectors or numbers"),
             field("indexing", &Args::indexing, "order of the first two dims")};
  static constexpr bool method = false;
  static std::vector<Tensor> compose(const Args& a);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 2> names_of(Meshgrid::Indexing) { return {"ij", "xy"}; }

struct CartesianProd {
  struct Args {
    std::vector<Tensor> tensors;
  };
  static constexpr std::string_view name = "cartesian_prod";
  static constexpr std::string_view doc =
      "All combinations of one element of each vector, one a row.";
  static constexpr std::string_view example =
      "rille.cartesian_prod { rille.arange(1, 2), rille.arange(1, 3) }";
  static constexpr auto fields = Fields{field("tensors", &Args::tensors, "vectors")};
  static constexpr bool method = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Combinations {
  struct Args {
    Tensor x;
    int64_t r = 2;
    bool with_replacement = false;
  };
  static constexpr std::string_view name = "combinations";
  static constexpr std::string_view doc =
      "All choices of r elements of a vector, in order, one a row.";
  static constexpr std::string_view example = "rille.combinations(rille.arange(1, 3))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "a vector"), field("r", &Args::r, "elements in a row"),
             field("with_replacement", &Args::with_replacement, "an element may come again")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0);
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0);
/// x repeated: as many numbers as it has dims.
Tensor tile(const Tensor& x, const Dims& times);

}  // namespace rille
