#include "cpu/block_product.h"

#include <algorithm>
#include <cstring>

#include "cpu/tiles.h"
#include "support/tiles.h"
#include "unit/cpu/oracle.h"

using namespace rille;
using namespace rille::test;
using cpu::Pair;
using cpu::Trim;

namespace {

constexpr int64_t kRow = 80;  // of all operands, in cells: more than any needs

struct Case {
  int64_t m, n, k;
  bool add = false;
  Trim trim = Trim::none;
  int64_t diagonal = 0;

  // What the trim promises of a, and whether it wants a column.
  bool zero(int64_t r, int64_t p) const {
    return (trim == Trim::depth_end && p > r + diagonal) ||
           (trim == Trim::depth_begin && p < r - diagonal);
  }
  bool wanted(int64_t r, int64_t c) const { return trim != Trim::columns || c <= r + diagonal; }
};

size_t at(int64_t row, int64_t col) { return static_cast<size_t>(row * kRow + col); }

// bf16 numbers, as doubles.
Values numbers(uint64_t seed) {
  return Buffer(DType::bf16, spread(2 * kRow * kRow, seed)).values();
}

uint16_t bits(double x) {
  const Buffer one(DType::bf16, Values{x});
  uint16_t b;
  std::memcpy(&b, one.data(), sizeof b);
  return b;
}
Pair pair(double first, double second) {
  return {bits(first) | static_cast<uint32_t>(bits(second)) << 16};
}

// Runs the product with left operands along the rows or the columns; compares what is wanted.
void require_product(const Case& c, bool along) {
  INFO(c.m << " x " << c.k << " x " << c.n << ", trim " << static_cast<int>(c.trim) << ", diagonal "
           << c.diagonal << (along ? ", along" : ", turned"));
  Values a = numbers(1), b = numbers(2);
  const Values before = Buffer(DType::f32, spread(kRow * kRow, 3)).values();
  const auto a_at = [&](int64_t r, int64_t p) -> double& {
    return a[static_cast<size_t>(r * 2 * kRow + p)];
  };
  const auto b_at = [&](int64_t p, int64_t n) -> double& {
    return b[static_cast<size_t>(p * kRow + n)];
  };
  for (int64_t r = 0; r < kRow; ++r)
    for (int64_t p = 0; p < 2 * kRow; ++p)
      if (p >= c.k || c.zero(r, p)) a_at(r, p) = 0;
  std::vector<Pair> left(kRow * kRow), right(kRow * kRow);
  for (int64_t r = 0; r < kRow; ++r)
    for (int64_t p = 0; p < kRow; ++p) {
      left[along ? at(r, p) : at(p, r)] = pair(a_at(r, 2 * p), a_at(r, 2 * p + 1));
      right[at(p, r)] = pair(b_at(2 * p, r), 2 * p + 1 < 2 * kRow ? b_at(2 * p + 1, r) : 0);
    }
  std::vector<float> sums(before.begin(), before.end());
  {
    const cpu::TileScope scope;
    cpu::multiply(cpu::BlockProduct<Pair>{c.m, c.n, c.k, left.data(), along ? kRow : 1,
                                          along ? 1 : kRow, right.data(), kRow, sums.data(), kRow,
                                          c.add, c.trim, c.diagonal});
  }
  Values got, want;
  for (int64_t r = 0; r < c.m; ++r)
    for (int64_t n = 0; n < c.n; ++n) {
      if (!c.wanted(r, n)) continue;
      double sum = c.add ? before[at(r, n)] : 0;
      for (int64_t p = 0; p < c.k; ++p) sum += a_at(r, p) * b_at(p, n);
      want.push_back(sum);
      got.push_back(static_cast<double>(sums[at(r, n)]));
    }
  require_close(got, want, 2e-5);
  bool kept = true;  // what lies behind
  for (int64_t r = c.m; r < kRow; ++r)
    for (int64_t n = 0; n < kRow; ++n)
      kept &= static_cast<double>(sums[at(r, n)]) == before[at(r, n)];
  REQUIRE(kept);
}

// All sizes about the edges of tiles, each with every trim.
void require_products() {
  for (const int64_t m : {1, 15, 16, 33, 48, 64})
    for (const int64_t n : {1, 16, 40, 64})
      for (const int64_t k : {2, 31, 32, 49, 64})
        for (const bool along : {true, false}) {
          require_product({m, n, k}, along);
          require_product({m, n, k, true}, along);
          for (const Trim trim : {Trim::columns, Trim::depth_end, Trim::depth_begin})
            for (const int64_t diagonal : {-20, 0, 7, 40})
              require_product({m, n, k, m % 2 == 0, trim, diagonal}, along);
        }
}

}  // namespace

TEST_CASE("products of blocks of bf16 pairs are sums of products", "[block_product]") {
  if (!cpu::has_pair_products()) {
    WARN("skipped: no products of bf16 pairs here");
    return;
  }
  require_products();
}

TEST_CASE("products of blocks by tiles are the same sums", "[block_product]") {
  if (!ImitatedTiles::possible()) {
    WARN("skipped: no products of bf16 pairs here");
    return;
  }
  const ImitatedTiles tiles;
  require_products();
  CHECK(tiles.used());
}

TEST_CASE("a scope of tiles leaves another's as it was", "[block_product]") {
  if (!ImitatedTiles::possible()) {
    WARN("skipped: no products of bf16 pairs here");
    return;
  }
  const ImitatedTiles tiles;
  const cpu::TileScope outer;
  { const cpu::TileScope inner; }
  alignas(64) uint32_t from[256], to[256];
  for (uint32_t i = 0; i < 256; ++i) from[i] = i;
  cpu::load_tile<3>(from, 64);  // illegal without the outer one's configuration
  cpu::store_tile<3>(to, 64);
  CHECK(std::equal(from, from + 256, to));
}
