// Matrices taken apart: QR, eigenvalues, singular values, and what is made of them. Batches are the
// dims before the last two; everything is computed in f64 and rounded once. Gradients are those of
// the formulas in ops; where values coincide, what would be divided by their difference is left
// out.
#pragma once
#include "ops/op.h"

namespace rille {

struct Qr {
  enum class Mode { reduced, complete, r };
  struct Args {
    Tensor x;
    Mode mode = Mode::reduced;
  };
  struct Out {
    Tensor q, r;
  };
  static constexpr std::string_view name = "qr";
  static constexpr std::string_view doc =
      "q with orthonormal columns and an upper triangle r with q r = x. 'complete' gives a square "
      "q, 'r' no q.";
  static constexpr std::string_view example = "rille.qr(rille.tensor{{3, 1}, {4, 2}})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., m, n]"), field("mode", &Args::mode, "how much of q")};
  static constexpr std::array<std::string_view, 2> result_names{"q", "r"};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Args grad(const Back<Qr>& b);
  static void samples(SampleList& s);
};
constexpr std::array<std::string_view, 3> names_of(Qr::Mode) {
  return {"reduced", "complete", "r"};
}

/// Which half of a matrix that should be symmetric is read.
enum class Half { both, L, U };
constexpr std::array<std::string_view, 3> names_of(Half) { return {"both", "L", "U"}; }

struct Eigh {
  struct Args {
    Tensor x;
    Half half = Half::both;
  };
  struct Out {
    Tensor values, vectors;
  };
  static constexpr std::string_view name = "eigh";
  static constexpr std::string_view doc =
      "The ascending eigenvalues of symmetric matrices, and eigenvectors as columns; of x the "
      "symmetric part is taken, or one half where UPLO names it.";
  static constexpr std::string_view example = "rille.eigh(rille.tensor{{2, 1}, {1, 2}})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., n, n]"),
             field("UPLO", &Args::half, "'L' or 'U' reads that half only")};
  static constexpr std::array<std::string_view, 2> result_names{"values", "vectors"};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  static std::array<Meta, 2> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Args grad(const Back<Eigh>& b);
  static void samples(SampleList& s);
};

struct Eigvalsh {
  struct Args {
    Tensor x;
    Half half = Half::both;
  };
  static constexpr std::string_view name = "eigvalsh";
  static constexpr std::string_view doc = "The ascending eigenvalues of symmetric matrices.";
  static constexpr std::string_view example = "rille.eigvalsh(rille.tensor{{2, 1}, {1, 2}})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., n, n]").saved(),
             field("UPLO", &Args::half, "'L' or 'U' reads that half only")};
  static constexpr Autocast autocast = Autocast::f32;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Eigvalsh>& b);
  static void samples(SampleList& s);
};

struct Svd {
  struct Args {
    Tensor x;
    bool full_matrices = false;
  };
  struct Out {
    Tensor u, s, vh;
  };
  static constexpr std::string_view name = "svd";
  static constexpr std::string_view doc =
      "u, descending s and vh with u diag(s) vh = x; u's columns and vh's rows are orthonormal.";
  static constexpr std::string_view example = "rille.svd(rille.tensor{{3, 0}, {0, 4}})";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., m, n]"),
             field("full_matrices", &Args::full_matrices, "square u and vh")};
  static constexpr std::array<std::string_view, 3> result_names{"u", "s", "vh"};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  static std::array<Meta, 3> infer(const Args& a);
  static void cpu(const Args& a, Out& y);
  static Args grad(const Back<Svd>& b);
  static void samples(SampleList& s);
};

struct Svdvals {
  struct Args {
    Tensor x;
  };
  static constexpr std::string_view name = "svdvals";
  static constexpr std::string_view doc = "The descending singular values of matrices.";
  static constexpr std::string_view example = "rille.svdvals(rille.tensor{{3, 0}, {0, 4}})";
  static constexpr auto fields = Fields{field("x", &Args::x, "[..., m, n]").saved()};
  static constexpr Autocast autocast = Autocast::f32;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Svdvals>& b);
  static void samples(SampleList& s);
};

// ---- of singular values
// --------------------------------------------------------------------------

struct Pinverse {
  struct Args {
    Tensor x;
    double rcond = 1e-15;
  };
  static constexpr std::string_view name = "pinverse";
  static constexpr std::string_view doc = "The pseudo-inverse of Moore and Penrose.";
  static constexpr std::string_view example = "rille.pinverse(rille.ones(3, 2))";
  static constexpr auto fields = Fields{
      field("x", &Args::x, "[..., m, n]").saved(),
      field("rcond", &Args::rcond, "singular values up to this times the largest count as 0")};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool saves_output = true;
  static Meta infer(const Args& a);
  static void cpu(const Args& a, Tensor& y);
  static Args grad(const Back<Pinverse>& b);
  static void samples(SampleList& s);
};

struct Lstsq {
  struct Args {
    Tensor a, b;
    std::optional<double> rcond = {};
  };
  static constexpr std::string_view name = "lstsq";
  static constexpr std::string_view doc = "The shortest x that makes the norm of a x - b least.";
  static constexpr std::string_view example =
      "rille.lstsq(rille.tensor{{1, 0}, {1, 1}, {1, 2}}, rille.tensor{{1}, {3}, {5}})";
  static constexpr auto fields =
      Fields{field("a", &Args::a, "[..., m, n]"), field("b", &Args::b, "[..., m, k]"),
             field("rcond", &Args::rcond,
                   "as in pinverse; default: the dtype's eps times the larger size")};
  static constexpr Autocast autocast = Autocast::f32;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

struct MatrixRank {
  struct Args {
    Tensor x;
    std::optional<double> atol = {}, rtol = {};
  };
  static constexpr std::string_view name = "matrix_rank";
  static constexpr std::string_view doc =
      "The number of singular values above the larger of atol and rtol times the largest.";
  static constexpr std::string_view example = "rille.matrix_rank(rille.ones(3, 2))";
  static constexpr auto fields =
      Fields{field("x", &Args::x, "[..., m, n]"), field("atol", &Args::atol, "default: 0"),
             field("rtol", &Args::rtol,
                   "default: the dtype's eps times the larger size, 0 where atol is given")};
  static constexpr Autocast autocast = Autocast::f32;
  static constexpr bool differentiable = false;
  static Tensor compose(const Args& a);
  static void samples(SampleList& s);
};

}  // namespace rille
