#include "data/csv.h"

#include <catch2/catch.hpp>

using rille::data::CsvColumn;
using rille::data::parse_csv;

namespace {

template <class T>
std::vector<T> values(const CsvColumn& c) {
  return std::get<std::vector<T>>(c.values);
}

}  // namespace

TEST_CASE("a column is integers, numbers or text, whichever all its fields are", "[csv]") {
  const auto table = parse_csv("n,x,name\n1,0.5,a\n-2,3,b\n", true, ',');
  REQUIRE(table.size() == 3);
  CHECK(table[0].name == "n");
  CHECK(values<int64_t>(table[0]) == std::vector<int64_t>{1, -2});
  CHECK(values<double>(table[1]) == std::vector<double>{0.5, 3.0});
  CHECK(values<std::string>(table[2]) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("quoted fields hold what would end a field, as RFC 4180 says", "[csv]") {
  const auto table = parse_csv("\"a,b\",\"say \"\"x\"\"\"\r\n\"two\nlines\",\r\n", false, ',');
  REQUIRE(table.size() == 2);
  CHECK(table[0].name == "column1");
  CHECK(values<std::string>(table[0]) == std::vector<std::string>{"a,b", "two\nlines"});
  CHECK(values<std::string>(table[1]) == std::vector<std::string>{"say \"x\"", ""});
}

TEST_CASE("line ends, empty lines, other separators and a missing last line end", "[csv]") {
  const auto table = parse_csv("a;b\r\n\r\n1;2\r\n\n3;4", true, ';');
  CHECK(values<int64_t>(table[1]) == std::vector<int64_t>{2, 4});
}

TEST_CASE("what is no table is refused with its line", "[csv]") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(parse_csv("a,b\n1,2\n3\n", true, ','), Contains("line 3: 1 fields"));
  CHECK_THROWS_WITH(parse_csv("a,b\n1,\"2\n", true, ','), Contains("line 2: a quote is never"));
  CHECK_THROWS_WITH(parse_csv("a,a\n1,2\n", true, ','), Contains("'a' occurs twice"));
  CHECK_THROWS_WITH(parse_csv("a,b\n", true, ','), Contains("has no rows"));
  CHECK_THROWS_WITH(parse_csv("", true, ','), Contains("has no rows"));
  CHECK_THROWS_WITH(parse_csv("\"a\"b\n", false, ','), Contains("after the closing quote"));
}
