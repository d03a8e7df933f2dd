// Attention and Transformer layers. The stored values come from torch 2.15 in f64 with batch_first
// = True, without dropout, on inputs and parameters as waves.h says; its masks are the negation of
// ours where they are boolean. What is drawn is compared with scripts, bit by bit.
#include <cmath>

#include "api/waves.h"

using namespace rille;
using namespace rille::test;

namespace {

const Shape kShape{2, 3, 4};

Tensor x() { return wave(kShape, 0.3); }
Tensor memory() { return wave({2, 2, 4}, 1.3); }
Tensor truths(const std::vector<int>& values, const Shape& shape) {
  return Tensor::of(std::vector<double>(values.begin(), values.end()), shape).to(Dtype::boolean);
}

nn::MultiheadAttention attention() {
  return fill(nn::MultiheadAttention(4, 2, {.dtype = Dtype::f64}));
}

std::vector<std::string> names_of(const nn::Module& m) {
  std::vector<std::string> out;
  for (const auto& [name, t] : m.named_parameters()) out.push_back(name);
  return out;
}

}  // namespace

TEST_CASE("attention with itself, with padding, causal, with floats that are added") {
  const auto attend = attention();
  CHECK(names_of(attend) == std::vector<std::string>{"in_proj_weight", "in_proj_bias",
                                                     "out_proj.weight", "out_proj.bias"});
  near(attend(x())[0],
       {-0.5610281247, -0.4838742575, -0.234071128,  -0.3941904954, -0.5213833021, -0.5212300032,
        -0.2033211143, -0.4147814495, -0.5521493566, -0.4909888664, -0.2295428092, -0.3956092528,
        -0.4974060311, -0.5441071027, -0.1841877568, -0.4279601038, -0.5160350752, -0.5264543425,
        -0.1988243628, -0.4180309897, -0.4966752104, -0.5492591978, -0.1752097392, -0.4397265861});
  CHECK_FALSE(attend(x())[1]);
  const Tensor real = truths({1, 0, 1, 1}, {2, 2});
  near(attend(x(), {.key = memory(), .padding_mask = real})[0],
       {-0.6147980335, -0.3846961207, -0.3671969316, -0.2425004198, -0.6147980335, -0.3846961207,
        -0.3671969316, -0.2425004198, -0.6147980335, -0.3846961207, -0.3671969316, -0.2425004198,
        -0.51428959,   -0.5322813378, -0.1895891977, -0.4296071521, -0.5062916802, -0.5427609845,
        -0.177838793,  -0.4412704931, -0.5347949112, -0.5162516689, -0.1992909008, -0.4273544982});
  near(attend(x(), {.causal = true})[0],
       {-0.6411123894, -0.3682366771, -0.3718994865, -0.2500981587, -0.4975933988, -0.5461210382,
        -0.180205239,  -0.4334510027, -0.5521493566, -0.4909888664, -0.2295428092, -0.3956092528,
        -0.464717361,  -0.5762063881, -0.1563870993, -0.4482496196, -0.4845878354, -0.5714455027,
        -0.1454882501, -0.4735487834, -0.4966752104, -0.5492591978, -0.1752097392, -0.4397265861});
  near(attend(x(), {.mask = causal_mask(3)})[0], list(attend(x(), {.causal = true})[0]));
  near(attend(x(), {.mask = wave({3, 3}, 2)})[0],
       {-0.5675028719, -0.4751160749, -0.2441006914, -0.3840485206, -0.527114352,  -0.514405304,
        -0.2104508325, -0.4081705892, -0.5449254155, -0.5006489038, -0.2185629441, -0.4066401638,
        -0.4877199045, -0.5570850662, -0.169417629,  -0.442815629,  -0.5174802965, -0.52354174,
        -0.2028677797, -0.4133239967, -0.5043584936, -0.5393173438, -0.1862613299, -0.4288423289});
}

TEST_CASE("attention's weights on demand, with the same output") {
  const auto attend = attention();
  const auto [y, weights] = attend(x(), {.causal = true, .need_weights = true});
  CHECK(weights.shape() == Shape{2, 3, 3});
  near(y, list(attend(x(), {.causal = true})[0]));
  near(weights, {1, 0, 0, 0.4550267312, 0.5449732688, 0, 0.3408878481, 0.2696752632, 0.3894368887,
                 1, 0, 0, 0.4675996802, 0.5324003198, 0, 0.2911888465, 0.4018909963, 0.3069201573});
  const auto added = attend(x(), {.mask = wave({3, 3}, 2), .need_weights = true});
  near(added[0], list(attend(x(), {.mask = wave({3, 3}, 2)})[0]));
  near(added[1],
       {0.4549916969, 0.2439970456, 0.3010112575, 0.3279640446, 0.3593146645, 0.312721291,
        0.2481661061, 0.2727876361, 0.4790462578, 0.4345394339, 0.3172239717, 0.2482365944,
        0.323657535, 0.339680446, 0.336662019, 0.2127283175, 0.4082849609, 0.3789867216});
  const Tensor real = truths({1, 1, 0, 1, 1, 1}, {2, 3});
  const nn::MultiheadAttentionInputs both{.mask = wave({3, 3}, 2), .padding_mask = real};
  nn::MultiheadAttentionInputs asked = both;
  asked.need_weights = true;
  near(attend(x(), asked)[0], list(attend(x(), both)[0]));
  CHECK(list(attend(x(), asked)[1])[2] == 0);
}

