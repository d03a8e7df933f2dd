#include "io/nested.h"

#include <cmath>

#include "support/errors.h"

using namespace rille::io;
using rille::test::code_of;

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
Value both(std::vector<Value> items, std::map<std::string, Value, std::less<>> fields) {
  Table t;
  t.list = std::move(items);
  t.fields = std::move(fields);
  return t;
}
Value tensor(size_t i) { return TensorRef{i}; }

/// Through the file's two parts and back. Names are those of the tensors in the same order.
Value round_trip(const Value& v, size_t tensors) {
  const FlatTree flat = flatten(v, tensors);
  return unflatten(flat.tree, flat.names);
}

}  // namespace

TEST_CASE("nested: every kind of value and table comes back", "[io]") {
  const Value v = named({
      {"nil", Value()},
      {"yes", true},
      {"int", 3},
      {"min", INT64_MIN},
      {"float", 3.0},
      {"inf", INFINITY},
      {"minus", -INFINITY},
      {"text", "caf\xc3\xa9 \"\\\n"},
      {"bytes", std::string("\x00\xff\x80", 3)},
      {"empty", named({})},
      {"list", list({1, 2.5, "x", list({}), tensor(0)})},
      {"both", both({1, 2}, {{"n", 3}, {"$t", "not a tensor"}})},
      {"dollar", named({{"$f", "inf"}})},
      {"odd", named({{"\xff\xfe", 1}, {"", 2}, {"a.b", tensor(1)}})},
      {"model", named({{"w", tensor(2)}, {"tied", tensor(2)}})},
  });
  CHECK(round_trip(v, 3) == v);
  for (const Value& scalar : {Value(), Value(1), Value(1.0), Value("s"), Value(false)})
    CHECK(round_trip(scalar, 0) == scalar);
  CHECK(round_trip(tensor(0), 1) == tensor(0));
  const Value nan = round_trip(list({std::nan("")}), 0);
  CHECK(std::isnan(*nan.get<Table>()->list[0].get<double>()));
}

TEST_CASE("nested: names are paths, and never the same twice", "[io]") {
  const Value v = named({{"a", named({{"b", tensor(0)}})},
                         {"a.b", tensor(1)},
                         {"layers", list({tensor(2), named({{"w", tensor(3)}})})},
                         {std::string(2000, 'n'), tensor(4)}});
  const FlatTree flat = flatten(v, 5);
  CHECK(flat.names ==
        std::vector<std::string>{"a.b", "a.b#2", "layers.1", "layers.2.w", "tensor.5"});
  CHECK(unflatten(flat.tree, flat.names) == v);
  CHECK(flatten(tensor(0), 1).names == std::vector<std::string>{"tensor"});
}

TEST_CASE("nested: a table of tensors is a plain file", "[io]") {
  const Value v = named({{"h.0.w", tensor(1)}, {"b", tensor(0)}});
  const FlatTree flat = flatten(v, 2);
  CHECK(flat.tree.empty());
  CHECK(flat.names == std::vector<std::string>{"b", "h.0.w"});
  CHECK(unflatten("", flat.names) == v);
  CHECK_FALSE(flatten(named({{"a", tensor(0)}, {"b", tensor(0)}}), 1).tree.empty());
}

TEST_CASE("nested: 64 tables deep and no more", "[io]") {
  Value v = tensor(0);
  for (size_t i = 0; i < kTreeDepth; ++i) v = i % 2 ? list({v}) : both({1}, {{"$", v}});
  CHECK(round_trip(v, 1) == v);
  v = list({v});
  CHECK(code_of([&] { flatten(v, 1); }) == "E_ARG");
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  CHECK(code_of([&] { unflatten(deep, {}); }) == "E_FORMAT");
}

TEST_CASE("nested: trees of a stranger", "[io]") {
  for (const char* tree :
       {"", "[", "{\"$t\":\"b\"}", "{\"$t\":1}", "{\"$x\":1}", "{\"$t\":\"a\",\"more\":1}",
        "{\"$f\":\"1\"}", "{\"$b\":\"0\"}", "{\"$b\":\"zz\"}", "{\"$a\":[]}",
        "{\"$a\":{\"x\":1},\"$k\":[]}", "{\"$a\":[],\"$k\":[[1,2]]}",
        "{\"$a\":[],\"$k\":[[\"a\"]]}", "{\"$a\":[],\"$k\":[[\"a\",1],[\"a\",2]]}",
        "{\"$a\":[],\"$k\":1}", "{}"})
    CHECK((tree[0] == '\0' || code_of([&] { unflatten(tree, {"a"}); }) == "E_FORMAT"));
  CHECK(unflatten("{\"x\":{\"$t\":\"a\"}}", {"a"}) == named({{"x", tensor(0)}}));
}
