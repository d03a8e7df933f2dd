// Sizes in checked arithmetic, against a wider integer and against the elements of a view counted
// one by one.
#include "core/sizes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "support/errors.h"

namespace rille {
namespace {

using test::code_of;

__extension__ typedef __int128 Wide;
constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
const std::vector<int64_t> kEdges{kMin,
                                  kMin + 1,
                                  -(int64_t{1} << 62),
                                  -3,
                                  -1,
                                  0,
                                  1,
                                  2,
                                  int64_t{1} << 31,
                                  int64_t{1} << 40,
                                  int64_t{1} << 62,
                                  kMax};

bool fits(Wide v) { return v >= kMin && v <= kMax; }

template <class F>
void agree(Wide want, F&& compute) {
  if (fits(want))
    CHECK(compute() == static_cast<int64_t>(want));
  else
    CHECK(code_of(compute) == "E_SHAPE");
}

TEST_CASE("checked arithmetic is that of wider integers, or E_SHAPE", "[sizes]") {
  for (const int64_t a : kEdges)
    for (const int64_t b : kEdges) {
      agree(Wide{a} + b, [&]() -> int64_t { return Checked(a) + b; });
      agree(Wide{a} - b, [&]() -> int64_t { return a - Checked(b); });
      agree(Wide{a} * b, [&]() -> int64_t { return Checked(a) * Checked(b); });
      agree(Wide{a} * b, [&]() -> int64_t {
        Checked c(a);
        c *= b;
        return c;
      });
    }
  agree(-Wide{kMin}, []() -> int64_t { return -Checked(kMin); });
}

TEST_CASE("what follows in an expression is checked, too", "[sizes]") {
  CHECK(code_of([] { return int64_t{Checked(int64_t{1} << 40) * (int64_t{1} << 22) * 4}; }) ==
        "E_SHAPE");
  CHECK(code_of([] { return int64_t{1 + (Checked(kMax) - 1) + 1}; }) == "E_SHAPE");
  CHECK(Checked(7) / 2 == 3);
}

TEST_CASE("the elements of some dims", "[sizes]") {
  CHECK(numel_of_dims({2, 3, 4}, 1) == 12);
  CHECK(numel_of_dims({2, 3, 4}, 0, 2) == 6);
  CHECK(numel_of_dims({2, 3, 4}, 2, 2) == 1);
  CHECK(numel_of_dims({2, 0}, 0) == 0);
  CHECK(code_of([] { numel_of_dims({int64_t{1} << 40, int64_t{1} << 40}, 0); }) == "E_SHAPE");
}

TEST_CASE("pieces, positions and whole sizes", "[sizes]") {
  CHECK(pieces(7, 3) == 3);
  CHECK(pieces(6, 3) == 2);
  CHECK(pieces(0, 3) == 0);
  CHECK(pieces(kMax, kMax) == 1);
  CHECK(pieces(kMax, 2) == (int64_t{1} << 62));
  CHECK(from_front(-1, 5) == 4);
  CHECK(from_front(kMin, kMax) == -1);
  CHECK(from_front(kMax, kMax) == kMax);
  CHECK(whole_size(2.9) == 2);
  CHECK(whole_size(0x1p62) == int64_t{1} << 62);
  for (const double v : {0x1p63, -0x1p63, 1e300, std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()})
    CHECK(code_of([&] { whole_size(v); }) == "E_SHAPE");
}

TEST_CASE("shares of a size are those of wider integers", "[sizes]") {
  CHECK(share(5, 7, 3) == 11);
  CHECK(share(int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 40) == int64_t{1} << 40);
  CHECK(share(kMax, kMax, kMax) == kMax);
  CHECK(code_of([] { share(kMax, 2, 1); }) == "E_SHAPE");
}

TEST_CASE("what a window leaves is counted, up to 2^47", "[sizes]") {
  CHECK(window_room(5, 3, 1, 0, 0) == 2);
  CHECK(window_room(5, 3, 2, 1, 0) == 1);
  CHECK(window_room(5, 3, 3, 0, 0) == -2);
  CHECK(window_room(5, 1, kMax, 0, 0) == 4);
  for (const int64_t big : {kMax, int64_t{1} << 62, int64_t{1} << 47}) {
    CHECK(code_of([&] { window_room(5, 3, big, 0, 0); }) == "E_SHAPE");
    CHECK(code_of([&] { window_room(5, 3, 1, big, big); }) == "E_SHAPE");
    CHECK(code_of([&] { window_room(5, big, 1, big / 2, big / 2); }) == "E_SHAPE");
  }
}

TEST_CASE("what can't be held is refused before it is made", "[sizes]") {
  CHECK(code_of([] { expect_room(1000, 512); }) == "");
  CHECK(code_of([] { expect_room(int64_t{1} << 50, 512); }) == "E_OOM");
  CHECK(code_of([] { expect_room(kMax, kMax); }) == "E_OOM");
}

TEST_CASE("a reach is that of the elements counted one by one", "[sizes]") {
  for (const Strides& strides : {Strides{3, 1}, Strides{-3, 1}, Strides{0, -2}, Strides{5, 7}})
    for (const Shape& shape : {Shape{2, 3}, Shape{1, 4}, Shape{4, 1}}) {
      int64_t first = kMax, last = kMin;
      for (int64_t i = 0; i < shape[0]; ++i)
        for (int64_t j = 0; j < shape[1]; ++j) {
          const int64_t at = 20 + i * strides[0] + j * strides[1];
          first = std::min(first, at), last = std::max(last, at);
        }
      const Reach r = reach(shape, strides, 20);
      CHECK(r.first == first);
      CHECK(r.last == last);
      CHECK(r.count() == last - first + 1);
    }
  CHECK(reach({0, 3}, {3, 1}, 7).count() == 0);
  CHECK(reach({}, {}, 7).last == 7);
}

TEST_CASE("a reach does not wrap around", "[sizes]") {
  const int64_t big = int64_t{1} << 43, step = int64_t{1} << 20;
  CHECK(code_of([&] { reach({big + 1}, {step}, 0); }) == "E_SHAPE");
  CHECK(code_of([&] { reach({2, 2}, {kMax, kMax}, 0); }) == "E_SHAPE");
  CHECK(code_of([&] { reach({2, 2}, {kMax, -kMax}, 1); }) == "E_SHAPE");
  CHECK(code_of([&] { reach({2}, {1}, kMax); }) == "E_SHAPE");
  // Sizes that are refused with elements are refused without, too: strides of later views hold.
  CHECK(code_of([&] { reach({0, big + 1}, {1, step}, 0); }) == "E_SHAPE");
}

}  // namespace
}  // namespace rille
