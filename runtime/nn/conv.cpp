#include "nn/conv.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "nn/init.h"
#include "nn/register.h"
#include "ops/arrange.h"
#include "ops/conv.h"

namespace rille::nn {
namespace {

template <class Options>
Shape kernel_shape(const Options& o, int64_t rows, int64_t columns, int dims) {
  const int given = static_cast<int>(o.kernel.list.size());
  if (given != 1 && given != dims)
    throw arg_error("'kernel' takes 1 or {} numbers, got {}", dims, given);
  Shape shape{rows, columns};
  for (int d = 0; d < dims; ++d) {
    check_size(o.kernel[d], "kernel", 1);
    shape.push_back(o.kernel[d]);
  }
  return shape;
}

template <class Options>
void check_channels(const Options& o) {
  check_size(o.in, "in");
  check_size(o.out, "out");
  check_size(o.groups, "groups", 1);
  if (o.in % o.groups != 0 || o.out % o.groups != 0)
    throw arg_error("{} and {} channels don't divide into {} groups", o.in, o.out, o.groups);
}

// Kaiming's rule: what one result is made of, as the weight's shape tells it.
template <class Layer>
void draw(Layer& layer, const Shape& shape) {
  const auto& o = layer.options;
  const int64_t fan = numel_of_dims(shape, 1);
  layer.weight = uniform_parameter(shape, fan_bound(fan), place_of(o));
  if (o.bias) layer.bias = uniform_parameter({o.out}, fan_bound(fan), place_of(o));
}

// Before and after each dim, the last one first, as `pad` takes them.
template <int N, class Options>
Counts pads_of(const Options& o) {
  Counts pads;
  for (int d = N - 1; d >= 0; --d) {
    const bool same = o.padding.word == Padding::Word::same;
    const PerDim sizes(o.padding.list);
    const int64_t both = same ? Checked(o.dilation[d]) * (o.kernel[d] - 1) : 2 * Checked(sizes[d]);
    pads.list.push_back(both / 2);
    pads.list.push_back(both - both / 2);
  }
  return pads;
}

Pad::Mode pad_mode(PaddingMode mode) {
  if (mode == PaddingMode::reflect) return Pad::Mode::reflect;
  return mode == PaddingMode::replicate ? Pad::Mode::replicate : Pad::Mode::circular;
}

}  // namespace

template <int N>
Conv<N>::Conv(const Options& o) : options(o) {
  check_channels(o);
  draw(*this, kernel_shape(o, o.out, o.in / o.groups, N));
}
template <int N>
Tensor Conv<N>::forward(const Tensor& x) const {
  using Op = std::conditional_t<N == 1, Conv1d, std::conditional_t<N == 2, Conv2d, Conv3d>>;
  const Options& o = options;
  if (o.padding_mode == PaddingMode::zeros || o.padding.word == Padding::Word::valid)
    return call<Op>({x, weight, maybe(bias), o.stride, o.padding, o.dilation, o.groups});
  const Tensor padded =
      call<Pad>({.x = x, .pads = pads_of<N>(o), .mode = pad_mode(o.padding_mode)});
  return call<Op>({padded, weight, maybe(bias), o.stride, Padding{0}, o.dilation, o.groups});
}

template <int N>
ConvTranspose<N>::ConvTranspose(const Options& o) : options(o) {
  check_channels(o);
  draw(*this, kernel_shape(o, o.in, o.out / o.groups, N));
}
template <int N>
Tensor ConvTranspose<N>::forward(const Tensor& x) const {
  using Op = std::conditional_t<N == 1, ConvTranspose1d,
                                std::conditional_t<N == 2, ConvTranspose2d, ConvTranspose3d>>;
  const Options& o = options;
  return call<Op>(
      {x, weight, maybe(bias), o.stride, o.padding, o.output_padding, o.groups, o.dilation});
}

LayerFamily layers_conv() {
  return list_layers<Conv<1>, Conv<2>, Conv<3>, ConvTranspose<1>, ConvTranspose<2>,
                     ConvTranspose<3>>();
}

}  // namespace rille::nn
