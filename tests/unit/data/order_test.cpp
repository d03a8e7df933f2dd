// Orders of samples. The numbers are those that a plain Lua 5.4 computes by the same formula.
#include "data/order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>
#include <vector>

namespace {

using rille::data::random_bits;

std::vector<int64_t> order(int64_t n, int64_t seed, int64_t stream) {
  std::vector<int64_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 1);
  rille::data::shuffle(out, seed, stream);
  return out;
}

}  // namespace

TEST_CASE("random bits by place", "[data]") {
  CHECK(random_bits(0, 0, 0) == 6506956249790366449);
  CHECK(random_bits(1, 1, 1) == 6670604961666219029);
  CHECK(random_bits(7, 3, 10) == 1908696869593315089);
  CHECK(random_bits(-1, 2, 5) == 5670344812360169530);
  CHECK(random_bits(std::numeric_limits<int64_t>::max(), -4, 9) == 5021002921128948949);
}

TEST_CASE("a shuffled order, number by number", "[data]") {
  using List = std::vector<int64_t>;
  CHECK(order(10, 7, 3) == List{7, 9, 3, 1, 8, 2, 5, 4, 6, 10});
  CHECK(order(5, 0, 1) == List{2, 3, 1, 4, 5});
  CHECK(order(12, -1, 2) == List{11, 5, 12, 8, 1, 6, 3, 7, 2, 4, 10, 9});
  CHECK(order(10, 42, 1) == List{5, 2, 8, 4, 6, 10, 9, 7, 3, 1});
  CHECK(order(10, 42, 2) == List{9, 8, 1, 4, 3, 5, 2, 6, 7, 10});
  CHECK(order(1, 42, 2) == List{1});
  CHECK(order(0, 42, 2).empty());
}

TEST_CASE("every position comes once", "[data]") {
  std::vector<int64_t> shuffled = order(10000, 3, 1), sorted(shuffled.size());
  std::sort(shuffled.begin(), shuffled.end());
  std::iota(sorted.begin(), sorted.end(), 1);
  CHECK(shuffled == sorted);
}
