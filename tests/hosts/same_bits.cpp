// Layers and optimizers from the same seed, as same_bits.lua has them: prints every parameter after
// a few steps with all digits.
#include <rille/rille.hpp>

#include <cstdio>

namespace {

using namespace rille;

void print(const char* title, const std::vector<Tensor>& list) {
  std::printf("%s\n", title);
  for (const Tensor& t : list)
    for (const double v : t.to_vector<double>()) std::printf("%.17g\n", v);
}

struct Net : nn::ModuleOf<Net> {
  nn::Conv2d conv = register_module("conv", nn::Conv2d(1, 4, 3, {.padding = 1}));
  nn::BatchNorm2d norm = register_module("norm", nn::BatchNorm2d(4));
  nn::Linear out = register_module("out", nn::Linear(36, 5));
  Tensor operator()(const Tensor& x) const {
    const Tensor y = max_pool2d(gelu(norm(conv(x))), 2)[0];
    return out(flatten(y, {.start = 1}));
  }
};

template <class Optimizer, class Options>
void train(const char* title, const Options& options) {
  seed(11);
  const Net net;
  Optimizer opt(net.parameters(), options);
  for (int step = 0; step < 4; ++step) {
    const Tensor x = randn({8, 1, 6, 6}), y = randint(0, 4, {.shape = {8}});
    opt.zero_grad();
    cross_entropy(net(x), y, {.label_smoothing = 0.1}).backward();
    opt.step();
  }
  print(title, net.parameters());
  print("buffers", net.buffers());
}

void run_layers() {
  seed(3);
  const nn::LSTM lstm(3, 4, {.layers = 2});
  const nn::Embedding table(7, 3);
  const nn::Dropout dropout({.p = 0.25});
  const Tensor ids = randint(0, 6, {.shape = {5, 2}});
  const auto [y, h, c] = lstm(dropout(table(ids)));
  (y.sum() + (h * c).sum()).backward();
  print("lstm", {y, h, c});
  for (const Tensor& p : lstm.parameters()) print("gradient", {p.grad()});
}

}  // namespace

int main() {
  try {
    train<optim::SGD>("sgd", optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true});
    train<optim::Adam>("adam", optim::AdamOptions{.lr = 0.01, .weight_decay = 0.1});
    train<optim::AdamW>("adamw", optim::AdamWOptions{.lr = 0.01, .amsgrad = true});
    run_layers();
  } catch (const rille::Error& e) {
    std::fprintf(stderr, "%s\n", e.report().c_str());
    return 1;
  }
}
