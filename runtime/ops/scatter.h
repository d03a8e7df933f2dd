// Ops that write elements where ids say. Ids count from 0. What falls on one place is taken in the
// order of the ids, so results are the same from run to run and for any number of threads.
#pragma once
#include "ops/op.h"

namespace rille {

struct Scatter {
  struct Args {
    Tensor x;
    Axis dim;
    Tensor index, source;
  };
  static constexpr std::string_view name = "scatter";
  static constexpr std::string_view doc =
      "A copy of x in which, for each position of index, the element at that id along dim is "
      "replaced.";
  static constexpr std::string_view example =
      "rille.zeros(2, 3):scatter(2, rille.tensor({{1}, {2}}, { dtype = 'i64' }), 5)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim that ids address").required(),
             field("index", &Args::index, "ids from 0; as many dims as x").saved(),
             field("source", &Args::source, "values in the places of index, or a number").number()};
  static constexpr bool in_place = true, strided_out = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Scatter>& b);
  static void samples(SampleList& s);
};

struct ScatterAdd {
  struct Args {
    Tensor x;
    Axis dim;
    Tensor index, source;
  };
  static constexpr std::string_view name = "scatter_add";
  static constexpr std::string_view doc =
      "A copy of x with each value of source added at the id in its place in index.";
  static constexpr std::string_view example =
      "rille.zeros(3):scatter_add(1, rille.tensor({0, 0, 2}, { dtype = 'i64' }), rille.ones(3))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim that ids address").required(),
             field("index", &Args::index, "ids from 0; as many dims as x").saved(),
             field("source", &Args::source, "values in the places of index")};
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr bool in_place = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<ScatterAdd>& b);
  static void samples(SampleList& s);
};

// ---- rows --------------------------------------------------------------------------------------

struct IndexAdd {
  struct Args {
    Tensor x;
    Axis dim;
    Tensor index, source;
    double alpha = 1;
  };
  static constexpr std::string_view name = "index_add";
  static constexpr std::string_view doc =
      "A copy of x with alpha times part k of source added to the part that id k names.";
  static constexpr std::string_view example =
      "rille.zeros(3, 2):index_add(1, rille.tensor({2, 2}, { dtype = 'i64' }), rille.ones(2, 2))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim that ids address").required(),
             field("index", &Args::index, "ids from 0, one dim").saved(),
             field("source", &Args::source, "one part for each id"),
             field("alpha", &Args::alpha, "factor of source")};
  static constexpr bool in_place = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<IndexAdd>& b);
  static void samples(SampleList& s);
};

struct IndexCopy {
  struct Args {
    Tensor x;
    Axis dim;
    Tensor index, source;
  };
  static constexpr std::string_view name = "index_copy";
  static constexpr std::string_view doc =
      "A copy of x in which part k of source replaces the part that id k names.";
  static constexpr std::string_view example =
      "rille.zeros(3, 2):index_copy(1, rille.tensor({2, 0}, { dtype = 'i64' }), rille.ones(2, 2))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim that ids address").required(),
             field("index", &Args::index, "ids from 0, one dim, each once").saved(),
             field("source", &Args::source, "one part for each id")};
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr bool in_place = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<IndexCopy>& b);
  static void samples(SampleList& s);
};

struct IndexFill {
  struct Args {
    Tensor x;
    Axis dim;
    Tensor index, value;
  };
  static constexpr std::string_view name = "index_fill";
  static constexpr std::string_view doc =
      "A copy of x in which the parts that ids name hold one value.";
  static constexpr std::string_view example =
      "rille.ones(3, 2):index_fill(1, rille.tensor({-1, 0}, { dtype = 'i64' }), 7)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("dim", &Args::dim, "the dim that ids address").required(),
             field("index", &Args::index, "ids from 0, negative ones from the end").saved(),
             field("value", &Args::value, "a number or a tensor of one element").number()};
  static constexpr bool in_place = true, strided_out = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<IndexFill>& b);
  static void samples(SampleList& s);
};

// ---- anywhere ----------------------------------------------------------------------------------

struct IndexPut {
  struct Args {
    Tensor x;
    std::vector<Tensor> indices;
    Tensor source;
    bool accumulate = false;
    Axes dims;
  };
  static constexpr std::string_view name = "index_put";
  static constexpr std::string_view doc =
      "A copy of x with source where index(x, indices) would read; added to it with accumulate.";
  static constexpr std::string_view example =
      "rille.zeros(4):index_put({ rille.tensor({3, 0}, { dtype = 'i64' }) }, 5)";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"),
      field("indices", &Args::indices, "ids from 0, negative ones from the end, or bool masks")
          .saved()
          .required(),
      field("source", &Args::source, "broadcasts to what index would give").number(),
      field("accumulate", &Args::accumulate, "add instead of replacing"),
      field("dims", &Args::dims, "the dim that each index stands for; default: the first ones")};
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr bool in_place = true, strided_out = true, broadcasts = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<IndexPut>& b);
  static void samples(SampleList& s);
};

struct Put {
  struct Args {
    Tensor x, index, source;
    bool accumulate = false;
  };
  static constexpr std::string_view name = "put";
  static constexpr std::string_view doc =
      "A copy of x with source at the ids, taking x as one row.";
  static constexpr std::string_view example =
      "rille.zeros(2, 2):put(rille.tensor({3, 0}, { dtype = 'i64' }), rille.ones(2))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"),
             field("index", &Args::index, "ids from 0, negative ones from the end"),
             field("source", &Args::source, "as many elements as ids"),
             field("accumulate", &Args::accumulate, "add instead of replacing")};
  static constexpr bool in_place = true;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MaskedScatter {
  struct Args {
    Tensor x, mask, source;
  };
  static constexpr std::string_view name = "masked_scatter";
  static constexpr std::string_view doc =
      "A copy of x with elements of source, one after another, where mask is true.";
  static constexpr std::string_view example =
      "rille.zeros(3):masked_scatter(rille.ones(3, { dtype = 'bool' }), rille.arange(1, 3, 1, { "
      "dtype = 'f32' }))";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("mask", &Args::mask, "bool; broadcasts with x"),
      field("source", &Args::source, "at least as many elements as are true")};
  static constexpr bool in_place = true;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- for other ops -----------------------------------------------------------------------------

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& source);
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& source);
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& ids, const Tensor& source,
                 double alpha = 1);
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& ids, double value);

/// Throws E_SHAPE unless `index` has the dims of `t` and is nowhere larger, but for dim `free_dim`
/// (-1: none).
void check_index_fits(const Tensor& index, const Tensor& t, int free_dim, std::string_view name);

}  // namespace rille
