// Products that say by name or number which dims meet. All are composed of matmul.
#pragma once
#include "ops/op.h"

namespace rille {

struct Einsum {
  struct Args {
    std::string equation;
    std::vector<Tensor> tensors;
  };
  static constexpr std::string_view name = "einsum";
  static constexpr std::string_view doc =
      "A sum of products by Einstein's convention: letters name dims, those that the result lacks "
      "are "
      "summed over, '...' stands for dims that broadcast. Without '->' the result has the letters "
      "that "
      "occur once, in order of the alphabet.";
  static constexpr std::string_view example =
      "rille.einsum('ij,jk->ik', {rille.ones(2, 3), rille.ones(3, 4)})";
  static constexpr auto fields =
      Fields{field("equation", &Args::equation, "such as 'bij,bjk->bik'").required(),
             field("tensors", &Args::tensors, "one for each term on the left")};
  static constexpr Autocast autocast = Autocast::lower;
  static constexpr bool method = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Bilinear {
  struct Args {
    Tensor x, y, weight;
    std::optional<Tensor> bias = {};
  };
  static constexpr std::string_view name = "bilinear";
  static constexpr std::string_view doc =
      "x^T weight[o] y + bias[o] for each output o, over the last dims of x and y.";
  static constexpr std::string_view example =
      "rille.bilinear(rille.ones(5, 2), rille.ones(5, 3), rille.ones(4, 2, 3))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., m]"), field("y", &Args::y, "[..., n]"),
             field("weight", &Args::weight, "[out, m, n]"), field("bias", &Args::bias, "[out]")};
  static constexpr Autocast autocast = Autocast::widest;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Tensordot {
  struct Args {
    Tensor x, y;
    int64_t dims = 2;
    Axes x_dims = {}, y_dims = {};
  };
  static constexpr std::string_view name = "tensordot";
  static constexpr std::string_view doc =
      "The product summed over the last dims of x and the first of y, as many as dims says, or "
      "over dims named for each.";
  static constexpr std::string_view example =
      "rille.tensordot(rille.ones(2, 3, 4), rille.ones(3, 4, 5), 2)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("y", &Args::y, "any tensor"),
             field("dims", &Args::dims, "how many dims meet"),
             field("x_dims", &Args::x_dims, "instead: the dims of x"),
             field("y_dims", &Args::y_dims, "instead: the dims of y, in the same order")};
  static constexpr Autocast autocast = Autocast::widest;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Inner {
  struct Args {
    Tensor x, y;
  };
  static constexpr std::string_view name = "inner";
  static constexpr std::string_view doc =
      "The products summed over the last dims of both; a plain product with a single value.";
  static constexpr std::string_view example = "rille.inner(rille.ones(2, 3), rille.ones(4, 3))";
  static constexpr Autocast autocast = Autocast::widest;
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("y", &Args::y, "any tensor")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Kron {
  struct Args {
    Tensor x, y;
  };
  static constexpr std::string_view name = "kron";
  static constexpr std::string_view doc =
      "The Kronecker product: each element of x replaced by itself times y.";
  static constexpr std::string_view example = "rille.kron(rille.eye(2), rille.ones(2, 2))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("y", &Args::y, "any tensor")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// einsum from C++.
Tensor einsum(std::string equation, std::vector<Tensor> tensors);

}  // namespace rille
