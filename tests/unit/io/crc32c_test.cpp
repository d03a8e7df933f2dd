#include "io/crc32c.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

using namespace rille::io;

// Vectors of RFC 3720, B.4, and the check value of the CRC catalogue.
TEST_CASE("crc32c: published vectors", "[io]") {
  std::vector<unsigned char> bytes(32, 0);
  for (auto* crc : {&crc32c, &crc32c_tables}) {
    CHECK(crc("123456789", 9, 0) == 0xe3069283u);
    CHECK(crc(nullptr, 0, 0) == 0u);
    bytes.assign(32, 0);
    CHECK(crc(bytes.data(), 32, 0) == 0x8a9136aau);
    bytes.assign(32, 0xff);
    CHECK(crc(bytes.data(), 32, 0) == 0x62a8ab43u);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    CHECK(crc(bytes.data(), 32, 0) == 0x46dd794eu);
  }
}

TEST_CASE("crc32c: pieces, alignments and both ways agree", "[io]") {
  std::vector<unsigned char> bytes(1600);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + 11);
  for (size_t begin = 0; begin < 9; ++begin)
    for (size_t n = 0; begin + n < bytes.size(); n += 7) {
      const unsigned char* p = bytes.data() + begin;
      const uint32_t whole = crc32c_tables(p, n);
      REQUIRE(crc32c(p, n) == whole);
      REQUIRE(crc32c(p + n / 3, n - n / 3, crc32c(p, n / 3)) == whole);
    }
}

TEST_CASE("crc32c: long stretches and joined parts are the sum of the whole", "[io]") {
  std::vector<unsigned char> bytes(70001);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>((i * 2654435761u) >> 13);
  for (const size_t n : {0u, 1u, 12287u, 12288u, 12289u, 24577u, 70001u}) {
    const uint32_t whole = crc32c_tables(bytes.data(), n);
    REQUIRE(crc32c(bytes.data(), n) == whole);
    for (const size_t cut : {size_t{0}, n / 3, n})
      REQUIRE(crc32c_join(crc32c_tables(bytes.data(), cut),
                          crc32c_tables(bytes.data() + cut, n - cut), n - cut) == whole);
  }
}
