// Convolutions of 1 to 3 dims and their two gradients against the sum that defines them, with
// groups, strides, dilations and uneven padding, by oneDNN and built in.
#include "cpu/conv.h"

#include "core/fail.h"
#include "cpu/dnn.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

using cpu::Conv;
using cpu::ConvPass;

int64_t product(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

std::string text(const Conv& c) {
  const auto list = [](const int64_t(&v)[3]) { return fmt::format("{} {} {}", v[0], v[1], v[2]); };
  return fmt::format(
      "{}d batch {} in {} out {} groups {} image {} kernel {} stride {} dilation {} pad {} / {}",
      c.dims, c.batch, c.in_channels, c.out_channels, c.groups, list(c.in), list(c.kernel),
      list(c.stride), list(c.dilation), list(c.pad_begin), list(c.pad_end));
}

void choose_dim(Dice& dice, Conv& c, int d) {
  constexpr int64_t kImage[] = {400, 40, 12};
  c.kernel[d] = dice.one_in(3) ? 1 : dice.between(1, c.dims == 1 ? 9 : 4);
  c.stride[d] = dice.flip() ? 1 : dice.between(1, 4);
  c.dilation[d] = dice.one_in(3) ? dice.between(1, 3) : 1;
  const int64_t reach = c.dilation[d] * (c.kernel[d] - 1) + 1;
  if (dice.flip()) c.pad_begin[d] = dice.between(0, reach);
  c.pad_end[d] = dice.one_in(3) ? dice.between(0, reach) : c.pad_begin[d];
  c.in[d] = dice.size_from_1(kImage[c.dims - 1]);
  c.in[d] = std::max(c.in[d], reach - c.pad_begin[d] - c.pad_end[d]);
  c.out[d] =
      cpu::conv_out(c.in[d], c.kernel[d], c.stride[d], c.dilation[d], c.pad_begin[d], c.pad_end[d]);
}

Conv choose(Dice& dice) {
  for (;;) {
    Conv c;
    c.dims = static_cast<int>(dice.between(1, 3));
    for (int d = 0; d < c.dims; ++d) choose_dim(dice, c, d);
    c.groups = dice.one_in(3) ? dice.between(1, 8) : 1;
    const bool depthwise = dice.one_in(4);
    c.in_channels = c.groups * (depthwise ? 1 : dice.size_from_1(70));
    c.out_channels = c.groups * (depthwise ? dice.between(1, 2) : dice.size_from_1(70));
    c.batch = dice.one_in(10) ? 0 : dice.between(1, 5);
    const int64_t work =
        c.batch * c.out_channels * product(c.out) * product(c.kernel) * (c.in_channels / c.groups);
    if (work <= 700000) return c;
  }
}

// Calls f(index in x, in w, in y) for every product of the definition.
template <class F>
void each_product(const Conv& c, const F& f) {
  const int64_t ins = c.in_channels / c.groups, outs = c.out_channels / c.groups;
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t o = 0; o < c.out_channels; ++o)
      for (int64_t t = 0; t < product(c.out); ++t)
        for (int64_t i = 0; i < ins; ++i)
          for (int64_t k = 0; k < product(c.kernel); ++k) {
            const int64_t ts[3] = {t / (c.out[1] * c.out[2]), t / c.out[2] % c.out[1],
                                   t % c.out[2]};
            const int64_t ks[3] = {k / (c.kernel[1] * c.kernel[2]), k / c.kernel[2] % c.kernel[1],
                                   k % c.kernel[2]};
            int64_t place = 0;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const int64_t p = ts[d] * c.stride[d] + ks[d] * c.dilation[d] - c.pad_begin[d];
              inside = inside && p >= 0 && p < c.in[d];
              place = place * c.in[d] + p;
            }
            if (!inside) continue;
            const int64_t channel = b * c.in_channels + o / outs * ins + i;
            f(channel * product(c.in) + place, (o * ins + i) * product(c.kernel) + k,
              (b * c.out_channels + o) * product(c.out) + t);
          }
}

struct Operands {
  Array x, w, y, bias;
};

Wants wanted(const Conv& c, ConvPass pass, const Operands& o, bool with_bias) {
  const Values x = o.x.values(), w = o.w.values(), y = o.y.values(), bias = o.bias.values();
  const Array& result = pass == ConvPass::forward         ? o.y
                        : pass == ConvPass::backward_data ? o.x
                                                          : o.w;
  std::vector<Sum> sums(at(result.size()));
  each_product(c, [&](int64_t i, int64_t j, int64_t k) {
    if (pass == ConvPass::forward) sums[at(k)].add(x[at(i)], w[at(j)]);
    if (pass == ConvPass::backward_data) sums[at(i)].add(y[at(k)], w[at(j)]);
    if (pass == ConvPass::backward_weights) sums[at(j)].add(x[at(i)], y[at(k)]);
  });
  const int64_t channels = pass == ConvPass::forward ? c.out_channels : c.in_channels;
  const int64_t size = pass == ConvPass::forward ? product(c.out) : product(c.in);
  Wants want;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (with_bias) sums[i].add(bias[at(static_cast<int64_t>(i) / size % channels)]);
    want.push_back(sums[i].in(result.dtype()));
  }
  return want;
}

template <ConvPass pass>
Outcome conv(Dice& dice) {
  const Conv c = choose(dice);
  const DType d = dice.one_in(6) ? dice.any_of({DType::i64, DType::i32}) : dice.float_type();
  const auto made = [&](int64_t n) {
    Values v = dice.values(n, is_float(d) ? -1 : -20, is_float(d) ? 1 : 20);
    if (!is_float(d))
      for (double& e : v) e = std::floor(e);
    return Array(d, v, dice);
  };
  const bool with_bias = pass != ConvPass::backward_weights && dice.one_in(3);
  const bool builtin = dice.flip();
  const Operands o{made(c.batch * c.in_channels * product(c.in)),
                   made(c.out_channels * (c.in_channels / c.groups) * product(c.kernel)),
                   made(c.batch * c.out_channels * product(c.out)),
                   made(pass == ConvPass::forward ? c.out_channels : c.in_channels)};
  const Array &first = pass == ConvPass::backward_data ? o.y : o.x,
              &second = pass == ConvPass::backward_weights ? o.y : o.w,
              &result = pass == ConvPass::forward         ? o.y
                        : pass == ConvPass::backward_data ? o.x
                                                          : o.w;
  const void* bias = with_bias ? o.bias.data() : nullptr;
  const Wants want = wanted(c, pass, o, with_bias);
  const auto kernel = [&](Arrays& out) {
    void* to = out[0].data();
    if (builtin) return conv_builtin(pass, d, c, first.data(), second.data(), to, bias);
    if (pass == ConvPass::forward) return conv_forward(d, c, first.data(), second.data(), to, bias);
    if (pass == ConvPass::backward_data)
      return conv_backward_data(d, c, first.data(), second.data(), to, bias);
    conv_backward_weights(d, c, first.data(), second.data(), to);
  };
  return {
      fmt::format("{} {} {} bias {}", builtin ? "built-in" : "conv", name(d), text(c), with_bias),
      with_threads(
          {result}, kernel, [&](const Arrays& out) { return differs("result", out[0], want); },
          builtin || !cpu::dnn() ? Bits::same : Bits::may_differ)};
}

const Family kFamily("conv", {{"forward", 300, conv<ConvPass::forward>},
                              {"backward_data", 300, conv<ConvPass::backward_data>},
                              {"backward_weights", 300, conv<ConvPass::backward_weights>}});

}  // namespace
}  // namespace rille::shapes
