// Comparisons and truth: bool results, no gradients. Operations on the bits of integers are in
// ops/bitwise.h.
#pragma once
#include "ops/pointwise.h"

namespace rille {

/// What the comparisons share: arguments, samples, and a functor without state.
template <class O>
struct PlainComparison : Comparison<O> {
  using typename Comparison<O>::Args;
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor or number").number(),
                                        field("y", &Args::y, "any tensor or number").number()};
  static void samples(SampleList& s);
};

struct Eq : PlainComparison<Eq> {
  static constexpr std::string_view name = "eq";
  static constexpr std::string_view doc =
      "True where x is equal to y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.eq(rille.tensor{1, 2, 3}, 2)";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return x == y;
    }
  };
};

struct Ne : PlainComparison<Ne> {
  static constexpr std::string_view name = "ne";
  static constexpr std::string_view doc =
      "True where x is not equal to y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.ne(rille.tensor{1, 2, 3}, 2)";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return x != y;
    }
  };
};

struct Lt : PlainComparison<Lt> {
  static constexpr std::string_view name = "lt";
  static constexpr std::string_view doc = "True where x is below y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.lt(rille.tensor{1, 2, 3}, 2)";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return x < y;
    }
  };
};

struct Le : PlainComparison<Le> {
  static constexpr std::string_view name = "le";
  static constexpr std::string_view doc =
      "True where x is at most y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.le(rille.tensor{1, 2, 3}, 2)";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return x <= y;
    }
  };
};

struct Gt : PlainComparison<Gt> {
  static constexpr std::string_view name = "gt";
  static constexpr std::string_view doc = "True where x is above y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.gt(rille.tensor{1, 2, 3}, 2)";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return x > y;
    }
  };
};

struct Ge : PlainComparison<Ge> {
  static constexpr std::string_view name = "ge";
  static constexpr std::string_view doc =
      "True where x is at least y, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.ge(rille.tensor{1, 2, 3}, 2)";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return x >= y;
    }
  };
};

struct LogicalAnd : PlainComparison<LogicalAnd> {
  static constexpr std::string_view name = "logical_and";
  static constexpr std::string_view doc =
      "True where both are not 0, elementwise with broadcasting.";
  static constexpr std::string_view example =
      "rille.logical_and(rille.tensor{0, 1, 2}, rille.tensor{0, 0, 1})";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return (x != A(0)) & (y != A(0));
    }
  };
};

struct LogicalOr : PlainComparison<LogicalOr> {
  static constexpr std::string_view name = "logical_or";
  static constexpr std::string_view doc =
      "True where at least one is not 0, elementwise with broadcasting.";
  static constexpr std::string_view example =
      "rille.logical_or(rille.tensor{0, 1, 2}, rille.tensor{0, 0, 1})";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return (x != A(0)) | (y != A(0));
    }
  };
};

struct LogicalXor : PlainComparison<LogicalXor> {
  static constexpr std::string_view name = "logical_xor";
  static constexpr std::string_view doc =
      "True where exactly one is not 0, elementwise with broadcasting.";
  static constexpr std::string_view example =
      "rille.logical_xor(rille.tensor{0, 1, 2}, rille.tensor{0, 0, 1})";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      return (x != A(0)) != (y != A(0));
    }
  };
};

struct IsClose : Comparison<IsClose> {
  struct Args {
    Tensor x, y;
    double rtol = 1e-5, atol = 1e-8;
    bool equal_nan = false;
  };
  static constexpr std::string_view name = "isclose";
  static constexpr std::string_view doc =
      "True where |x - y| <= atol + rtol * |y|, elementwise with broadcasting.";
  static constexpr std::string_view example = "rille.isclose(rille.tensor{1, 2}, 1.000001)";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor or number").number(),
             field("y", &Args::y, "any tensor or number").number(),
             field("rtol", &Args::rtol, "relative to y"), field("atol", &Args::atol, "absolute"),
             field("equal_nan", &Args::equal_nan, "nan is close to nan")};
  static constexpr bool in_place = false;
  struct Fn {
    double rtol, atol;
    bool equal_nan;
    template <class A>
    RILLE_HD bool value(A x, A y) const {
      const double a = static_cast<double>(x), b = static_cast<double>(y);
      if (a != a || b != b) return equal_nan && a != a && b != b;
      return x == y || (std::isfinite(b) && std::abs(a - b) <= atol + rtol * std::abs(b));
    }
  };
  static Fn fn(const Args& a) { return {a.rtol, a.atol, a.equal_nan}; }
  static void samples(SampleList& s);
};

