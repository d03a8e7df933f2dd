// Reductions over dims: sums, means, products, norms, truth. Those that choose an element are in
// ops/extreme.h, those that need an order in ops/order.h.
#pragma once
#include "ops/pointwise.h"

namespace rille {

// ---- what reductions share --------------------------------------------------------------------

/// Dims as a set, one bit each; none named are all. Throws E_INDEX, and E_ARG where one is named
/// twice.
uint32_t dim_set(const Axes& dims, int rank);
/// The shape that remains of `x`.
Shape reduced_shape(const Shape& x, uint32_t dims, bool keepdim);
/// Number of elements that make one result.
int64_t reduced_count(const Shape& x, const Axes& dims);
/// A result of a reduction of `x`, with or without kept dims, shown in the shape of `x`.
Tensor spread(const Tensor& y, const Tensor& x, const Axes& dims);
/// 1 where x equals y, its reduction; equal elements share the 1.
Tensor tie_share(const Tensor& x, const Tensor& y, const Axes& dims);

/// [n, n], true where `holds` for row and column.
Tensor index_mask(int64_t n, Device device, bool (*holds)(int64_t row, int64_t column));

/// Samples of a reduction: all dims, one, several; strided, 0-d, none of size.
template <class O>
void dims_samples(SampleList& s) {
  const auto add = [&](const Tensor& x, const Axes& dims, bool keepdim) {
    typename O::Args a{};
    a.x = x;
    a.dims = dims;
    a.keepdim = keepdim;
    add_sample<O>(s, std::move(a));
  };
  add(grid({3, 4}, -1.3, 2.1), {}, false);
  add(grid({2, 3, 4}, -1.3, 2.1), {1}, false);
  add(strided(grid({2, 3, 4}, -1.3, 2.1)), {0, -1}, true);
  add(grid({3, 2}, -1.3, 2.1), {-1}, false);
  add(grid({}, 0.5, 1), {}, false);
  add(grid({0, 3}, -1, 1), {1}, false);
}

/// x, dims, keepdim; the result has the dtype of x unless O::dtype says otherwise.
template <class O>
struct Reduction {
  struct Args {
    Tensor x;
    Axes dims = {};
    bool keepdim = false;
  };
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dims", &Args::dims, "default: all"),
             field("keepdim", &Args::keepdim, "keep reduced dims with size 1")};
  static Meta infer(const Args& a) {
    return meta_of(reduced_shape(a.x.shape(), dim_set(a.dims, a.x.rank()), a.keepdim),
                   O::dtype(a.x), a.x);
  }
  static void samples(SampleList& s) { dims_samples<O>(s); }
};

/// The same with a dtype for the result, to which elements are cast first.
template <class O>
struct CastReduction {
  struct Args {
    Tensor x;
    Axes dims = {};
    bool keepdim = false;
    std::optional<DType> dtype = {};
  };
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dims", &Args::dims, "default: all"),
             field("keepdim", &Args::keepdim, "keep reduced dims with size 1"),
             field("dtype", &Args::dtype, "of the result; elements are cast first")};
  static Meta infer(const Args& a) {
    return meta_of(reduced_shape(a.x.shape(), dim_set(a.dims, a.x.rank()), a.keepdim),
                   a.dtype.value_or(O::dtype(a.x)), a.x);
  }
  static void samples(SampleList& s) { dims_samples<O>(s); }
};

// ---- sums -------------------------------------------------------------------------------------

struct Sum : CastReduction<Sum> {
  static constexpr std::string_view name = "sum";
  static constexpr std::string_view doc =
      "The sum over all elements, or over the dims given. Integers sum in i64.";
  static constexpr std::string_view example = "rille.sum(rille.ones(2, 3), 1)";
  static constexpr Autocast autocast = Autocast::f32_out;
  static DType dtype(const Tensor& x) { return x.is_float() ? x.dtype() : DType::i64; }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Sum>& b);
};

struct Mean : CastReduction<Mean> {
  static constexpr std::string_view name = "mean";
  static constexpr std::string_view doc = "The mean over all elements, or over the dims given.";
  static constexpr std::string_view example = "rille.mean(rille.ones(2, 3), 1)";
  static DType dtype(const Tensor& x) { return x.dtype(); }
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Mean>& b);
};

struct NanSum : CastReduction<NanSum> {
  static constexpr std::string_view name = "nansum";
  static constexpr std::string_view doc =
      "The sum over all elements, or over the dims given, with nan counted as 0.";
  static constexpr std::string_view example = "rille.nansum(rille.tensor{1, 0/0, 2})";
  static DType dtype(const Tensor& x) { return Sum::dtype(x); }
  static uint64_t saves(const Args& a, uint64_t) { return a.x.is_float(); }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<NanSum>& b);
};