TEST_CASE("keys and values of other widths, time first, no bias") {
  const auto wide = fill(nn::MultiheadAttention(4, 2, {.kdim = 3, .vdim = 5, .dtype = Dtype::f64}));
  const Tensor keys = wave({2, 2, 3}, 1.3), values = wave({2, 2, 5}, 2.3);
  near(wide(x(), {.key = keys, .value = values})[0],
       {-0.1768431148, 0.04793871189,  0.7776102028,  0.02085058865, -0.1199595021, 0.001462546998,
        0.8083083518,  0.009477789959, -0.1621245896, 0.03584726186, 0.7856773463,  0.01773995299,
        -0.1426437095, 0.02446547929,  0.7876448058,  0.02541416694, -0.1551064755, 0.03831308455,
        0.7740125257,  0.03725583942,  -0.1325964619, 0.02340344456, 0.779598904,   0.04163825866});
  const nn::MultiheadAttention late(4, 2, {.batch_first = false, .dtype = Dtype::f64});
  late.load_state_dict(attention().state_dict());
  const TransposeOptions turned{.dim0 = 0, .dim1 = 1};
  near(transpose(late(transpose(x(), turned))[0], turned), list(attention()(x())[0]));
  const nn::MultiheadAttention bare(4, 2, {.bias = false});
  CHECK(names_of(bare) == std::vector<std::string>{"in_proj_weight", "out_proj.weight"});
}

TEST_CASE("attention is a composition of ops") {
  const auto attend = attention();
  const Tensor w = attend.tensor("in_proj_weight"), b = attend.tensor("in_proj_bias");
  const auto part = [&](int64_t i) {
    const Tensor p = linear(x(), narrow(w, 0, 4 * i, 4), {.bias = narrow(b, 0, 4 * i, 4)});
    return transpose(p.reshape({2, 3, 2, 2}), {.dim0 = 1, .dim1 = 2});
  };
  const Tensor scores = part(0).matmul(transpose(part(1))) / std::sqrt(2.0);
  const Tensor seen = transpose(softmax(scores).matmul(part(2)), {.dim0 = 1, .dim1 = 2});
  const Tensor y = linear(seen.reshape(kShape), attend.tensor("out_proj.weight"),
                          {.bias = attend.tensor("out_proj.bias")});
  near(attend(x())[0], list(y));
}

TEST_CASE("what attention refuses") {
  CHECK(code_of([] { nn::MultiheadAttention(4, 3); }) == "E_ARG");
  CHECK(code_of([] { nn::MultiheadAttention(4, 0); }) == "E_ARG");
  const nn::MultiheadAttention attend(4, 2);
  CHECK(code_of([&] { attend(ones({3, 4})); }) == "E_SHAPE");
  CHECK(code_of([&] { attend(ones({1, 3, 5})); }) == "E_SHAPE");
  CHECK(code_of([] { nn::TransformerEncoderLayer(4, 2, {.activation = "reluu"}); }) == "E_ARG");
  CHECK(code_of([] { nn::TransformerEncoderLayer(4, 2, {.activation = "matmul"}); }) == "E_ARG");
}

TEST_CASE("an encoder of two layers and a norm, and its gradient") {
  const auto make = [] {
    return nn::TransformerEncoderLayer(
        4, 2, {.feedforward = 6, .dropout = 0, .activation = "gelu", .dtype = Dtype::f64});
  };
  const auto encoder =
      fill(nn::TransformerEncoder(2, make, nn::LayerNorm({4}, {.dtype = Dtype::f64})));
  const auto names = names_of(encoder);
  REQUIRE(names.size() == 26);
  CHECK(names[0] == "layers.0.self_attn.in_proj_weight");
  CHECK(names[3] == "layers.0.self_attn.out_proj.bias");
  CHECK(names[16] == "layers.1.linear1.weight");
  CHECK(names[25] == "norm.bias");
  const Tensor real = truths({1, 1, 0, 1, 1, 1}, {2, 3});
  const Tensor leaf = x().requires_grad_();
  const Tensor y = encoder(leaf, {.padding_mask = real});
  near(y, {0.4632033317, 0.310202453,  0.9415894935, 0.4441196491, 0.456680038,  0.2775267925,
           0.9486667545, 0.4479091846, 0.4645232296, 0.317714826,  0.9423590855, 0.4396781898,
           0.4542978466, 0.2659786635, 0.9466549385, 0.4530759628, 0.4642657365, 0.3164750262,
           0.943751864,  0.4386656789, 0.4548619276, 0.2684010421, 0.9451139075, 0.4543383998});
  (y * wave(kShape, 0.9)).sum().backward();
  near(leaf.grad(),
       {-0.001187036623, -0.00821890203,  -0.001171672358,  0.02529818394,   0.01733006566,
        0.02741010838,   -0.02138482758,  -0.005766769234,  0.0002969648508, -0.001101118609,
        -0.001883280373, 0.00277497205,   0.001172911632,   0.00412141975,   -0.007003644235,
        0.0007964925602, -0.00047502097,  -0.0003431873023, 0.001099308993,  -0.001358695615,
        -0.001205448935, -0.006599959287, 0.007473103393,   6.493800247e-06});
}

