#include "cpu/scales.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/half.h"
#include "core/narrow.h"
#include "core/threads.h"

using namespace rille;

namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

// A matrix and scales for blocks of its rows.
struct Case {
  int64_t rows, n, block, blocks;
  Floats x, scales;
  cpu::ScaleGrid grid() const { return {scales.data(), blocks, block, 1}; }
  float scale(int64_t r, int64_t c) const {
    return scales[static_cast<size_t>(r * blocks + c / block)];
  }
};

Case make_case(std::mt19937& dice) {
  const int64_t sizes[] = {0, 1, 3, 31, 32, 33, 64, 1023, 1024, 1500, 2049};
  const auto any = [&](int64_t n) { return static_cast<int64_t>(dice() % uint32_t(n)); };
  Case c{any(40), sizes[any(11)], 1 + any(70), 0, {}, {}};
  c.blocks = (c.n + c.block - 1) / c.block;
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < c.rows * c.n; ++i) c.x.push_back(100 * normal(dice));
  for (int64_t i = 0; i < c.rows * c.blocks; ++i)
    c.scales.push_back(any(9) ? std::fabs(normal(dice)) : 0.0f);
  return c;
}

// Runs body(case) for many of them, each with 1, 2 and 4 threads.
template <class F>
void each_case(F&& body) {
  std::mt19937 dice(7);
  const int before = threads();
  for (int i = 0; i < 60; ++i) {
    const Case c = make_case(dice);
    INFO(c.rows << " x " << c.n << ", blocks of " << c.block);
    for (const int t : {1, 2, 4}) {
      set_threads(t);
      body(c);
    }
  }
  set_threads(before);
}

}  // namespace

TEST_CASE("largest magnitudes of blocks", "[scales]") {
  each_case([](const Case& c) {
    Floats got(static_cast<size_t>(c.rows * c.blocks)), want = got;
    cpu::block_amax(c.x.data(), c.rows, c.n, c.block, got.data());
    for (int64_t r = 0; r < c.rows; ++r)
      for (int64_t i = 0; i < c.n; ++i) {
        float& most = want[static_cast<size_t>(r * c.blocks + i / c.block)];
        most = std::max(most, std::fabs(c.x[static_cast<size_t>(r * c.n + i)]));
      }
    CHECK(got == want);
  });
  const float lost[] = {1, -kInf, kNan, 2};
  float most[2];
  cpu::block_amax(lost, 1, 4, 2, most);
  CHECK(most[0] == kInf);
  CHECK(std::isnan(most[1]));
}

TEST_CASE("division ends at the range, and codes are its roundings", "[scales]") {
  const cpu::ScaledRange range{448, false, false};
  each_case([&](const Case& c) {
    Floats z(c.x.size());
    std::vector<uint8_t> codes(c.x.size());
    cpu::divide_by_scales(c.x.data(), c.rows, c.n, c.grid(), range, z.data());
    cpu::quantize(c.x.data(), c.rows, c.n, c.grid(), range, DType::f8_e4m3, codes.data());
    int wrong = 0;
    for (int64_t r = 0; r < c.rows; ++r)
      for (int64_t i = 0; i < c.n; ++i) {
        const size_t at = static_cast<size_t>(r * c.n + i);
        const float s = c.scale(r, i), q = s == 0 ? 0 : c.x[at] / s;
        const float want = std::fmin(std::fmax(q, -448.0f), 448.0f);
        wrong += z[at] != want || codes[at] != encode<DType::f8_e4m3>(want);
      }
    CHECK(wrong == 0);
  });
}

TEST_CASE("what is not finite stays to be seen", "[scales]") {
  const Floats x = {1, kInf, -kInf, kNan};
  const auto divided = [&](float scale, const cpu::ScaledRange& range) {
    Floats z(4);
    cpu::divide_by_scales(x.data(), 1, 4, {&scale, 0, 4, 1}, range, z.data());
    return z;
  };
  const Floats with_inf = divided(2, {57344, true, false});
  CHECK(with_inf[0] == 0.5f);
  CHECK(with_inf[1] == kInf);
  CHECK(with_inf[2] == -kInf);
  CHECK(std::isnan(with_inf[3]));
  const Floats without = divided(2, {448, false, false});
  CHECK((std::isnan(without[1]) && std::isnan(without[2]) && std::isnan(without[3])));
  CHECK(std::isnan(divided(kNan, {448, false, false})[0]));
  CHECK(divided(kNan, {6, false, true}) == Floats{0, 0, 0, 0});
  CHECK(divided(1e-30f, {6, false, true})[0] == 6);
}

TEST_CASE("multiplying by scales, and the end of a product", "[scales]") {
  each_case([](const Case& c) {
    Floats y = c.x;
    cpu::multiply_by_scales(y.data(), c.rows, c.n, c.grid());
    const Floats rows(static_cast<size_t>(c.rows), 0.5f), columns(static_cast<size_t>(c.n), 3.0f),
        bias(static_cast<size_t>(c.n), 1.25f);
    std::vector<bf16> half(c.x.size());
    cpu::finish_product(c.x.data(), c.rows, c.n, {rows.data(), columns.data(), bias.data()},
                        DType::bf16, half.data());
    Floats plain(c.x.size());
    cpu::finish_product(c.x.data(), c.rows, c.n, {}, DType::f32, plain.data());
    CHECK(plain == c.x);
    int wrong = 0;
    for (int64_t r = 0; r < c.rows; ++r)
      for (int64_t i = 0; i < c.n; ++i) {
        const size_t at = static_cast<size_t>(r * c.n + i);
        wrong += y[at] != c.x[at] * c.scale(r, i);
        const double want = 1.5 * static_cast<double>(c.x[at]) + 1.25;  // exact but for its end
        wrong += std::fabs(static_cast<double>(float(half[at])) - want) > std::fabs(want) / 250;
      }
    CHECK(wrong == 0);
  });
}
