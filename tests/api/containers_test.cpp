// ModuleList, ModuleDict and ParameterList: names as in PyTorch, members of their own type,
// handles.
#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

namespace {

using Names = std::vector<std::string>;

Names names_of(const nn::Module& m) {
  Names out;
  for (const auto& [name, t] : m.named_parameters()) out.push_back(name);
  return out;
}

struct Net : nn::ModuleOf<Net> {
  nn::ModuleList<nn::Linear> layers = register_module(
      "layers",
      nn::ModuleList<nn::Linear>(3, [](size_t) { return nn::Linear(4, 4, {.bias = false}); }));
  nn::ModuleDict<nn::Linear> heads = register_module(
      "heads", nn::ModuleDict<nn::Linear>{{"b", nn::Linear(4, 1)}, {"a", nn::Linear(4, 2)}});
  nn::ParameterList scales = register_module("scales", nn::ParameterList{ones({4}), zeros({1})});
  Net() : ModuleOf("Net") {}
  Tensor operator()(const Tensor& x, std::string_view head) const {
    Tensor y = x * scales[0] + scales[1];
    for (const nn::Linear& layer : layers) y = tanh(layer(y));
    return heads[head](y);
  }
};

}  // namespace

TEST_CASE("containers name what they hold, and are walked like other modules") {
  const Net net;
  CHECK(names_of(net) == Names{"layers.0.weight", "layers.1.weight", "layers.2.weight",
                               "heads.b.weight", "heads.b.bias", "heads.a.weight", "heads.a.bias",
                               "scales.0", "scales.1"});
  const Tensor x = randn({2, 4});
  Tensor y = x;
  for (const char* name : {"layers.0.weight", "layers.1.weight", "layers.2.weight"})
    y = tanh(linear(y, net.tensor(name)));
  y = linear(y, net.tensor("heads.a.weight"), {.bias = net.tensor("heads.a.bias")});
  CHECK(list(net(x, "a")) == list(y));
  net(x, "b").sum().backward();
  CHECK(net.scales[1].grad());
  net.eval();
  CHECK_FALSE(net.layers[2].is_training());
  net.to(Dtype::f64);
  CHECK(net.scales[0].dtype() == Dtype::f64);
  const Net other;
  other.load_state_dict(net.state_dict());
  CHECK(equal(other.layers[1].tensor("weight"), net.layers[1].tensor("weight").to(Dtype::f32)));
}

TEST_CASE("a copy of a container has the same members, and grows with it") {
  nn::ModuleList<> list;
  const nn::ModuleList<> same = list;
  list.append(nn::Tanh());
  list.append(nn::Linear(2, 3));
  CHECK(same.size() == 2);
  CHECK(same.parameters().size() == 2);
  CHECK(to_string(same) == "ModuleList(\n  0: Tanh()\n  1: Linear(in=2, out=3, bias=true)\n)");
  const nn::Linear shared(2, 2);
  const nn::ModuleList<nn::Linear> twice{shared, shared};
  CHECK(twice[0].is(twice[1]));
  CHECK(twice.parameters().size() == 2);
}

TEST_CASE("members that are not there, names that are taken") {
  const nn::ModuleList<nn::Tanh> list{nn::Tanh()};
  CHECK(refused([&] { (void)list[1]; }).code == "E_INDEX");
  CHECK(refused([&] { (void)list[1]; }).message == "ModuleList has no member '1'");
  nn::ModuleDict<nn::Tanh> dict{{"a", nn::Tanh()}};
  CHECK(dict.contains("a"));
  CHECK_FALSE(dict.contains("b"));
  CHECK(refused([&] { (void)dict["b"]; }).message == "ModuleDict has no member 'b'");
  CHECK(code_of([&] { dict.insert("a", nn::Tanh()); }) == "E_ARG");
  CHECK(dict.size() == 1);
  CHECK(code_of([] { (void)nn::ParameterList()[0]; }) == "E_INDEX");
}

TEST_CASE("a list of parameters makes leaves that want gradients") {
  const Tensor x = ones({2}, {.requires_grad = true});
  nn::ParameterList list{x * 2};
  list.append(zeros({3}));
  for (const Tensor& p : list) CHECK(p.requires_grad());
  CHECK(rille::test::list(list[0]) == std::vector<double>{2, 2});
  sum(list[0] * 3).backward();
  CHECK(list[0].grad());
  CHECK_FALSE(x.grad());
  CHECK(names_of(list) == Names{"0", "1"});
}