TEST_CASE("a decoder of two layers and a norm") {
  const nn::TransformerDecoderLayerOptions options{
      .feedforward = 6, .dropout = 0, .norm_first = true, .dtype = Dtype::f64};
  const nn::LayerNorm norm({4}, {.dtype = Dtype::f64});
  const auto decoder = fill(nn::TransformerDecoder(
      2, [&] { return nn::TransformerDecoderLayer(4, 2, options); }, norm));
  const auto names = names_of(decoder);
  REQUIRE(names.size() == 38);
  CHECK(names[4] == "layers.0.multihead_attn.in_proj_weight");
  CHECK(names[17] == "layers.0.norm3.bias");
  const Tensor real = truths({1, 0, 1, 1}, {2, 2});
  const std::vector<double> expected = {
      0.672236292,    0.4212763326,  0.7995600617,  0.3416292274,  0.3671847746, 0.4212506719,
      0.9101626762,   -0.2661262466, 0.6619123826,  0.4210685587,  0.8714985513, 0.4464432917,
      -0.01065549607, 0.4209295453,  0.8695370659,  -0.4263540688, 0.506846778,  0.4208074164,
      1.01572863,     0.2783205786,  0.07874492373, 0.4210461413,  0.8830559869, -0.4394837046};
  near(decoder(x(), memory(), {.causal = true, .memory_padding_mask = real}), expected);
  nn::TransformerDecoderLayerOptions early = options;
  early.causal = true;
  const nn::TransformerDecoder always(
      {nn::TransformerDecoderLayer(4, 2, early), nn::TransformerDecoderLayer(4, 2, early)}, norm);
  always.load_state_dict(decoder.state_dict());
  near(always(x(), memory(), {.memory_padding_mask = real}), expected);
}

TEST_CASE("a Transformer begins, and drops, with the bits of scripts") {
  Interpreter lua{{.seed = 7}};
  lua.run_string(R"(
    local rille = require "rille"
    local nn = rille.nn
    local attend = nn.MultiheadAttention(4, 2, { dropout = 0.25, kdim = 3 })
    local net = nn.TransformerEncoder(function()
      return nn.TransformerEncoderLayer(4, 2, { feedforward = 8, causal = true })
    end, 2, { norm = nn.LayerNorm(4) })
    local decode = nn.TransformerDecoderLayer(4, 2, { feedforward = 8, norm_first = true })
    local x = rille.randn(2, 5, 4)
    local y = decode(net(x), x)
    seen = attend(x, rille.randn(2, 6, 3), rille.randn(2, 6, 4))
    first, last, out = attend.k_proj_weight, decode.linear2.bias, y
    middle = net.layers[2].self_attn.out_proj.weight
  )")
      .value();
  seed(7);
  const nn::MultiheadAttention attend(4, 2, {.dropout = 0.25, .kdim = 3});
  const nn::TransformerEncoder net(
      2, [] { return nn::TransformerEncoderLayer(4, 2, {.feedforward = 8, .causal = true}); },
      nn::LayerNorm({4}));
  const nn::TransformerDecoderLayer decode(4, 2, {.feedforward = 8, .norm_first = true});
  const Tensor x = randn({2, 5, 4});
  const Tensor y = decode(net(x), x);
  const Tensor keys = randn({2, 6, 3}), values = randn({2, 6, 4});
  CHECK(equal(attend.tensor("k_proj_weight"), lua.get<Tensor>("first")));
  CHECK(equal(net.tensor("layers.1.self_attn.out_proj.weight"), lua.get<Tensor>("middle")));
  CHECK(equal(decode.tensor("linear2.bias"), lua.get<Tensor>("last")));
  CHECK(equal(y, lua.get<Tensor>("out")));
  CHECK(equal(attend(x, {.key = keys, .value = values})[0], lua.get<Tensor>("seen")));
  const Tensor quiet = decode.eval()(net.eval()(x), x);
  CHECK(equal(quiet, decode(net(x), x)));
  CHECK_FALSE(equal(quiet, y));
}
