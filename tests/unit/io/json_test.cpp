#include "io/json.h"

#include <cmath>
#include <limits>
#include <random>

#include "core/half.h"
#include "support/errors.h"

using namespace rille::io;
using rille::test::code_of;
using rille::test::error_of;
using rille::test::mentions;

namespace {

Value list(std::vector<Value> items) {
  Table t;
  t.list = std::move(items);
  return t;
}
Value named(std::map<std::string, Value, std::less<>> fields) {
  Table t;
  t.fields = std::move(fields);
  return t;
}

}  // namespace

TEST_CASE("json: reads what RFC 8259 allows", "[io]") {
  const Value v = parse_json(
      " {\"a\": [1, -2.5e3, true, false, null, \"\\u00e9\\n\\ud83d\\ude00\"], \"b\": {}, \"c\": "
      "0} ");
  CHECK(v == named({{"a", list({1, -2500.0, true, false, Value(), "\xc3\xa9\n\xf0\x9f\x98\x80"})},
                    {"b", named({})},
                    {"c", 0}}));
  CHECK(parse_json("9223372036854775807") == Value(INT64_MAX));
  CHECK(parse_json("-9223372036854775808") == Value(INT64_MIN));
  CHECK(parse_json("9223372036854775808") == Value(9223372036854775808.0));
  CHECK(parse_json("1.0") == Value(1.0));
  CHECK_FALSE(parse_json("1.0") == Value(1));
}

TEST_CASE("json: refuses the rest, with the byte", "[io]") {
  for (const char* bad : {"",
                          " ",
                          "{",
                          "[1,]",
                          "{\"a\":}",
                          "{a:1}",
                          "01",
                          "+1",
                          ".5",
                          "1.",
                          "nan",
                          "Infinity",
                          "'a'",
                          "[1]x",
                          "\"\\x\"",
                          "\"\x01\"",
                          "\"\xff\"",
                          "\"\\ud800\"",
                          "\xef\xbb\xbf{}",
                          "1e999",
                          "{\"a\":1,\"a\":2}",
                          "tru",
                          "// c\n1"})
    CHECK(code_of([&] { parse_json(bad); }) == "E_FORMAT");
  CHECK(code_of([] { parse_json(std::string("1\0", 2)); }) == "E_FORMAT");
  CHECK(mentions(error_of([] { parse_json("[1, 2, x]"); }), "byte 8"));
  CHECK(mentions(error_of([] { parse_json("{\"k\":1,\"k\":1}"); }), "'k' is repeated"));
}

TEST_CASE("json: depth and size are limited, a million brackets are no matter", "[io]") {
  CHECK(code_of([] { parse_json(std::string(1000000, '[')); }) == "E_FORMAT");
  std::string deep = std::string(64, '[') + std::string(64, ']');
  CHECK_NOTHROW(parse_json(deep));
  CHECK(code_of([&] { parse_json("[" + deep + "]"); }) == "E_FORMAT");
  CHECK(code_of([] { parse_json("[1,2,3]", {.bytes = 5}); }) == "E_FORMAT");
}

TEST_CASE("json: text as other programs write it", "[io]") {
  CHECK(dump_json(named({{"b", list({1, 2.0, "x\"\\\n\x01\x7f"})}, {"a", Value()}})) ==
        "{\"a\":null,\"b\":[1,2.0,\"x\\\"\\\\\\n\\u0001\\u007f\"]}");
  CHECK(dump_json(named({})) == "{}");
  CHECK(dump_json(named({}), {.empty_is_list = true}) == "[]");
  CHECK(dump_json(named({{"a", list({1, 2})}}), {.indent = 2}) ==
        "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
}

TEST_CASE("json: what it cannot say is an error", "[io]") {
  Table both;
  both.list = {1};
  both.fields = {{"name", 2}};
  for (const Value& v : {Value(both), Value(TensorRef{0}), Value("\xff"), Value(INFINITY),
                         Value(std::nan("")), named({{"\xff", 1}})})
    CHECK(code_of([&] { dump_json(v); }) == "E_ARG");
  Value deep;
  for (int i = 0; i < 2000; ++i) deep = list({std::move(deep)});
  CHECK(code_of([&] { dump_json(deep); }) == "E_ARG");
}

TEST_CASE("json: every double comes back bit for bit", "[io]") {
  std::mt19937_64 random(7);
  const auto round_trip = [](double d) {
    const Value back = parse_json(dump_json(d));
    const double* got = back.get<double>();
    REQUIRE(got);
    REQUIRE(std::bit_cast<uint64_t>(*got) == std::bit_cast<uint64_t>(d));
  };
  for (const double d : {0.0, -0.0, 0.1, 1e15, 1e16, 1e22, 5e-324, 2.2250738585072014e-308,
                         std::numeric_limits<double>::max(), -1.0, 123456789012345680.0})
    round_trip(d);
  for (int i = 0; i < 20000; ++i) {
    const auto d = std::bit_cast<double>(random());
    if (std::isfinite(d)) round_trip(d);
  }
}
