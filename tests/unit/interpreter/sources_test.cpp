#include <catch2/catch.hpp>

#include "interpreter/lua/sources.h"

#include <fmt/format.h>

using rille::lua::Sources;

TEST_CASE("sources: the latest are kept, within a bound") {
  Sources s;
  for (int i = 0; i < 20'000; ++i) {
    s.keep(fmt::format("={}", i), std::string(10'000, 'x'));
    REQUIRE(s.bytes() <= Sources::kMost);
  }
  CHECK(s.bytes() > Sources::kMost / 2);
  CHECK(s.find("=19999"));
  CHECK(s.find("=19950"));
  CHECK_FALSE(s.find("=0"));
  for (int i = 0; i < 100'000; ++i) s.keep(std::to_string(i), "");  // names take room, too
  CHECK(s.bytes() <= Sources::kMost);
  CHECK_FALSE(s.find("0"));
}

TEST_CASE("sources: a name has one text, and one at a time may be of any size") {
  Sources s;
  s.keep("=a", "one");
  const size_t bytes = s.bytes();
  s.keep("=b", "two");
  s.keep("=a", "six");
  CHECK(s.bytes() == 2 * bytes);
  CHECK(*s.find("=a") == "six");
  s.keep("=large", std::string(2 * Sources::kMost, 'x'));
  CHECK(s.find("=large"));
  CHECK_FALSE(s.find("=a"));
  s.keep("=small", "x");
  CHECK_FALSE(s.find("=large"));
  CHECK(s.find("=small"));
  CHECK(s.bytes() < 2 * bytes);
}
