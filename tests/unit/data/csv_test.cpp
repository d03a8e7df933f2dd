#include "data/csv.h"

#include <limits>

#include <catch2/catch.hpp>

using rille::data::CsvColumn;
using rille::data::parse_csv;

namespace {

template <class T>
std::vector<T> values(const CsvColumn& c) {
  return std::get<std::vector<T>>(c.values);
}

}  // namespace

TEST_CASE("integers pass through no double", "[csv]") {
  const auto columns = parse_csv(
      "a,b,c\n9007199254740993,9223372036854775808,0.5\n-9223372036854775808,1,1e19\n", true, ',');
  CHECK(std::get<std::vector<int64_t>>(columns[0].values) ==
        std::vector<int64_t>{9007199254740993, std::numeric_limits<int64_t>::min()});
  // No 64 bits hold the first of these.
  CHECK(std::get<std::vector<std::string>>(columns[1].values) ==
        std::vector<std::string>{"9223372036854775808", "1"});
  CHECK(std::get<std::vector<double>>(columns[2].values) == std::vector<double>{0.5, 1e19});
}

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

// With a search through all names for each it took minutes.
TEST_CASE("a header of very many columns is read in one go", "[csv]") {
  std::string names, values_text;
  constexpr int kColumns = 300000;
  for (int i = 0; i < kColumns; ++i) {
    names += (i ? ",c" : "c") + std::to_string(i);
    values_text += i ? ",1" : "1";
  }
  const auto table = parse_csv(names + "\n" + values_text + "\n", true, ',');
  CHECK(table.size() == kColumns);
}
