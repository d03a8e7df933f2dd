// Scans along a dim: running sums, products, extremes; differences and integrals of samples.
#pragma once
#include "ops/extreme.h"

namespace rille {

struct Cumsum {
  struct Args {
    Tensor x;
    Axis dim;
    std::optional<DType> dtype = {};
    bool reverse = false;
  };
  static constexpr std::string_view name = "cumsum";
  static constexpr std::string_view doc =
      "Sums of x up to each element along a dim; from each to the end with reverse.";
  static constexpr std::string_view example = "rille.cumsum(rille.tensor{1, 2, 3}, 1)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "the dim").required(),
             field("dtype", &Args::dtype, "of the result; elements are cast first"),
             field("reverse", &Args::reverse, "sum from the end")};
  static constexpr Autocast autocast = Autocast::f32_out;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Cumsum>& b);
  static void samples(SampleList& s);
};

struct Cumprod {
  struct Args {
    Tensor x;
    Axis dim;
    std::optional<DType> dtype = {};
  };
  static constexpr std::string_view name = "cumprod";
  static constexpr std::string_view doc = "Products of x up to each element along a dim.";
  static constexpr std::string_view example = "rille.cumprod(rille.tensor{1, 2, 3}, 1)";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor").saved(), field("dim", &Args::dim, "the dim").required(),
      field("dtype", &Args::dtype, "of the result; elements are cast first")};
  static constexpr Autocast autocast = Autocast::f32_out;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Cumprod>& b);
  static void samples(SampleList& s);
};

/// dx[i] = sum over j >= i of dy[j] * (product of x[1..j] without x[i]), free of divisions.
struct CumprodGrad {
  struct Args {
    Tensor x, dy;
    Axis dim;
  };
  static constexpr std::string_view name = "cumprod_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradient of cumprod.";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "the argument"), field("dy", &Args::dy, "gradient of the result"),
             field("dim", &Args::dim, "the dim").required()};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct LogCumsumExp {
  struct Args {
    Tensor x;
    Axis dim;
  };
  static constexpr std::string_view name = "logcumsumexp";
  static constexpr std::string_view doc = "log(cumsum(exp(x))) along a dim, without overflow.";
  static constexpr std::string_view example = "rille.logcumsumexp(rille.tensor{1, 2, 3}, 1)";
  static constexpr auto fields = Fields{field("x", &Args::x, "any float tensor").saved(),
                                        field("dim", &Args::dim, "the dim").required()};
  static Meta infer(const Args& a) { return meta_of(a.x.shape(), float_type(a.x), a.x); }
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<LogCumsumExp>& b);
  static void samples(SampleList& s);
};

/// dx[i] = sum over j >= i of dy[j] exp(x[i] - y[j]), y being logcumsumexp(x).
struct LogCumsumExpGrad {
  struct Args {
    Tensor x, dy;
    Axis dim;
  };
  static constexpr std::string_view name = "logcumsumexp_grad";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "The gradient of logcumsumexp.";
  static constexpr auto fields = Fields{field("x", &Args::x, "the argument"),
                                        field("dy", &Args::dy, "the gradient of the result"),
                                        field("dim", &Args::dim, "the dim").required()};
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// Arguments of cummax and cummin.
template <class O>
struct RunningPick {
  struct Args {
    Tensor x;
    Axis dim;
  };
  using Out = Picked;
  static constexpr auto result_names = kPickedNames;
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("dim", &Args::dim, "the dim").required()};
  static std::array<Meta, 2> infer(const Args& a) {
    axis(a.dim.value, a.x.rank());
    return picked_meta(a.x, a.x.shape());
  }
  static Out compose(const Args& a) { return picked<O>(a); }
  static void samples(SampleList& s);
};

struct Cummax : RunningPick<Cummax> {
  static constexpr std::string_view name = "cummax";
  static constexpr std::string_view doc =
      "The largest element so far along a dim, and the id, from 0, of its last occurrence.";
  static constexpr std::string_view example = "rille.cummax(rille.tensor{1, 3, 2}, 1)";
  static void cpu(const Args& a, Out& y);
};

struct Cummin : RunningPick<Cummin> {
  static constexpr std::string_view name = "cummin";
  static constexpr std::string_view doc =
      "The smallest element so far along a dim, and the id, from 0, of its last occurrence.";
  static constexpr std::string_view example = "rille.cummin(rille.tensor{3, 1, 2}, 1)";
  static void cpu(const Args& a, Out& y);
};

struct Diff {
  struct Args {
    Tensor x;
    int64_t n = 1;
    Axis dim = {-1};
    std::optional<Tensor> prepend = {}, append = {};
  };
  static constexpr std::string_view name = "diff";
  static constexpr std::string_view doc =
      "Differences of neighbours along a dim, n times over; x itself where n is 0.";
  static constexpr std::string_view example = "rille.diff(rille.tensor{1, 4, 9})";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("n", &Args::n, "how often"),
      field("dim", &Args::dim, "the dim"), field("prepend", &Args::prepend, "put before x first"),
      field("append", &Args::append, "put after x first")};
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

/// Arguments of the integrals.
template <class O>
struct Integral {
  struct Args {
    Tensor y;
    std::optional<Tensor> x = {};
    double dx = 1;
    Axis dim = {-1};
  };
  static constexpr auto fields =
      Fields{field("y", &Args::y, "samples"),
             field("x", &Args::x, "where they were taken; default: dx apart"),
             field("dx", &Args::dx, "their distance"), field("dim", &Args::dim, "the dim")};
  static constexpr Autocast autocast = Autocast::f32;
  static void samples(SampleList& s);
};

struct Trapezoid : Integral<Trapezoid> {
  static constexpr std::string_view name = "trapezoid";
  static constexpr std::string_view doc =
      "The integral of samples along a dim by the trapezoidal rule.";
  static constexpr std::string_view example = "rille.trapezoid(rille.tensor{1, 2, 3})";
  static Tensor compose(const Args& a);
};

struct CumulativeTrapezoid : Integral<CumulativeTrapezoid> {
  static constexpr std::string_view name = "cumulative_trapezoid";
  static constexpr std::string_view doc =
      "The integral up to each sample but the first, by the trapezoidal rule.";
  static constexpr std::string_view example = "rille.cumulative_trapezoid(rille.tensor{1, 2, 3})";
  static Tensor compose(const Args& a);
};

}  // namespace rille
