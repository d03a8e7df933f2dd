#include "core/threads.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <mutex>
#include <vector>

using namespace rille;

namespace {

struct Share {
  int64_t begin, end;
};

// The shares of three threads, in order.
std::vector<Share> shares_of(int64_t n, int64_t least, int64_t unit) {
  const int before = threads();
  set_threads(3);
  std::vector<Share> shares;
  std::mutex busy;
  parallel_evenly(n, least, unit, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(busy);
    if (begin < end) shares.push_back({begin, end});
  });
  set_threads(before);
  std::sort(shares.begin(), shares.end(), [](Share a, Share b) { return a.begin < b.begin; });
  return shares;
}

}  // namespace

TEST_CASE("even shares cover everything once, at multiples of the unit") {
  for (const int64_t n : {1, 7, 99, 100, 101, 1000, 98304, 98305})
    for (const int64_t least : {0, 1, 10, 300, 32768})
      for (const int64_t unit : {0, 1, 8, 1024}) {
        const int64_t step = std::max<int64_t>(1, unit);
        int64_t covered = 0, smallest = n, largest = 0;
        const std::vector<Share> shares = shares_of(n, least, unit);
        for (const Share& s : shares) {
          CAPTURE(n, least, unit, s.begin, s.end);
          CHECK(s.begin == covered);
          CHECK(s.begin % step == 0);
          covered = s.end;
          smallest = std::min(smallest, s.end - s.begin);
          largest = std::max(largest, s.end - s.begin);
        }
        CAPTURE(n, least, unit);
        CHECK(covered == n);
        CHECK(shares.size() <= 3);
        // Apart by one unit at most, and by what the last one lacks.
        CHECK(largest - smallest < 2 * step);
      }
}

TEST_CASE("what is not worth a second thread stays in one piece") {
  CHECK(shares_of(32768, 32768, 1).size() == 1);
  CHECK(shares_of(5, 0, 8).size() == 1);
}

TEST_CASE("an exception of a share comes out of the loop") {
  struct Odd {};
  CHECK_THROWS_AS(parallel_evenly(1000, 1, 1, [](int64_t, int64_t) { throw Odd{}; }), Odd);
}
