#include "core/philox.h"

#include <catch2/catch.hpp>

using namespace rille;

namespace {
bool is(PhiloxBlock b, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
  return b.word[0] == w0 && b.word[1] == w1 && b.word[2] == w2 && b.word[3] == w3;
}
}  // namespace

// Known answers that Random123 publishes for philox4x32-10.
TEST_CASE("philox gives its published answers", "[philox]") {
  CHECK(is(philox(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  const uint64_t ones = ~uint64_t{0};
  CHECK(is(philox(ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  CHECK(is(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e), 0xd16cfe09,
           0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST_CASE("uniforms stay below one", "[philox]") {
  CHECK(unit_float(0) == 0);
  CHECK(unit_float(0xffffffff) == 1 - 0x1p-24f);
  CHECK(unit_double(0, 0) == 0);
  CHECK(unit_double(0xffffffff, 0xffffffff) == 1 - 0x1p-53);
}

TEST_CASE("box_muller is the radius and the angle of its formula", "[philox]") {
  const double turn = 6.283185307179586;
  for (int i = 0; i < 1000; ++i) {
    const double u = i / 1000.0, v = (i * 37 % 1000) / 1000.0;
    const double radius = std::sqrt(-2 * std::log(1 - u));
    const auto wide = box_muller(u, v);
    REQUIRE(wide.first == Approx(radius * std::cos(turn * v)).margin(1e-14));
    REQUIRE(wide.second == Approx(radius * std::sin(turn * v)).margin(1e-14));
    const auto narrow = box_muller(static_cast<float>(u), static_cast<float>(v));
    REQUIRE(static_cast<double>(narrow.first) == Approx(wide.first).margin(4e-6));
    REQUIRE(static_cast<double>(narrow.second) == Approx(wide.second).margin(4e-6));
  }
}
