// Modules: trees of tensors, what they do to all of them, and layers against their formulas.
#include <cmath>
#include <filesystem>

#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

namespace {

struct Block : nn::ModuleOf<Block> {
  nn::Linear up = register_module("up", nn::Linear(4, 8));
  nn::Linear down = register_module("down", nn::Linear(8, 4, {.bias = false}));
  Tensor scale = register_parameter("scale", ones({4}));
  Tensor steps = register_buffer("steps", zeros({}, {.dtype = Dtype::i64}));
  Tensor cache = register_buffer("cache", zeros({2}), false);
  Block() : ModuleOf("Block") {}
  Tensor operator()(const Tensor& x) const {
    steps += 1;
    return x + down(gelu(up(x))) * scale;
  }
};

std::vector<std::string> names_of(const StateDict& dict) {
  std::vector<std::string> out;
  for (const auto& [name, t] : dict) out.push_back(name);
  return out;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("modules name their tensors in order, each once") {
  const Block block;
  CHECK(names_of(block.named_parameters()) ==
        Names{"scale", "up.weight", "up.bias", "down.weight"});
  CHECK(names_of(block.named_buffers()) == Names{"steps", "cache"});
  CHECK(names_of(block.state_dict()) ==
        Names{"scale", "steps", "up.weight", "up.bias", "down.weight"});
  for (const Tensor& p : block.parameters()) CHECK(p.requires_grad());
  CHECK(block.tensor("up.weight").shape() == Shape{8, 4});
  CHECK(block.scale.is(block.tensor("scale")));
  CHECK(code_of([&] { (void)block.tensor("up.wait"); }) == "E_ARG");
}

TEST_CASE("a copy of a module is the module") {
  const Block block, same = block;
  same(ones({1, 4}));
  CHECK(block.steps.item<int>() == 1);
  CHECK(same.is(block));
  CHECK_FALSE(block.is(Block()));
}

TEST_CASE("names are taken once and hold no point") {
  struct Twice : nn::ModuleOf<Twice> {
    Twice(const std::string& a, const std::string& b) {
      register_parameter(a, ones({1}));
      register_buffer(b, ones({1}));
    }
  };
  CHECK(code_of([] { Twice("a", "a"); }) == "E_ARG");
  CHECK(code_of([] { Twice("a", "a.b"); }) == "E_ARG");
  CHECK_NOTHROW(Twice("a", "b"));
}

TEST_CASE("Sequential runs modules and functions one after another") {
  const auto net = nn::Sequential(
      nn::Linear(3, 5), [](const Tensor& x) { return relu(x); }, nn::Linear(5, 2));
  CHECK(names_of(net.named_parameters()) == Names{"0.weight", "0.bias", "2.weight", "2.bias"});
  const Tensor x = randn({4, 3});
  const Tensor by_hand =
      linear(relu(linear(x, net.tensor("0.weight"), {.bias = net.tensor("0.bias")})),
             net.tensor("2.weight"), {.bias = net.tensor("2.bias")});
  CHECK(list(net(x)) == list(by_hand));
  CHECK(to_string(net).find("Linear(in=3, out=5") != std::string::npos);
  const auto nested = nn::Sequential(net, nn::Tanh());
  CHECK(nested.parameters().size() == 4);
}

TEST_CASE("braces make the members in order") {
  seed(5);
  const auto net = nn::Sequential{nn::Linear(2, 3), nn::Linear(3, 4)};
  seed(5);
  const nn::Linear first(2, 3), second(3, 4);
  CHECK(equal(net.tensor("0.weight"), first.tensor("weight")));
  CHECK(equal(net.tensor("1.bias"), second.tensor("bias")));
}

TEST_CASE("training is a mode of the whole tree") {
  const auto net = nn::Sequential(nn::Dropout({.p = 0.5}), nn::Identity());
  const Tensor x = ones({1000});
  const double kept = net(x).mean().item<double>();
  CHECK(kept == Approx(1).margin(0.2));
  CHECK(list(net(x)) != list(x));
  CHECK(list(net.eval()(x)) == list(x));
  CHECK_FALSE(net.is_training());
  CHECK(net.train().is_training());
}

TEST_CASE("batch norm keeps running statistics as its formula says") {
  const nn::BatchNorm1d norm(2, {.momentum = 0.25});
  const Tensor x = Tensor::of({1, 10, 3, 30}, {2, 2});
  const Tensor y = norm(x);
  // mean 2 and 20, unbiased variance 2 and 200.
  const auto mean = list(norm.tensor("running_mean")), var = list(norm.tensor("running_var"));
  CHECK(mean[0] == Approx(0.25 * 2));
  CHECK(mean[1] == Approx(0.25 * 20));
  CHECK(var[0] == Approx(0.75 + 0.25 * 2));
  CHECK(var[1] == Approx(0.75 + 0.25 * 200));
  CHECK(list(y)[0] == Approx(-1 / std::sqrt(1 + 1e-5)).epsilon(1e-5));
  const auto plain = list(norm.eval()(x));
  CHECK(plain[0] == Approx((1 - mean[0]) / std::sqrt(var[0] + 1e-5)));
  CHECK(norm.tensor("num_batches_tracked").item<int>() == 1);
}

TEST_CASE("layers with several inputs and results") {
  const nn::LSTM lstm(3, 4);
  const auto [y, h, c] = lstm(randn({2, 5, 3}));
  CHECK(y.shape().back() == 4);
  const auto again = lstm(randn({2, 5, 3}), {.h = h, .c = c});
  CHECK(again[1].shape() == h.shape());
  CHECK(code_of([&] { lstm(randn({2, 5, 7})); }) == "E_SHAPE");
  const nn::Embedding table(10, 3);
  const Tensor ids = Tensor::of({9, 0}, Dtype::i64);
  CHECK(list(table(ids)) == list(table.tensor("weight").index({ids})));
  CHECK(code_of([&] { table(ids + 1); }) == "E_INDEX");
  CHECK(code_of([] { nn::Linear(0, -3); }) == "E_ARG");
}

TEST_CASE("moving keeps the tensors that optimizers hold") {
  const Block block;
  const auto before = block.parameters();
  block(ones({1, 4})).sum().backward();
  const Block moved = block.to("cpu:1").to(Dtype::f64);
  CHECK(moved.is(block));
  for (const Tensor& p : before) {
    CHECK(p.dtype() == Dtype::f64);
    CHECK(p.device() == Device("cpu:1"));
    CHECK(p.grad().dtype() == Dtype::f64);
  }
  CHECK(block.steps.dtype() == Dtype::i64);
  const Tensor y = block(ones({1, 4}, {.dtype = Dtype::f64, .device = "cpu:1"}));
  CHECK(y.dtype() == Dtype::f64);
  block.zero_grad();
  CHECK_FALSE(before[0].grad());
}

TEST_CASE("state goes from one module to another") {
  const Block a, b;
  const Tensor x = randn({2, 4});
  CHECK(list(a(x)) != list(b(x)));
  b.load_state_dict(a.state_dict());
  CHECK(list(a(x)) == list(b(x)));
  StateDict dict = a.state_dict();
  dict.erase(dict.begin());
  dict.emplace_back("more", ones({1}));
  const Error e = refused([&] { b.load_state_dict(dict); });
  CHECK(e.code == "E_STATE");
  CHECK(e.facts == Names{"missing      scale", "unexpected   more"});
  const nn::LoadReport report = b.load_state_dict(dict, false);
  CHECK(report.missing == Names{"scale"});
  CHECK(report.unexpected == Names{"more"});
  CHECK(code_of([&] { b.load_state_dict({{"scale", ones({5})}}, false); }) == "E_STATE");
}

TEST_CASE("files keep every bit") {
  const auto folder = std::filesystem::temp_directory_path() / "rille_module_test";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "block.safetensors").string();
  const Block a, b;
  save(path, a.state_dict());
  b.load_state_dict(load(path));
  for (size_t i = 0; i < a.parameters().size(); ++i)
    CHECK(equal(a.parameters()[i], b.parameters()[i]));
  CHECK(code_of([&] { save(path, {{"x", ones({1})}, {"x", ones({1})}}); }) == "E_ARG");
  CHECK(code_of([&] { load(path + ".not"); }) == "E_IO");
  std::filesystem::remove_all(folder);
}

TEST_CASE("gradients are clipped by their common norm") {
  const Tensor a = zeros({2}, {.requires_grad = true}), b = zeros({1}, {.requires_grad = true});
  a.set_grad(Tensor::of({3, 0}));
  b.set_grad(Tensor::of({4}));
  CHECK(nn::clip_grad_norm_({a, b}, 1).item<double>() == Approx(5));
  CHECK(list(a.grad())[0] == Approx(0.6));
  CHECK(list(b.grad())[0] == Approx(0.8));
  nn::clip_grad_value_({a, b}, 0.7);
  CHECK(list(b.grad())[0] == Approx(0.7));
  CHECK(nn::clip_grad_norm_({zeros({1})}, 1).item<double>() == 0);
}
