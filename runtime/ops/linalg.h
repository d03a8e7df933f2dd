// Linear systems, determinants and what follows from triangles. Batches are the dims before the
// last two. Everything is computed in f64 and rounded once; decompositions are in ops/decompose.h.
#pragma once
#include "ops/op.h"

namespace rille {

/// x with a x = b for matrices b of the same batch.
struct SolveMatrix {
  struct Args {
    Tensor a, b;
  };
  static constexpr std::string_view name = "solve_matrix";
  static constexpr bool internal = true;
  static constexpr std::string_view doc = "x with a x = b, for batches of one shape.";
  static constexpr auto fields =
      Fields{field("a", &Args::a, "[..., n, n]").saved(), field("b", &Args::b, "[..., n, m]")};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool method = false, saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<SolveMatrix>& b);
  static void samples(SampleList& s);
};

struct Solve {
  struct Args {
    Tensor a, b;
    bool left = true;
  };
  static constexpr std::string_view name = "solve";
  static constexpr std::string_view doc =
      "x with a x = b, or x a = b where left is false; b may be a vector.";
  static constexpr std::string_view example = "rille.solve(rille.eye(2) * 2, rille.ones(2))";
  static constexpr auto fields =
      Fields{field("a", &Args::a, "[..., n, n]"), field("b", &Args::b, "[..., n, m] or [..., n]"),
             field("left", &Args::left, "on which side a stands")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct Inverse {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "inverse";
  static constexpr std::string_view doc =
      "The inverse of square matrices; solve is better where one is only multiplied by.";
  static constexpr std::string_view example = "rille.inverse(rille.tensor{{2, 0}, {0, 4}})";
  static constexpr auto fields = Fields{field("x", &Args::x, "[..., n, n]")};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Inverse>& b);
  static void samples(SampleList& s);
};

// ---- determinants
// --------------------------------------------------------------------------------

struct Det {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "det";
  static constexpr std::string_view doc = "The determinants of square matrices.";
  static constexpr std::string_view example = "rille.det(rille.tensor{{2, 1}, {0, 4}})";
  static constexpr auto fields = Fields{field("x", &Args::x, "[..., n, n]").saved()};
  static constexpr Autocast autocast = Autocast::f32;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Det>& b);
  static void samples(SampleList& s);
};

