// The run of support/golden_gpt.lua in C++: a tiny GPT on the text of a file, weights from a
// formula. Prints the losses and norms of its steps with all digits.
#include <rille/rille.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

namespace {

using namespace rille;

constexpr int64_t kTime = 32, kWidth = 32, kHeads = 2, kLayers = 2;

struct Block : nn::ModuleOf<Block> {
  nn::LayerNorm norm1 = register_module("norm1", nn::LayerNorm({kWidth}));
  nn::Linear qkv = register_module("qkv", nn::Linear(kWidth, 3 * kWidth));
  nn::Linear proj = register_module("proj", nn::Linear(kWidth, kWidth));
  nn::LayerNorm norm2 = register_module("norm2", nn::LayerNorm({kWidth}));
  nn::Linear fc = register_module("fc", nn::Linear(kWidth, 4 * kWidth));
  nn::Linear out = register_module("out", nn::Linear(4 * kWidth, kWidth));

  Tensor operator()(const Tensor& given) const {
    const int64_t b = given.size(0), n = given.size(1), c = given.size(2);
    const auto parts =
        unbind(view(qkv(norm1(given)), {b, n, 3, kHeads, -1}).permute({2, 0, 3, 1, 4}));
    const Tensor y = scaled_dot_product_attention(parts[0], parts[1], parts[2], {.causal = true});
    const Tensor x = given + proj(y.transpose(1, 2).reshape({b, n, c}));
    return x + out(gelu(fc(norm2(x))));
  }
};

struct Gpt : nn::ModuleOf<Gpt> {
  nn::Embedding wte, wpe;
  std::vector<Block> blocks;
  nn::LayerNorm norm;

  explicit Gpt(int64_t vocabulary)
      : wte(register_module("wte", nn::Embedding(vocabulary, kWidth))),
        wpe(register_module("wpe", nn::Embedding(kTime, kWidth))),
        blocks(make_blocks()),
        norm(register_module("norm", nn::LayerNorm({kWidth}))) {}

  // The head is tied to the embedding of symbols.
  Tensor operator()(const Tensor& ids) const {
    Tensor x = wte(ids) + wpe(arange(0, kTime - 1));
    for (const Block& block : blocks) x = block(x);
    return linear(norm(x), wte.tensor("weight"));
  }

 private:
  std::vector<Block> make_blocks() {
    std::vector<Block> list;
    for (int64_t i = 0; i < kLayers; ++i)
      list.push_back(register_module("block" + std::to_string(i), Block()));
    return list;
  }
};

// Element k of the n-th tensor is 0.05 sin(0.7 k + 1.3 n).
void fill(const Gpt& model) {
  const NoGrad quiet;
  std::vector<Tensor> list = {model.wte.tensor("weight"), model.wpe.tensor("weight")};
  for (const Block& block : model.blocks)
    for (const nn::Linear& layer : {block.qkv, block.proj, block.fc, block.out}) {
      list.push_back(layer.tensor("weight"));
      zero_(layer.tensor("bias"));
    }
  for (size_t n = 0; n < list.size(); ++n) {
    const Tensor k = arange(0, list[n].numel() - 1, {.dtype = Dtype::f64});
    list[n].copy_((sin(k * 0.7 + 1.3 * static_cast<double>(n)) * 0.05).reshape(list[n].shape()));
  }
}

// The text as numbers of its symbols, in the order of their codes.
Tensor read_ids(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::set<unsigned char> symbols(text.begin(), text.end());
  std::vector<int64_t> number(256);
  int64_t next = 0;
  for (const unsigned char c : symbols) number[c] = next++;
  std::vector<int64_t> ids;
  for (const unsigned char c : text) ids.push_back(number[c]);
  return Tensor::of(ids);
}

std::pair<Tensor, Tensor> batch_at(const Tensor& ids, int64_t step) {
  std::vector<Tensor> xs, ys;
  for (int64_t b = 0; b < 4; ++b) {
    const int64_t i = (4 * step + b) * (kTime + 1);
    xs.push_back(ids.slice(0, i, i + kTime));
    ys.push_back(ids.slice(0, i + 1, i + 1 + kTime));
  }
  return {stack(xs), stack(ys)};
}

void train(const char* path) {
  const Tensor ids = read_ids(path);
  const Gpt model = Gpt(65).to(Dtype::f64);
  fill(model);
  std::vector<Tensor> matrices, vectors;
  for (const Tensor& p : model.parameters()) (p.dim() > 1 ? matrices : vectors).push_back(p);
  const optim::AdamWOptions options = {.betas = {0.9, 0.95}, .weight_decay = 0};
  optim::AdamWOptions decayed = options;
  decayed.weight_decay = 0.1;
  optim::AdamW opt(matrices, decayed);
  opt.add_group(vectors, options);
  for (int64_t step = 0; step < 20; ++step) {
    const auto [x, y] = batch_at(ids, step);
    const Tensor loss = cross_entropy(flatten(model(x), {.start = 0, .end = 1}), flatten(y));
    loss.backward();
    const Tensor norm = nn::clip_grad_norm_(model.parameters(), 1.0);
    opt.step();
    opt.zero_grad();
    std::printf("%.17g %.17g\n", loss.item<double>(), norm.item<double>());
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count != 2) return 2;
    train(words[1]);
  } catch (const rille::Error& e) {
    std::fprintf(stderr, "%s\n", e.report().c_str());
    return 1;
  }
}
