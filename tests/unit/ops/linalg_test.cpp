// Decompositions by what defines them, and a few values of PyTorch 2.15.
#include "ops/linalg.h"

#include "core/error.h"
#include "ops/activation.h"
#include "ops/contract.h"
#include "ops/decompose.h"
#include "ops/index.h"
#include "ops/matmul.h"
#include "ops/view.h"
#include "unit/ops/values.h"

using namespace rille;
using namespace rille::test;

namespace {

// sin(1.3 k): neither symmetric nor singular.
Tensor wave(const Shape& s) {
  const Tensor t = Tensor::empty(s, DType::f64);
  for (int64_t k = 0; k < t.numel(); ++k)
    t.data_as<double>()[k] = std::sin(1.3 * static_cast<double>(k));
  return t;
}

void check_identity(const Tensor& x) {
  check_values(x, identity_like(x, x.size(-1)).to_vector(), 1e-10);
}

}  // namespace

TEST_CASE("decompositions multiply back", "[linalg]") {
  for (const Shape& shape : {Shape{3, 3}, Shape{4, 2}, Shape{2, 4}}) {
    const Tensor x = wave(shape);
    const auto qr = call<Qr>({.x = x});
    check_values(matmul(qr.q, qr.r), x.to_vector());
    check_identity(matmul(transpose(qr.q), qr.q));
    const auto svd = call<Svd>({.x = x});
    check_values(matmul(svd.u * unsqueeze(svd.s, -2), svd.vh), x.to_vector());
    check_identity(matmul(svd.vh, transpose(svd.vh)));
    CHECK(svd.s.at(0) >= svd.s.at(1));
  }
  const Tensor l = call<Cholesky>({.x = f64({4, 2, 2, 5}, {2, 2})});
  check_values(l, {2, 0, 1, 2});
}

TEST_CASE("eigenvalues of the half that is named", "[linalg]") {
  const Tensor x = wave({3, 3});
  check_values(call<Eigvalsh>({.x = x, .half = Half::L}),
               {-1.92282468337833, -0.561322076316502, 0.772865634889029});
  check_values(call<Eigvalsh>({.x = x, .half = Half::U}),
               {-1.51895055986384, -0.996445173903282, 0.804114608961312});
  const auto e = call<Eigh>({.x = x});
  const Tensor symmetric = (x + transpose(x)) * 0.5;
  check_values(matmul(symmetric, e.vectors), (e.vectors * unsqueeze(e.values, -2)).to_vector(),
               1e-10);
  check_identity(matmul(transpose(e.vectors), e.vectors));
}

TEST_CASE("inverses and determinants that are known", "[linalg]") {
  // Hilbert's matrix of three rows has an inverse of integers, and 1 / 2160 as its determinant.
  const Tensor h = f64({1, 1. / 2, 1. / 3, 1. / 2, 1. / 3, 1. / 4, 1. / 3, 1. / 4, 1. / 5}, {3, 3});
  check_values(inverse(h), {9, -36, 30, -36, 192, -180, 30, -180, 180}, 1e-10);
  CHECK(call<Det>({.x = h}).item() == Approx(1. / 2160));
  check_values(call<Solve>({.a = h, .b = f64({11. / 6, 13. / 12, 47. / 60})}), {1, 1, 1}, 1e-10);
  CHECK_THROWS_AS(inverse(f64({1, 2, 2, 4}, {2, 2})), Error);
}

TEST_CASE("pseudo-inverses hold Penrose's equations", "[linalg]") {
  const Tensor x = wave({3, 2}), p = call<Pinverse>({.x = x});
  check_values(p, {0.430792884359884, 0.305198302227762, -0.953834869812418, 0.827608776344363,
                   -0.360255345041327, -0.210211269330438});
  check_values(matmul(matmul(x, p), x), x.to_vector());
  const Tensor xp = matmul(x, p);
  check_values(transpose(xp), xp.to_vector());
}

TEST_CASE("a gradient is zero beside the triangle that is read", "[linalg]") {
  const Tensor l = f64({2, 7, 1, 3}, {2, 2}), b = f64({1, -1}, {2, 1});
  const Tensor dl =
      gradient_of([&](const Tensor& t) { return call<CholeskySolve>({.b = b, .l = t}); }, l);
  CHECK(dl.at(1) == 0);
  CHECK(dl.at(0) != 0);
}

TEST_CASE("small rules of PyTorch", "[linalg]") {
  check_values(call<Tensordot>({.x = f64({1, 2, 3}, {1, 3}),
                                .y = f64({1, 2, 3, 4}, {2, 2}),
                                .x_dims = {0},
                                .y_dims = {1}}),
               {3, 7, 6, 14, 9, 21});
  const double far = 0.847297860387203;
  check_values(call<Logit>({.x = f64({0.2, 0.65, 0.9}), .eps = 0.7}), {far, far, -far});
  check_values(gather(f64({5}, {}), 0, i64({0, 0})), {5, 5});
  CHECK(gather(f64({5, 6}), 0, i64({}, {3, 0})).shape() == Shape{3, 0});
  check_values(call<TakeAlong>({.x = f64({5, 6, 7}), .index = i64({-1, 0}), .dim = Axis{0}}),
               {7, 5});
}