struct NanMean : CastReduction<NanMean> {
  static constexpr std::string_view name = "nanmean";
  static constexpr std::string_view doc =
      "The mean over all elements, or over the dims given, of what is not nan.";
  static constexpr std::string_view example = "rille.nanmean(rille.tensor{1, 0/0, 2})";
  static DType dtype(const Tensor& x) { return x.dtype(); }
  static Tensor compose(const Args& a);
};

struct Prod {
  struct Args {
    Tensor x;
    std::optional<Axis> dim = {};
    bool keepdim = false;
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "prod";
  static constexpr std::string_view doc =
      "The product of all elements, or along a dim. Integers multiply in i64.";
  static constexpr std::string_view example = "rille.prod(rille.tensor{1, 2, 3})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor").saved(), field("dim", &Args::dim, "default: all"),
             field("keepdim", &Args::keepdim, "keep the reduced dim with size 1"),
             field("dtype", &Args::dtype, "of the result; elements are cast first")};
  static constexpr Autocast autocast = Autocast::f32_out;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Prod>& b);
  static void samples(SampleList& s);
};

/// For each element the product of the others along dim: the slope of prod, without a division.
struct ProdOthers {
  struct Args {
    Tensor x;
    Axis dim;
  };
  static constexpr std::string_view name = "prod_others";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "For each element the product of the others along dim.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor"),
                                        field("dim", &Args::dim, "the dim").required()};
  static constexpr bool method = false;
  static Meta infer(const Args& a) {
    axis(a.dim.value, a.x.rank());
    return meta_of(a.x.shape(), a.x.dtype(), a.x);
  }
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- spread -----------------------------------------------------------------------------------

/// Arguments of var and std.
template <class O>
struct SpreadReduction {
  struct Args {
    Tensor x;
    Axes dims = {};
    double correction = 1;
    bool keepdim = false, unbiased = true;
  };
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any float tensor").saved(), field("dims", &Args::dims, "default: all"),
      field("correction", &Args::correction,
            "what is taken off the number of elements to divide by"),
      field("keepdim", &Args::keepdim, "keep reduced dims with size 1"),
      field("unbiased", &Args::unbiased, "false: correction 0")};
  static void samples(SampleList& s);
};

struct Var : SpreadReduction<Var> {
  static constexpr std::string_view name = "var";
  static constexpr std::string_view doc = "The variance over all elements, or over the dims given.";
  static constexpr std::string_view example = "rille.var(rille.tensor{1, 2, 3})";
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Var>& b);
};

struct Std : SpreadReduction<Std> {
  static constexpr std::string_view name = "std";
  static constexpr std::string_view doc =
      "The standard deviation over all elements, or over the dims given.";
  static constexpr std::string_view example = "rille.std(rille.tensor{1, 2, 3})";
  static constexpr bool saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Std>& b);
};

struct VarMean : SpreadReduction<VarMean> {
  struct Out {
    Tensor var, mean;
  };
  static constexpr std::string_view name = "var_mean";
  static constexpr std::string_view doc = "The variance and the mean.";
  static constexpr std::string_view example = "rille.var_mean(rille.tensor{1, 2, 3})";
  static Out compose(const Args& a);
};

struct StdMean : SpreadReduction<StdMean> {
  struct Out {
    Tensor std, mean;
  };
  static constexpr std::string_view name = "std_mean";
  static constexpr std::string_view doc = "The standard deviation and the mean.";
  static constexpr std::string_view example = "rille.std_mean(rille.tensor{1, 2, 3})";
  static Out compose(const Args& a);
};

// ---- norms ------------------------------------------------------------------------------------

struct Norm {
  struct Args {
    Tensor x;
    double p = 2;
    Axes dims = {};
    bool keepdim = false;
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "norm";
  static constexpr std::string_view doc =
      "(sum |x|^p)^(1/p) over all elements or the dims given; p = 2 is the Frobenius norm, "
      "math.huge the "
      "largest |x|, 0 the number of elements that are not 0.";
  static constexpr std::string_view example = "rille.norm(rille.tensor{3, 4})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor").saved(), field("p", &Args::p, "the order"),
             field("dims", &Args::dims, "default: all"),
             field("keepdim", &Args::keepdim, "keep reduced dims with size 1"),
             field("dtype", &Args::dtype, "of the result; elements are cast first")};
  static constexpr Autocast autocast = Autocast::f32_out;
  static constexpr bool saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Norm>& b);
  static void samples(SampleList& s);
};

