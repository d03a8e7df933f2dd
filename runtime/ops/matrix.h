// What is measured and made of matrices without taking them apart: traces, norms, powers; and
// matrices of powers.
#pragma once
#include "ops/op.h"

namespace rille {

struct Trace {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "trace";
  static constexpr std::string_view doc = "The sum of a matrix's diagonal.";
  static constexpr std::string_view example = "rille.trace(rille.eye(3))";
  static constexpr auto fields = Fields{field("x", &Args::x, "[m, n]")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Cross {
  struct Args {
    Tensor x, y;
    Axis dim = {-1};
  };
  static constexpr std::string_view name = "cross";
  static constexpr std::string_view doc =
      "The cross products of vectors of three elements along a dim; the others broadcast.";
  static constexpr std::string_view example =
      "rille.cross(rille.tensor{1, 0, 0}, rille.tensor{0, 1, 0})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("y", &Args::y, "any tensor"),
             field("dim", &Args::dim, "a dim of size 3")};
  static constexpr Autocast autocast = Autocast::widest;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MatrixNorm {
  enum class Ord { fro, nuc, two, minus_two, one, minus_one, inf, minus_inf };
  struct Args {
    Tensor x;
    Ord ord = Ord::fro;
    Axes dims = {-2, -1};
    bool keepdim = false;
  };
  static constexpr std::string_view name = "matrix_norm";
  static constexpr std::string_view doc =
      "Norms of matrices: 'fro' the root of the sum of squares, 'nuc' the sum of singular values, "
      "'2' and '-2' the "
      "largest and smallest of them, '1' and 'inf' the largest sum of absolute values of a column "
      "and of a row.";
  static constexpr std::string_view example =
      "rille.matrix_norm(rille.tensor{{3, 0}, {0, 4}}, { ord = 'nuc' })";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "at least two dims"), field("ord", &Args::ord, "which norm"),
             field("dims", &Args::dims, "the matrices' dims"),
             field("keepdim", &Args::keepdim, "keep them with size 1")};
  static constexpr Autocast autocast = Autocast::f32_out;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 8> names_of(MatrixNorm::Ord) {
  return {"fro", "nuc", "2", "-2", "1", "-1", "inf", "-inf"};
}

struct Cond {
  struct Args {
    Tensor x;
    MatrixNorm::Ord p = MatrixNorm::Ord::two;
  };
  static constexpr std::string_view name = "cond";
  static constexpr std::string_view doc =
      "How much solving with a matrix may enlarge errors: its norm times that of its inverse.";
  static constexpr std::string_view example = "rille.cond(rille.tensor{{3, 0}, {0, 4}})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., n, n], for '2' and '-2' of any shape"),
             field("p", &Args::p, "which norm")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MatrixPower {
  struct Args {
    Tensor x;
    int64_t n = 1;
  };
  static constexpr std::string_view name = "matrix_power";
  static constexpr std::string_view doc =
      "The product of n copies of square matrices; of their inverses where n is negative.";
  static constexpr std::string_view example =
      "rille.matrix_power(rille.tensor{{1, 1}, {1, 0}}, 10)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., n, n]"), field("n", &Args::n, "how many").required()};
  static constexpr Autocast autocast = Autocast::lower;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Vander {
  struct Args {
    Tensor x;
    std::optional<int64_t> n = {};
    bool increasing = false;
  };
  static constexpr std::string_view name = "vander";
  static constexpr std::string_view doc =
      "Vandermonde matrices: the powers n - 1, ..., 1, 0 of each element in a row.";
  static constexpr std::string_view example = "rille.vander(rille.tensor{1, 2, 3})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., m]"), field("n", &Args::n, "columns; default: m"),
             field("increasing", &Args::increasing, "powers 0, 1, ..., n - 1")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
