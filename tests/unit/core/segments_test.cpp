#include "core/segments.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

using rille::memory::Lately;
using rille::memory::Segments;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

struct Block {
  char* at;
  size_t bytes;
  unsigned char mark;
};

void fill(const Block& b) { std::memset(b.at, b.mark, b.bytes); }

bool intact(const Block& b) {
  for (size_t i = 0; i < b.bytes; i += 4096)
    if (static_cast<unsigned char>(b.at[i]) != b.mark) return false;
  return static_cast<unsigned char>(b.at[b.bytes - 1]) == b.mark;
}

}  // namespace

TEST_CASE("blocks of any size never overlap, and everything goes back", "[segments]") {
  Segments segments;
  std::mt19937 random(7);
  std::vector<Block> held;
  size_t in_use = 0, most = 0;
  for (int i = 0; i < 3000; ++i) {
    if (held.size() < 24 && random() % 5 < 3) {
      const size_t bytes = 1 + random() % (random() % 8 ? 3 * kMiB / 2 : 9 * kMiB);
      Block b{static_cast<char*>(segments.take(bytes)), bytes,
              static_cast<unsigned char>(random())};
      REQUIRE(b.at);
      fill(b);
      held.push_back(b);
      in_use += bytes;
      most = std::max(most, in_use);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      REQUIRE(intact(held.back()));
      segments.give(held.back().at);
      in_use -= held.back().bytes;
      held.pop_back();
    }
    if (i % 500 == 0) segments.trim();
    REQUIRE(segments.reserved() >= in_use);
  }
  for (const Block& b : held) {
    CHECK(intact(b));
    segments.give(b.at);
  }
  segments.trim();
  CHECK(segments.reserved() == 0);
}

TEST_CASE("neighbours join: the memory of many small blocks serves one large", "[segments]") {
  Segments segments;
  void* large = segments.take(64 * kMiB);
  const size_t before = segments.reserved();
  segments.give(large);
  std::vector<void*> held;
  for (int i = 0; i < 64; ++i) held.push_back(segments.take(kMiB));
  for (size_t i = 0; i < held.size(); ++i) segments.give(held[i * 27 % held.size()]);
  CHECK(segments.take(64 * kMiB) == large);
  CHECK(segments.reserved() == before);
  segments.give(large);
}

TEST_CASE("a freed block is used again before the system is asked", "[segments]") {
  Segments segments;
  void* first = segments.take(5 * kMiB);
  segments.give(first);
  const size_t before = segments.reserved();
  for (int i = 0; i < 100; ++i) {
    void* again = segments.take(5 * kMiB);
    CHECK(again == first);
    segments.give(again);
  }
  CHECK(segments.reserved() == before);
}

// Sizes that never fit the holes of before: without giving holes back, twice the memory in use.
TEST_CASE("holes that nothing fits go back to the system", "[segments]") {
  Segments segments;
  std::vector<void*> odd;
  for (int i = 0; i < 100; ++i) {
    void* hole = segments.take(4 * kMiB);
    odd.push_back(segments.take(2 * kMiB));
    segments.give(hole);
    odd.push_back(segments.take(2 * kMiB));
    odd.push_back(segments.take(4 * kMiB));
  }
  for (size_t i = 2; i < odd.size(); i += 3) segments.give(odd[i]);
  std::vector<void*> large;
  for (int i = 0; i < 66; ++i) large.push_back(segments.take(6 * kMiB));
  CHECK(segments.reserved() <= (800 + 800 / 16 + 32) * kMiB);
  for (size_t i = 0; i < odd.size(); ++i)
    if (i % 3 != 2) segments.give(odd[i]);
  for (void* block : large) segments.give(block);
}

TEST_CASE("a peak that does not come again is forgotten", "[segments]") {
  Segments segments;
  segments.give(segments.take(1024 * kMiB));
  CHECK(segments.reserved() >= 1024 * kMiB);
  for (int i = 0; i < 10000; ++i) segments.give(segments.take(4 * kMiB));
  CHECK(segments.reserved() <= 64 * kMiB);
}

TEST_CASE("what can't be had is null, and nothing is lost", "[segments]") {
  Segments segments;
  CHECK(segments.take(size_t{1} << 60) == nullptr);
  CHECK(segments.reserved() == 0);
  void* block = segments.take(kMiB);
  CHECK(block);
  segments.give(block);
}

TEST_CASE("where the system has refused, what is freed goes back", "[segments]") {
  Segments segments;
  void* block = segments.take(256 * kMiB);
  CHECK(segments.take(size_t{1} << 60) == nullptr);
  CHECK(segments.reserved() == 256 * kMiB);
  segments.give(block);
  CHECK(segments.reserved() <= 32 * kMiB);
}

TEST_CASE("the most in use lately covers this epoch and the one before", "[segments]") {
  Lately lately;
  CHECK(lately.most() == 0);
  lately.note(100, 100);
  CHECK(lately.most() == 100);
  bool ended = false;
  for (int i = 0; i < 7 && !ended; ++i) ended = lately.note(100, 10);
  CHECK(ended);  // 800 bytes were taken
  CHECK(lately.most() == 100);
  ended = false;
  for (int i = 0; i < 8 && !ended; ++i) ended = lately.note(100, 10);
  CHECK(ended);
  CHECK(lately.most() == 10);
}