struct AllClose {
  struct Args {
    Tensor x, y;
    double rtol = 1e-5, atol = 1e-8;
    bool equal_nan = false;
  };
  static constexpr std::string_view name = "allclose";
  static constexpr std::string_view doc = "True or false: whether isclose holds everywhere.";
  static constexpr std::string_view example =
      "rille.allclose(rille.tensor{1, 2}, rille.tensor{1, 2})";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "any tensor"), field("y", &Args::y, "any tensor or number").number(),
      field("rtol", &Args::rtol, "relative to y"), field("atol", &Args::atol, "absolute"),
      field("equal_nan", &Args::equal_nan, "nan is close to nan")};
  static constexpr bool differentiable = false, truth = true, narrow = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

struct Equal {
  struct Args {
    Tensor x, y;
  };
  static constexpr std::string_view name = "equal";
  static constexpr std::string_view doc =
      "True or false: whether shapes and all values are the same.";
  static constexpr std::string_view example = "rille.equal(rille.tensor{1, 2}, rille.tensor{1, 2})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "any tensor"), field("y", &Args::y, "any tensor")};
  static constexpr bool differentiable = false, truth = true, narrow = true;
  static Meta infer(const Args& a) { return meta_of({}, DType::boolean, a.x); }
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s);
};

/// bool = value(x).
template <class O>
struct Predicate {
  struct Args {
    Tensor x;
  };
  static constexpr auto fields = Fields{field("x", &Args::x, "any tensor")};
  static constexpr bool strided_out = true, differentiable = false, narrow = true;
  static Meta infer(const Args& a) { return pointwise_meta({&a.x}, DType::boolean); }
  static void cpu(const Args& a, Tensor& y);
  static void samples(SampleList& s) { unary_samples<O>(s, -2, 2); }
};

struct LogicalNot : Predicate<LogicalNot> {
  static constexpr std::string_view name = "logical_not";
  static constexpr std::string_view doc = "True where x is 0, elementwise.";
  static constexpr std::string_view example = "rille.logical_not(rille.tensor{0, 1})";
  static constexpr bool in_place = true;
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x) const {
      return x == A(0);
    }
  };
};

struct IsNan : Predicate<IsNan> {
  static constexpr std::string_view name = "isnan";
  static constexpr std::string_view doc = "True where x is nan, elementwise.";
  static constexpr std::string_view example = "rille.isnan(rille.tensor{1, 1 / 0, 0 / 0})";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x) const {
      return x != x;
    }
  };
};

struct IsInf : Predicate<IsInf> {
  static constexpr std::string_view name = "isinf";
  static constexpr std::string_view doc = "True where x is infinite, elementwise.";
  static constexpr std::string_view example = "rille.isinf(rille.tensor{1, 1 / 0, 0 / 0})";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x) const {
      return x == x && x - x != A(0);
    }
  };
};

struct IsFinite : Predicate<IsFinite> {
  static constexpr std::string_view name = "isfinite";
  static constexpr std::string_view doc = "True where x is neither infinite nor nan, elementwise.";
  static constexpr std::string_view example = "rille.isfinite(rille.tensor{1, 1 / 0, 0 / 0})";
  struct Fn {
    template <class A>
    RILLE_HD bool value(A x) const {
      return x - x == A(0);
    }
  };
};

}  // namespace rille
