// Matrix products. Kernels hand strides to cpu::gemm as they are wherever it can take them, so
// transposed and sliced operands are not copied, and repeated ones are never stored. Contractions
// with named dims are in ops/contract.h.
#pragma once
#include "ops/op.h"

namespace rille {

struct Matmul {
  struct Args {
    Tensor x, y;
  };
  static constexpr std::string_view name = "matmul";
  static constexpr std::string_view doc =
      "The matrix product over the last two dims, dims before them broadcast. A vector on the left "
      "is a row, on the right a column, and its dim is gone from the result.";
  static constexpr std::string_view example = "rille.matmul(rille.ones(2, 3), rille.ones(3, 4))";
  static constexpr auto fields = Fields{field("x", &Args::x, "[..., m, k] or [k]"),
                                        field("y", &Args::y, "[..., k, n] or [k]")};
  static constexpr Autocast autocast = Autocast::lower;
  static constexpr bool broadcasts = true;
  static Meta infer(const Args& a);
  static double flops(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  /// Each factor is kept only for the other's gradient.
  static uint64_t saves(const Args&, uint64_t needs) { return (needs & 1) << 1 | (needs >> 1 & 1); }
  static Args grad(const Back<Matmul>& b);
  static void samples(SampleList& s);
};

struct Linear {
  struct Args {
    Tensor x, weight;
    std::optional<Tensor> bias = {};
  };
  static constexpr std::string_view name = "linear";
  static constexpr std::string_view doc = "x @ weight^T + bias, over the last dim of x.";
  static constexpr std::string_view example =
      "rille.linear(rille.ones(2, 3), rille.ones(4, 3), rille.ones(4))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., in]"), field("weight", &Args::weight, "[out, in] or [in]"),
             field("bias", &Args::bias, "[out]")};
  static constexpr Autocast autocast = Autocast::lower;
  static Meta infer(const Args& a);
  static double flops(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static uint64_t saves(const Args&, uint64_t needs) { return (needs & 1) << 1 | (needs >> 1 & 1); }
  static Args grad(const Back<Linear>& b);
  static void samples(SampleList& s);
};

// ---- products of given ranks
// ---------------------------------------------------------------------

/// Two operands of given ranks.
struct RankedProduct {
  struct Args {
    Tensor x, y;
  };
  static constexpr auto fields_of(std::string_view x, std::string_view y) {
    return Fields{field("x", &Args::x, x), field("y", &Args::y, y)};
  }
  static constexpr Autocast autocast = Autocast::lower;
};

struct Mm : RankedProduct {
  static constexpr std::string_view name = "mm";
  static constexpr std::string_view doc = "The product of two matrices.";
  static constexpr std::string_view example = "rille.mm(rille.ones(2, 3), rille.ones(3, 4))";
  static constexpr auto fields = fields_of("[m, k]", "[k, n]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Mv : RankedProduct {
  static constexpr std::string_view name = "mv";
  static constexpr std::string_view doc = "The product of a matrix and a vector.";
  static constexpr std::string_view example = "rille.mv(rille.ones(2, 3), rille.ones(3))";
  static constexpr auto fields = fields_of("[m, k]", "[k]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Bmm : RankedProduct {
  static constexpr std::string_view name = "bmm";
  static constexpr std::string_view doc = "The products of two equally long batches of matrices.";
  static constexpr std::string_view example = "rille.bmm(rille.ones(5, 2, 3), rille.ones(5, 3, 4))";
  static constexpr auto fields = fields_of("[batch, m, k]", "[batch, k, n]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Dot : RankedProduct {
  static constexpr std::string_view name = "dot";
  static constexpr std::string_view doc = "The sum of the products of two vectors' elements.";
  static constexpr std::string_view example = "rille.dot(rille.tensor{1, 2}, rille.tensor{3, 4})";
  static constexpr auto fields = fields_of("[k]", "[k]");
  static constexpr Autocast autocast = Autocast::widest;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Vdot : RankedProduct {
  static constexpr std::string_view name = "vdot";
  static constexpr std::string_view doc = "The same as dot, as there are no complex numbers here.";
  static constexpr std::string_view example = "rille.vdot(rille.tensor{1, 2}, rille.tensor{3, 4})";
  static constexpr auto fields = fields_of("[k]", "[k]");
  static constexpr Autocast autocast = Autocast::widest;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Vecdot {
  struct Args {
    Tensor x, y;
    Axis dim = {-1};
  };
  static constexpr std::string_view name = "vecdot";
  static constexpr std::string_view doc =
      "The dot products of vectors that lie along one dim; the others broadcast.";
  static constexpr std::string_view example = "rille.vecdot(rille.ones(2, 3), rille.ones(3))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("y", &Args::y, "any tensor"),
             field("dim", &Args::dim, "the dim of the vectors")};
  static constexpr Autocast autocast = Autocast::lower;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Outer {
  struct Args {
    Tensor x, y;
  };
  static constexpr std::string_view name = "outer";
  static constexpr std::string_view doc =
      "Every element of one vector times every element of another.";
  static constexpr std::string_view example = "rille.outer(rille.tensor{1, 2}, rille.tensor{3, 4})";
  static constexpr auto fields = Fields{field("x", &Args::x, "[m]"), field("y", &Args::y, "[n]")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct ChainMatmul {
  struct Args {
    std::vector<Tensor> tensors;
  };
  static constexpr std::string_view name = "chain_matmul";
  static constexpr std::string_view doc =
      "The product of several matrices, in the order that costs least. The first and the last may "
      "be vectors.";
  static constexpr std::string_view example =
      "rille.chain_matmul{rille.ones(2, 9), rille.ones(9, 3), rille.ones(3, 4)}";
  static constexpr auto fields = Fields{field("tensors", &Args::tensors, "at least one")};
  static constexpr Autocast autocast = Autocast::lower;
  static constexpr bool method = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MultiDot {
  struct Args {
    std::vector<Tensor> tensors;
  };
  static constexpr std::string_view name = "multi_dot";
  static constexpr std::string_view doc = "The same as chain_matmul.";
  static constexpr std::string_view example =
      "rille.multi_dot{rille.ones(2, 9), rille.ones(9, 3), rille.ones(3)}";
  static constexpr auto fields = Fields{field("tensors", &Args::tensors, "at least one")};
  static constexpr Autocast autocast = Autocast::lower;
  static constexpr bool method = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- beta * c + alpha * product
// ------------------------------------------------------------------

/// What the added forms share: c is where the product is added.
struct AddedProduct {
  struct Args {
    Tensor c, x, y;
    double beta = 1, alpha = 1;
  };
  static constexpr Autocast autocast = Autocast::lower;
  static constexpr bool in_place = true, broadcasts = true;
  static constexpr auto fields_of(std::string_view c, std::string_view x, std::string_view y) {
    return Fields{field("c", &Args::c, c), field("x", &Args::x, x), field("y", &Args::y, y),
                  field("beta", &Args::beta, "factor of c; 0 ignores its values"),
                  field("alpha", &Args::alpha, "factor of the product")};
  }
  static uint64_t saves(const Args&, uint64_t needs) {
    return (needs >> 1 & 1) << 2 | (needs >> 2 & 1) << 1;
  }
};

struct Addmm : AddedProduct {
  static constexpr std::string_view name = "addmm";
  static constexpr std::string_view doc = "beta * c + alpha * (x @ y) for matrices.";
  static constexpr std::string_view example =
      "rille.addmm(rille.ones(4), rille.ones(2, 3), rille.ones(3, 4))";
  static constexpr auto fields = fields_of("broadcasts to [m, n]", "[m, k]", "[k, n]");
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<Addmm>& b);
  static void samples(SampleList& s);
};

struct Baddbmm : AddedProduct {
  static constexpr std::string_view name = "baddbmm";
  static constexpr std::string_view doc = "beta * c + alpha * (x @ y) for batches of matrices.";
  static constexpr std::string_view example =
      "rille.baddbmm(rille.ones(4), rille.ones(5, 2, 3), rille.ones(5, 3, 4))";
  static constexpr auto fields =
      fields_of("broadcasts to [batch, m, n]", "[batch, m, k]", "[batch, k, n]");
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static Args grad(const Back<Baddbmm>& b);
  static void samples(SampleList& s);
};

struct Addbmm : AddedProduct {
  static constexpr std::string_view name = "addbmm";
  static constexpr std::string_view doc =
      "beta * c + alpha * the sum of a batch's matrix products.";
  static constexpr std::string_view example =
      "rille.addbmm(rille.ones(4), rille.ones(5, 2, 3), rille.ones(5, 3, 4))";
  static constexpr auto fields =
      fields_of("broadcasts to [m, n]", "[batch, m, k]", "[batch, k, n]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Addmv : AddedProduct {
  static constexpr std::string_view name = "addmv";
  static constexpr std::string_view doc = "beta * c + alpha * (x @ y) for a matrix and a vector.";
  static constexpr std::string_view example =
      "rille.addmv(rille.ones(2), rille.ones(2, 3), rille.ones(3))";
  static constexpr auto fields = fields_of("broadcasts to [m]", "[m, k]", "[k]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Addr : AddedProduct {
  static constexpr std::string_view name = "addr";
  static constexpr std::string_view doc = "beta * c + alpha * the outer product of two vectors.";
  static constexpr std::string_view example =
      "rille.addr(rille.ones(2, 3), rille.ones(2), rille.ones(3))";
  static constexpr auto fields = fields_of("broadcasts to [m, n]", "[m]", "[n]");
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// x @ y by the rules of matmul.
Tensor matmul(const Tensor& x, const Tensor& y);

}  // namespace rille