/// The slope of det, of singular matrices too.
struct Cofactor {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "cofactor";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "The cofactors of square matrices: det(x) times the transposed inverse where there is one.";
  static constexpr auto fields = Fields{field("x", &Args::x, "[..., n, n]")};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool method = false;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct SlogDet {
  struct Args {
    Tensor x;
  };
  struct Out {
    Tensor sign, logabsdet;
  };
  static constexpr std::string_view name = "slogdet";
  static constexpr std::string_view doc =
      "The signs of determinants and the logarithms of their absolute values.";
  static constexpr std::string_view example = "rille.slogdet(rille.tensor{{2, 1}, {0, 4}})";
  static constexpr auto fields = Fields{field("x", &Args::x, "[..., n, n]").saved()};
  static constexpr std::array<std::string_view, 2> result_names{"sign", "logabsdet"};
  static constexpr Autocast autocast = Autocast::f32;
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Args grad(const Back<SlogDet>& b);
  static void samples(SampleList& s);
};

struct LogDet {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "logdet";
  static constexpr std::string_view doc =
      "The logarithms of determinants: -inf where one is 0, nan where it is negative.";
  static constexpr std::string_view example = "rille.logdet(rille.tensor{{2, 1}, {0, 4}})";
  static constexpr auto fields = Fields{field("x", &Args::x, "[..., n, n]")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- triangles
// -----------------------------------------------------------------------------------

struct Cholesky {
  struct Args {
    Tensor x;
    bool upper = false;
  };
  static constexpr std::string_view name = "cholesky";
  static constexpr std::string_view doc =
      "The lower triangle L with L L^T = x, or its transpose; of x the symmetric part is taken.";
  static constexpr std::string_view example = "rille.cholesky(rille.tensor{{4, 2}, {2, 5}})";
  static constexpr auto fields = Fields{field("x", &Args::x, "[..., n, n], positive definite"),
                                        field("upper", &Args::upper, "the transpose of L instead")};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Cholesky>& b);
  static void samples(SampleList& s);
};

/// x with a x = b for triangles a and matrices b of the same batch.
struct SolveTriangle {
  struct Args {
    Tensor a, b;
    bool upper = false, unit = false;
  };
  static constexpr std::string_view name = "solve_triangle";
  static constexpr bool internal = true;
  static constexpr std::string_view doc =
      "x with a x = b for triangles a, for batches of one shape.";
  static constexpr auto fields =
      Fields{field("a", &Args::a, "[..., n, n]").saved(), field("b", &Args::b, "[..., n, m]"),
             field("upper", &Args::upper, "which part of a is read"),
             field("unit", &Args::unit, "the diagonal counts as ones")};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool method = false, saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<SolveTriangle>& b);
  static void samples(SampleList& s);
};

struct SolveTriangular {
  struct Args {
    Tensor a, b;
    bool upper = false, left = true, unitriangular = false;
  };
  static constexpr std::string_view name = "solve_triangular";
  static constexpr std::string_view doc =
      "x with a x = b, or x a = b, where a is a triangle; the rest of a is not read.";
  static constexpr std::string_view example =
      "rille.solve_triangular(rille.eye(2), rille.ones(2, 1), { upper = true })";
  static constexpr auto fields =
      Fields{field("a", &Args::a, "[..., n, n]"), field("b", &Args::b, "[..., n, m]"),
             field("upper", &Args::upper, "which triangle a is").required(),
             field("left", &Args::left, "on which side a stands"),
             field("unitriangular", &Args::unitriangular, "the diagonal counts as ones")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct TriangularSolve {
  struct Args {
    Tensor b, a;
    bool upper = true, transpose = false, unitriangular = false;
  };
  static constexpr std::string_view name = "triangular_solve";
  static constexpr std::string_view doc =
      "x with a x = b where a is a triangle: solve_triangular with b first.";
  static constexpr std::string_view example =
      "rille.triangular_solve(rille.ones(2, 1), rille.eye(2))";
  static constexpr auto fields =
      Fields{field("b", &Args::b, "[..., n, m]"), field("a", &Args::a, "[..., n, n]"),
             field("upper", &Args::upper, "which triangle a is"),
             field("transpose", &Args::transpose, "solve with the transpose of a"),
             field("unitriangular", &Args::unitriangular, "the diagonal counts as ones")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct CholeskySolve {
  struct Args {
    Tensor b, l;
    bool upper = false;
  };
  static constexpr std::string_view name = "cholesky_solve";
  static constexpr std::string_view doc = "x with (l l^T) x = b, where l is what cholesky gives.";
  static constexpr std::string_view example =
      "rille.cholesky_solve(rille.ones(2, 1), rille.eye(2) * 2)";
  static constexpr auto fields =
      Fields{field("b", &Args::b, "[..., n, m]"), field("l", &Args::l, "[..., n, n]"),
             field("upper", &Args::upper, "l is the upper triangle")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct CholeskyInverse {
  struct Args {
    Tensor l;
    bool upper = false;
  };
  static constexpr std::string_view name = "cholesky_inverse";
  static constexpr std::string_view doc = "The inverse of l l^T, where l is what cholesky gives.";
  static constexpr std::string_view example = "rille.cholesky_inverse(rille.eye(2) * 2)";
  static constexpr auto fields = Fields{field("l", &Args::l, "[..., n, n]"),
                                        field("upper", &Args::upper, "l is the upper triangle")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

// ---- for other ops
// -------------------------------------------------------------------------------

Tensor inverse(const Tensor& x);
Tensor solve_triangle(const Tensor& a, const Tensor& b, bool upper);
/// Throws unless x holds f32 or f64 matrices, or square ones.
void check_matrices(const Tensor& x, const char* field);
void check_square(const Tensor& x, const char* field);
/// The dims before the last two.
Shape batch_of(const Tensor& x);
/// f64, row-major: x itself where it is that.
Tensor in_f64(const Tensor& x);
/// The identity, in the dtype and on the device of x.
Tensor identity_like(const Tensor& x, int64_t n);

}  // namespace rille