struct VectorNorm {
  struct Args {
    Tensor x;
    double ord = 2;
    Axes dims = {};
    bool keepdim = false;
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "vector_norm";
  static constexpr std::string_view doc =
      "The norm of x read as vectors: rille.norm under the name of linear algebra.";
  static constexpr std::string_view example = "rille.vector_norm(rille.tensor{3, 4}, 1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("ord", &Args::ord, "the order"),
             field("dims", &Args::dims, "default: all"),
             field("keepdim", &Args::keepdim, "keep reduced dims with size 1"),
             field("dtype", &Args::dtype, "of the result; elements are cast first")};
  static constexpr Autocast autocast = Autocast::f32_out;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Dist {
  struct Args {
    Tensor x, y;
    double p = 2;
  };
  static constexpr std::string_view name = "dist";
  static constexpr std::string_view doc = "The norm of x - y.";
  static constexpr std::string_view example = "rille.dist(rille.tensor{1, 2}, rille.tensor{4, 6})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("y", &Args::y, "broadcasts with x"),
             field("p", &Args::p, "the order")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// sign(x) |x|^p, and 0 where x is 0 whatever p: the slope of |x|^(p + 1) but for a factor.
struct SignedPow : Unary<SignedPow> {
  struct Args {
    Tensor x;
    double p = 1;
  };
  static constexpr std::string_view name = "signed_pow";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "sign(x) |x|^p, and 0 where x is 0.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any float tensor"), field("p", &Args::p, "the power")};
  static constexpr bool method = false, in_place = false;
  struct Fn {
    double p;
    template <class A>
    RILLE_HD A value(A x) const {
      const A y = p == 0 ? A(1) : math::pow(math::fabs(x), static_cast<A>(p));
      return x > A(0) ? y : x < A(0) ? -y : x;
    }
    template <class A>
    RILLE_HD A slope(A x) const {
      const A y = A(p) * math::exp(A(p - 1) * math::log(math::fabs(x)));
      return x == A(0) || p == 0 ? A(p == 1 ? 1 : 0) : y;
    }
  };
  static Fn fn(const Args& a) { return {a.p}; }
  static void samples(SampleList& s);
};

/// x / y, and 0 where y is 0: gradients of norms at the origin.
struct DivideOrZero : Binary<DivideOrZero> {
  static constexpr std::string_view name = "divide_or_zero";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "x / y, and 0 where y is 0.";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor").saved(),
                                        field("y", &Args::y, "any float tensor").saved()};
  static constexpr bool method = false, in_place = false, keeps_integers = false;
  struct Fn {
    template <class A>
    RILLE_HD A value(A x, A y) const {
      return y == A(0) ? A(0) : x / y;
    }
  };
  static Args grad(const Back<DivideOrZero>& b);
  static void samples(SampleList& s);
};

struct LogSumExp : Reduction<LogSumExp> {
  static constexpr std::string_view name = "logsumexp";
  static constexpr std::string_view doc =
      "log(sum(exp(x))) over all elements or the dims given, without overflow.";
  static constexpr std::string_view example = "rille.logsumexp(rille.tensor{{1, 2}, {3, 4}}, 2)";
  static constexpr Autocast autocast = Autocast::f32;
  static DType dtype(const Tensor& x) { return float_type(x); }
  static uint64_t saves(const Args&, uint64_t) { return 1; }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<LogSumExp>& b);
};

// ---- truth ------------------------------------------------------------------------------------

struct All : Reduction<All> {
  static constexpr std::string_view name = "all";
  static constexpr std::string_view doc =
      "True where every element is not 0, of all or along the dims given.";
  static constexpr std::string_view example = "rille.all(rille.tensor{1, 2, 0}:gt(0))";
  static constexpr bool differentiable = false;
  static DType dtype(const Tensor&) { return DType::boolean; }
  static void cpu(const Args& a, Tensor& y);
};

struct Any : Reduction<Any> {
  static constexpr std::string_view name = "any";
  static constexpr std::string_view doc =
      "True where some element is not 0, of all or along the dims given.";
  static constexpr std::string_view example = "rille.any(rille.tensor{1, 2, 0}:gt(0))";
  static constexpr bool differentiable = false;
  static DType dtype(const Tensor&) { return DType::boolean; }
  static void cpu(const Args& a, Tensor& y);
};

struct CountNonzero : Reduction<CountNonzero> {
  static constexpr std::string_view name = "count_nonzero";
  static constexpr std::string_view doc =
      "The number of elements that are not 0, of all or along the dims given.";
  static constexpr std::string_view example = "rille.count_nonzero(rille.tensor{1, 0, 2})";
  static constexpr bool differentiable = false;
  static DType dtype(const Tensor&) { return DType::i64; }
  static void cpu(const Args& a, Tensor& y);
};

}  // namespace rille
