// Scales at the ends of the range; tests/shapes has the rest.
#include "cpu/scales.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace rille;

namespace {

using Floats = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("the largest magnitude of a block shows what is not finite", "[scales]") {
  const float lost[] = {1, -kInf, kNan, 2};
  float most[2];
  cpu::block_amax(lost, 1, 4, 2, most);
  CHECK(most[0] == kInf);
  CHECK(std::isnan(most[1]));
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
