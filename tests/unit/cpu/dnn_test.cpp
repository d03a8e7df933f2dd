// oneDNN's own kernels where the module is present: the shapes that an older version got wrong.
#include "cpu/dnn.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "core/half.h"
#include "core/threads.h"

using namespace rille;
using namespace rille::cpu;

namespace {

/// bf16 products through oneDNN, whether or not they are the fast way on this machine.
double worst_error(const DnnFunctions& f, const Gemm& g, bool with_bias, int threads_wanted) {
  std::mt19937 rng(static_cast<unsigned>(g.n));
  const auto fill = [&](int64_t n) {
    std::vector<bf16> v(static_cast<size_t>(n));
    for (bf16& x : v) x = bf16(std::uniform_real_distribution<float>(-1, 1)(rng));
    return v;
  };
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  const auto a = fill(g.batch * g.m * g.k), b = fill(g.batch * g.k * g.n), bias = fill(g.n);
  std::vector<bf16> c(at(g.batch * g.m * g.n), bf16(99.f));
  set_threads(threads_wanted);
  if (!f.gemm(DType::bf16, g, a.data(), b.data(), c.data(), with_bias ? bias.data() : nullptr))
    return 0;
  double worst = 0;
  for (int64_t i = 0; i < g.batch; ++i)
    for (int64_t r = 0; r < g.m; ++r)
      for (int64_t j = 0; j < g.n; ++j) {
        double sum = with_bias ? static_cast<double>(bias[at(j)]) : 0, magnitude = 1e-3;
        for (int64_t p = 0; p < g.k; ++p) {
          const bf16 x =
              a[at(i * g.stride_a + (g.ta == Transpose::yes ? p * g.lda + r : r * g.lda + p))];
          const bf16 y =
              b[at(i * g.stride_b + (g.tb == Transpose::yes ? j * g.ldb + p : p * g.ldb + j))];
          sum += static_cast<double>(x) * static_cast<double>(y);
          magnitude += std::abs(static_cast<double>(x) * static_cast<double>(y));
        }
        const double allowed = std::abs(sum) * 0x1p-8 + magnitude * 0x1p-15;
        const double got = c[at(i * g.stride_c + r * g.ldc + j)];
        worst = std::max(worst, std::abs(got - sum) / allowed);
      }
  return worst;
}

}  // namespace

TEST_CASE("dnn: present or absent, it says so", "[cpu][dnn]") {
  CHECK_FALSE(dnn_state().empty());
  CHECK((dnn() != nullptr) == (dnn_state().rfind("oneDNN ", 0) == 0));
}

TEST_CASE("dnn: bf16 products", "[cpu][dnn]") {
  const DnnFunctions* f = dnn();
  if (!f) return;
  const int before = threads();
  for (int count : {1, 2, 4}) {
    for (int64_t n = 49; n < 64; n += 2) {
      Gemm g = dense(n, n, 64, Transpose::no, Transpose::yes);
      g.batch = 6, g.stride_a = g.stride_b = n * 64, g.stride_c = n * n;
      CHECK(worst_error(*f, g, false, count) <= 1);
      g.stride_b = 0;
      CHECK(worst_error(*f, g, true, count) <= 1);
    }
    Gemm odd = dense(69, 9, 63);
    odd.batch = 5, odd.stride_a = 69 * 63, odd.stride_b = 63 * 9, odd.stride_c = 69 * 9;
    CHECK(worst_error(*f, odd, false, count) <= 1);
    CHECK(worst_error(*f, dense(190, 203, 1375), true, count) <= 1);
    CHECK(worst_error(*f, dense(40, 70, 33, Transpose::yes), false, count) <= 1);
  }
  set_threads(before);
}
