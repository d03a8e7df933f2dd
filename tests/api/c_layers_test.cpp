// Layers of the C interface that scripts make from classes of their own: what they give is compared
// with C++.
#include "api/c_owned.h"
#include "rille/rille.hpp"

namespace {

using namespace rille_c;

Owned<rille_module> layer(const char* name, std::vector<Owned<rille_value>> arguments,
                          const rille_value* options = nullptr) {
  std::vector<const rille_value*> pointers;
  for (const auto& v : arguments) pointers.push_back(v.get());
  rille_module* out = nullptr;
  ErrorPlace e;
  const rille_status s = rille_layer(name, pointers.data(), pointers.size(), options, &out, e);
  INFO(name << ": " << (s == RILLE_OK ? "" : e.message()));
  REQUIRE(s == RILLE_OK);
  return owned(out);
}

std::vector<Owned<rille_value>> integers(std::initializer_list<int64_t> list) {
  std::vector<Owned<rille_value>> out;
  for (const int64_t n : list) out.push_back(owned(rille_value_integer(n)));
  return out;
}

std::vector<double> output_of(const Owned<rille_module>& m, const Owned<rille_tensor>& x) {
  rille_tensor* out = nullptr;
  REQUIRE(rille_module_apply(m.get(), x.get(), &out, nullptr) == RILLE_OK);
  return values_of(owned(out).get());
}

using List = std::vector<double>;

}  // namespace

TEST_CASE("layers without parameters, by name", "[c]") {
  const auto line = tensor_of({1, 2, 3}, {1, 1, 3});
  CHECK(output_of(layer("ZeroPad1d", integers({1})), line) == List{0, 1, 2, 3, 0});
  const auto seven = table_of({{"value", rille_value_number(7)}});
  CHECK(output_of(layer("ConstantPad1d", integers({1}), seven.get()), line) == List{7, 1, 2, 3, 7});
  CHECK(output_of(layer("ReflectionPad1d", integers({1})), line) == List{2, 1, 2, 3, 2});
  CHECK(output_of(layer("ReplicationPad1d", integers({1})), line) == List{1, 1, 2, 3, 3});
  CHECK(output_of(layer("CircularPad1d", integers({1})), line) == List{3, 1, 2, 3, 1});
  const auto image = tensor_of({5, 5, 5, 5}, {1, 2, 1, 2});
  CHECK(output_of(layer("Softmax2d", {}), image) == List{0.5, 0.5, 0.5, 0.5});
  const auto slopes =
      table_of({{"lower", rille_value_number(0.5)}, {"upper", rille_value_number(0.5)}});
  CHECK(output_of(layer("RReLU", {}, slopes.get()), tensor_of({-1, 4}, {2})) == List{-0.5, 4});
  const auto size = table_of(
      {{"size", list_of_values({rille_value_integer(1), rille_value_integer(4)}).release()}});
  CHECK(output_of(layer("UpsamplingNearest2d", {}, size.get()), tensor_of({1, 2}, {1, 1, 1, 2})) ==
        List{1, 1, 2, 2});
}

TEST_CASE("attention gives one tensor, and a second where it is asked for", "[c]") {
  ErrorPlace e;
  List expected, weights;
  {
    using namespace rille;
    seed(5);
    const nn::MultiheadAttention attend(4, 2, {.dtype = Dtype::f64});
    const auto y = attend(ones({1, 2, 4}, {.dtype = Dtype::f64}), {.need_weights = true});
    expected = y[0].to_vector<double>();
    weights = y[1].to_vector<double>();
  }
  rille_seed(5);
  const auto f64 = table_of({{"dtype", rille_value_string("f64", 3)}});
  const auto attend = layer("MultiheadAttention", integers({4, 2}), f64.get());
  const auto x = tensor_of({1, 1, 1, 1, 1, 1, 1, 1}, {1, 2, 4});
  const auto value = owned(rille_value_tensor(x.get()));
  const rille_value* arguments[] = {value.get()};
  rille_tensor* out[2] = {};
  size_t count = 0;
  REQUIRE(rille_module_forward(attend.get(), arguments, 1, nullptr, out, 2, &count, e) == RILLE_OK);
  CHECK(count == 1);
  const auto alone = values_of(owned(out[0]).get());
  for (size_t i = 0; i < expected.size(); ++i) CHECK(alone[i] == Approx(expected[i]));
  CHECK(output_of(attend, x) == alone);
  const auto asked = table_of({{"need_weights", rille_value_boolean(1)}});
  REQUIRE(rille_module_forward(attend.get(), arguments, 1, asked.get(), out, 2, &count, e) ==
          RILLE_OK);
  REQUIRE(count == 2);
  CHECK(values_of(owned(out[0]).get()) == expected);
  CHECK(values_of(owned(out[1]).get()) == weights);
}

TEST_CASE("a stack of Transformer layers is a sequence", "[c]") {
  const auto plain = table_of({{"feedforward", rille_value_integer(8)},
                               {"dropout", rille_value_number(0)},
                               {"dtype", rille_value_string("f64", 3)}});
  const auto first = layer("TransformerEncoderLayer", integers({4, 2}), plain.get()),
             second = layer("TransformerEncoderLayer", integers({4, 2}), plain.get());
  const rille_module* parts[] = {first.get(), second.get()};
  rille_module* made = nullptr;
  REQUIRE(rille_sequential(parts, 2, &made, nullptr) == RILLE_OK);
  const auto net = owned(made);
  rille_tensors* list = nullptr;
  REQUIRE(rille_module_parameters(net.get(), &list, nullptr) == RILLE_OK);
  const auto names = names_of(owned(list).get());
  REQUIRE(names.size() == 24);
  CHECK(names[12] == "1.self_attn.in_proj_weight");
  CHECK(output_of(net, tensor_of({1, 1, 1, 1, 1, 1, 1, 1}, {1, 2, 4})).size() == 8);
  // Containers have no name here: modules of one's own hold what they hold.
  ErrorPlace e;
  CHECK(rille_layer("ModuleList", nullptr, 0, nullptr, &made, e) == RILLE_ERROR_ARGUMENT);
  CHECK(e.message() == "there is no layer 'ModuleList'");
}

TEST_CASE("every layer of scripts is there under its name", "[c]") {
  rille::Interpreter lua{{}};
  lua.run_string(R"(
    names = {}
    for _, name in ipairs(getmetatable(require "rille".nn).names()) do
      if name:match "^%u" then names[#names + 1] = name end
    end
    table.sort(names)
  )")
      .value();
  ErrorPlace e;
  std::vector<std::string> missing;
  for (const auto& name : lua.get<std::vector<std::string>>("names")) {
    rille_module* made = nullptr;
    if (rille_layer(name.c_str(), nullptr, 0, nullptr, &made, e) == RILLE_OK)
      rille_module_delete(made);
    else if (e.message() == "there is no layer '" + name + "'")
      missing.push_back(name);
  }
  // These are made of modules, of tensors or of a function: C++ has them as classes, and Checkpoint
  // as the function checkpoint.
  CHECK(missing == std::vector<std::string>{"Checkpoint", "Module", "ModuleDict", "ModuleList",
                                            "Parameter", "ParameterList", "Sequential",
                                            "TransformerDecoder", "TransformerEncoder",
                                            "TripletMarginWithDistanceLoss"});
}
