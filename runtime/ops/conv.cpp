#include "ops/conv.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/conv.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {
namespace {

// ---- geometry
// ------------------------------------------------------------------------------------

// The kernels' description of one convolution, from the shapes of x and w.
template <class A>
cpu::Conv geometry(const A& a, const Shape& x, const Shape& w) {
  cpu::Conv c;
  c.dims = x.size() - 2;
  c.batch = x[0], c.in_channels = x[1], c.out_channels = w[0], c.groups = a.groups;
  for (int d = 0; d < c.dims; ++d) {
    c.in[d] = x[d + 2], c.kernel[d] = w[d + 2];
    c.stride[d] = a.stride[d], c.dilation[d] = a.dilation[d];
    c.pad_begin[d] = a.begin[d], c.pad_end[d] = a.end[d];
    c.out[d] = cpu::conv_out(c.in[d], c.kernel[d], c.stride[d], c.dilation[d], c.pad_begin[d],
                             c.pad_end[d]);
    // Steps that lead out of x may be of any length: kernels count with the shortest of them.
    const int64_t room =
        window_room(c.in[d], c.kernel[d], c.dilation[d], c.pad_begin[d], c.pad_end[d]);
    c.stride[d] = std::min(c.stride[d], std::max<int64_t>(room, 0) + 1);
    if (c.kernel[d] <= 1) c.dilation[d] = 1;
  }
  return c;
}

// What the kernels rely on, for an input and a weight of these shapes.
template <class A>
cpu::Conv checked_geometry(const A& a, const Shape& x, const Shape& w) {
  const int dims = x.size() - 2;
  if (dims < 1 || dims > 3 || w.size() != x.size())
    throw shape_error(
        "needs [n, in, ...] and [out, in / groups, ...] of 1 to 3 more dims, got {} and {}",
        to_string(x), to_string(w));
  must_be_within(a.groups, 1, kFar, "groups");
  if (w[0] % a.groups != 0 || x[1] % a.groups != 0 || w[1] != x[1] / a.groups)
    throw shape_error("{} groups of an input {} don't fit a weight {}", a.groups, to_string(x),
                      to_string(w));
  const auto numbers = [&](const PerDim& given, int64_t least, int64_t most,
                           std::string_view what) {
    must_have_numbers(given.list, given.list.size() == 1 ? 1 : dims, least, most, what);
  };
  numbers(a.stride, 1, INT64_MAX, "stride"), numbers(a.dilation, 1, INT64_MAX, "dilation");
  numbers(a.begin, 0, kFar, "begin"), numbers(a.end, -kFar, kFar, "end");
  for (int d = 0; d < dims; ++d) {
    must_be_within(w[d + 2], 1, kFar, "kernel");
    if (w[d + 2] > 1) must_be_within(a.dilation[d], 1, kFar / (w[d + 2] - 1), "dilation");
  }
  return geometry(a, x, w);
}

void check_results(const cpu::Conv& c, const Tensor& y) {
  Shape wanted{c.batch, c.out_channels};
  for (int d = 0; d < c.dims; ++d) wanted.push_back(c.out[d]);
  must_have_shape(y, wanted, "y");
}

Shape with_sizes(int64_t first, int64_t second, const int64_t* sizes, int dims) {
  Shape s = {first, second};
  for (int d = 0; d < dims; ++d) s.push_back(sizes[d]);
  return s;
}

Shape spatial(const Tensor& t) { return Shape(t.shape().begin() + 2, t.shape().end()); }

Shape shape_from(int64_t first, int64_t second, const Dims& size) {
  return with_sizes(first, second, size.begin(), size.size());
}

// The arguments that say how a window moves, for another of the three ops.
template <class To, class From>
To moved_like(const From& a) {
  To to;
  to.stride = a.stride, to.begin = a.begin, to.end = a.end, to.dilation = a.dilation,
  to.groups = a.groups;
  return to;
}

DType common_type(const Tensor& x, const Tensor& w, const std::optional<Tensor>& bias) {
  const DType d = x.dtype();
  if (d == DType::boolean) throw dtype_error("needs numbers, got bool").of("x");
  if (w.dtype() != d)
    throw dtype_error("dtypes differ: {} and {}", name(d), name(w.dtype())).of("x", "weight");
  if (bias && bias->dtype() != d)
    throw dtype_error("dtypes differ: {} and {}", name(d), name(bias->dtype())).of("x", "bias");
  return d;
}

void check_bias(const std::optional<Tensor>& bias, int64_t channels) {
  if (bias && (bias->rank() != 1 || bias->size(0) != channels))
    throw shape_error("bias must have shape [{}], got {}", channels, to_string(bias->shape()))
        .of("bias");
}

const void* data_of(const std::optional<Tensor>& t) { return t ? t->data() : nullptr; }

std::optional<Tensor> packed(const std::optional<Tensor>& t) {
  return t ? std::optional(contiguous(*t)) : std::nullopt;
}

// Nothing to sum: only the bias is left.
void fill_bias(const Tensor& y, const std::optional<Tensor>& bias) {
  fill(y, 0);
  if (!bias) return;
  Shape s = Dims::filled(y.rank(), 1);
  s[1] = bias->size(0);
  copy_(y, reshape(*bias, s));
}

Tensor channel_sum(const Tensor& dy) {
  Dims dims = {0};
  for (int d = 2; d < dy.rank(); ++d) dims.push_back(d);
  return call<Sum>({.x = dy, .dims = Axes(dims), .dtype = dy.dtype()});
}

// A multiplication and an addition for each result and each weight of its channel.
double flops_of(const Shape& results, const Shape& weight) {
  double n = 2;
  for (const int64_t size : results) n *= static_cast<double>(size);
  for (int d = 1; d < weight.size(); ++d) n *= static_cast<double>(weight[d]);
  return n;
}

}  // namespace

// ---- y from x and w
// ------------------------------------------------------------------------------

Meta Convolution::infer(const Args& a) {
  const cpu::Conv c = checked_geometry(a, a.x.shape(), a.weight.shape());
  const DType d = common_type(a.x, a.weight, a.bias);
  check_bias(a.bias, c.out_channels);
  return meta_of(with_sizes(c.batch, c.out_channels, c.out, c.dims), d, a.x);
}
double Convolution::flops(const Args& a) { return flops_of(infer(a).shape, a.weight.shape()); }
void Convolution::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const auto bias = packed(a.bias);
  if (a.x.numel() == 0 || a.weight.numel() == 0 || y.numel() == 0) return fill_bias(y, bias);
  const Tensor x = contiguous(a.x), w = contiguous(a.weight);
  cpu::conv_forward(y.dtype(), geometry(a, x.shape(), w.shape()), x.data(), w.data(), y.data(),
                    data_of(bias));
}
Convolution::Args Convolution::grad(const Back<Convolution>& b) {
  Args g;
  if (b.need(&Args::x)) {
    auto to = moved_like<ConvolutionInput::Args>(b.a);
    to.y = b.dy, to.weight = b.a.weight, to.size = Sizes(spatial(b.a.x));
    g.x = call<ConvolutionInput>(to);
  }
  if (b.need(&Args::weight)) {
    auto to = moved_like<ConvolutionWeight::Args>(b.a);
    to.x = b.a.x, to.y = b.dy, to.size = Sizes(spatial(b.a.weight));
    g.weight = call<ConvolutionWeight>(to);
  }
  if (b.need(&Args::bias)) g.bias = channel_sum(b.dy);
  return g;
}
void Convolution::samples(SampleList& s) {
  add_sample<Convolution>(s, {.x = grid({1, 2, 4}, -1, 1),
                              .weight = grid({2, 1, 2}, -1, 1),
                              .stride = {2},
                              .begin = {0},
                              .end = {1},
                              .groups = 2});
}

// ---- x from y and w
// ------------------------------------------------------------------------------

Meta ConvolutionInput::infer(const Args& a) {
  const DType d = common_type(a.y, a.weight, a.bias);
  must_have_dims(a.weight, 3, 5, "weight");
  must_have_dims(a.y, a.weight.rank(), a.weight.rank(), "y");
  must_have_numbers(a.size.list, a.weight.rank() - 2, 0, kFar, "size");
  const int64_t channels = Checked(a.weight.size(1)) * a.groups;
  const Meta m = meta_of(shape_from(a.y.size(0), channels, a.size.list), d, a.y);
  check_results(checked_geometry(a, m.shape, a.weight.shape()), a.y);
  check_bias(a.bias, channels);
  return m;
}
double ConvolutionInput::flops(const Args& a) { return flops_of(a.y.shape(), a.weight.shape()); }
void ConvolutionInput::cpu(const Args& a, Tensor& x) {
  const NoGrad quiet;
  const auto bias = packed(a.bias);
  if (a.y.numel() == 0 || a.weight.numel() == 0 || x.numel() == 0) return fill_bias(x, bias);
  const Tensor y = contiguous(a.y), w = contiguous(a.weight);
  cpu::conv_backward_data(x.dtype(), geometry(a, x.shape(), w.shape()), y.data(), w.data(),
                          x.data(), data_of(bias));
}
ConvolutionInput::Args ConvolutionInput::grad(const Back<ConvolutionInput>& b) {
  Args g;
  if (b.need(&Args::y)) {
    auto to = moved_like<Convolution::Args>(b.a);
    to.x = b.dy, to.weight = b.a.weight;
    g.y = call<Convolution>(to);
  }
  if (b.need(&Args::weight)) {
    auto to = moved_like<ConvolutionWeight::Args>(b.a);
    to.x = b.dy, to.y = b.a.y, to.size = Sizes(spatial(b.a.weight));
    g.weight = call<ConvolutionWeight>(to);
  }
  if (b.need(&Args::bias)) g.bias = channel_sum(b.dy);
  return g;
}
void ConvolutionInput::samples(SampleList& s) {
  add_sample<ConvolutionInput>(s, {.y = grid({1, 2, 2, 2}, -1, 1),
                                   .weight = grid({2, 1, 2, 2}, -1, 1),
                                   .size = {4, 3},
                                   .stride = {2, 1},
                                   .begin = {0},
                                   .end = {0}});
}

// ---- w from x and y
// ------------------------------------------------------------------------------

Meta ConvolutionWeight::infer(const Args& a) {
  const DType d = common_type(a.x, a.y, {});
  must_have_dims(a.x, 3, 5, "x");
  must_have_dims(a.y, a.x.rank(), a.x.rank(), "y");
  must_have_numbers(a.size.list, a.x.rank() - 2, 1, kFar, "size");
  must_be_within(a.groups, 1, kFar, "groups");
  const Meta m = meta_of(shape_from(a.y.size(1), a.x.size(1) / a.groups, a.size.list), d, a.x);
  check_results(checked_geometry(a, a.x.shape(), m.shape), a.y);
  return m;
}
double ConvolutionWeight::flops(const Args& a) { return flops_of(a.y.shape(), infer(a).shape); }
void ConvolutionWeight::cpu(const Args& a, Tensor& w) {
  const NoGrad quiet;
  if (a.x.numel() == 0 || a.y.numel() == 0 || w.numel() == 0) return fill(w, 0);
  const Tensor x = contiguous(a.x), y = contiguous(a.y);
  cpu::conv_backward_weights(w.dtype(), geometry(a, x.shape(), w.shape()), x.data(), y.data(),
                             w.data());
}
ConvolutionWeight::Args ConvolutionWeight::grad(const Back<ConvolutionWeight>& b) {
  Args g;
  if (b.need(&Args::x)) {
    auto to = moved_like<ConvolutionInput::Args>(b.a);
    to.y = b.a.y, to.weight = b.dy, to.size = Sizes(spatial(b.a.x));
    g.x = call<ConvolutionInput>(to);
  }
  if (b.need(&Args::y)) {
    auto to = moved_like<Convolution::Args>(b.a);
    to.x = b.a.x, to.weight = b.dy;
    g.y = call<Convolution>(to);
  }
  return g;
}
void ConvolutionWeight::samples(SampleList& s) {
  add_sample<ConvolutionWeight>(s, {.x = grid({2, 2, 3}, -1, 1),
                                    .y = grid({2, 2, 2}, -1, 1),
                                    .size = {2},
                                    .stride = {1},
                                    .begin = {0},
                                    .end = {0},
                                    .groups = 2});
}

// ---- what scripts call
// ---------------------------------------------------------------------------

namespace {

constexpr const char* kForms[3] = {"[n, c, l] or [c, l]", "[n, c, h, w] or [c, h, w]",
                                   "[n, c, d, h, w] or [c, d, h, w]"};

// One number for each spatial dim.
Dims per_dim(const Dims& given, int dims, const char* what, int64_t lowest) {
  if (given.size() != 1 && given.size() != dims)
    throw arg_error("'{}' takes 1 or {} numbers, got {}", what, dims, given.size());
  Dims all = given.size() == dims ? given : Dims::filled(dims, given[0]);
  for (const int64_t n : all)
    if (n < lowest) throw arg_error("'{}' must be at least {}, got {}", what, lowest, n);
  return all;
}

// x with a batch dim.
template <class A>
Tensor checked_batch(const A& a, int dims) {
  if (a.x.rank() != dims + 1 && a.x.rank() != dims + 2)
    throw shape_error("needs {}, got shape {}", kForms[dims - 1], to_string(a.x.shape())).of("x");
  if (a.weight.rank() != dims + 2)
    throw shape_error("needs a weight of {} dims, got shape {}", dims + 2,
                      to_string(a.weight.shape()))
        .of("weight");
  for (int d = 0; d < dims; ++d)
    if (a.weight.size(d + 2) < 1)
      throw shape_error("the kernel is empty: weight {}", to_string(a.weight.shape())).of("weight");
  if (a.groups < 1) throw arg_error("'groups' must be at least 1, got {}", a.groups);
  return a.x.rank() == dims + 1 ? unsqueeze(a.x, 0) : a.x;
}

void check_fits(const Tensor& x, const Convolution::Args& to, int dims) {
  for (int d = 0; d < dims; ++d) {
    const int64_t kernel = Checked(to.dilation[d]) * (to.weight.size(d + 2) - 1) + 1;
    const int64_t room = Checked(x.size(d - dims)) + to.begin[d] + to.end[d];
    if (room < kernel)
      throw shape_error("a kernel of {} does not fit into {} along dim {}", kernel, room,
                        x.rank() - dims + d + 1)
          .of("x", "weight");
  }
}

Tensor convolve(const ConvNd::Args& a, int dims) {
  Convolution::Args to;
  to.x = checked_batch(a, dims);
  to.weight = a.weight, to.bias = a.bias, to.groups = a.groups;
  const int64_t in = to.x.size(1), out = a.weight.size(0);
  if (out % a.groups != 0)
    throw shape_error("{} output channels don't divide into {} groups", out, a.groups).of("weight");
  if (const int64_t takes = Checked(a.weight.size(1)) * a.groups; in != takes)
    throw shape_error("x has {} channels, weight {} takes {}", in, to_string(a.weight.shape()),
                      takes)
        .of("x", "weight");
  to.stride = PerDim(per_dim(a.stride.list, dims, "stride", 1));
  to.dilation = PerDim(per_dim(a.dilation.list, dims, "dilation", 1));
  Dims begin = Dims::filled(dims, 0), end = begin;
  if (a.padding.word == Padding::Word::none)
    begin = end = per_dim(a.padding.list, dims, "padding", 0);
  if (a.padding.word == Padding::Word::same)
    for (int d = 0; d < dims; ++d) {
      if (to.stride[d] != 1)
        throw arg_error("padding 'same' needs a stride of 1, got {}", to.stride[d]);
      const int64_t all = Checked(to.dilation[d]) * (a.weight.size(d + 2) - 1);
      begin[d] = all / 2, end[d] = all - all / 2;
    }
  to.begin = PerDim(begin), to.end = PerDim(end);
  check_fits(a.x, to, dims);
  const Tensor y = call<Convolution>(to);
  return a.x.rank() == dims + 1 ? squeeze(y, 0) : y;
}

Tensor convolve_transposed(const ConvTransposeNd::Args& a, int dims) {
  ConvolutionInput::Args to;
  to.y = checked_batch(a, dims);
  to.weight = a.weight, to.bias = a.bias, to.groups = a.groups;
  const int64_t in = to.y.size(1);
  if (in != a.weight.size(0))
    throw shape_error("x has {} channels, weight {} takes {}", in, to_string(a.weight.shape()),
                      a.weight.size(0))
        .of("x", "weight");
  if (in % a.groups != 0)
    throw shape_error("{} channels don't divide into {} groups", in, a.groups).of("x");
  const Dims stride = per_dim(a.stride.list, dims, "stride", 1);
  const Dims dilation = per_dim(a.dilation.list, dims, "dilation", 1);
  const Dims padding = per_dim(a.padding.list, dims, "padding", 0);
  const Dims more = per_dim(a.output_padding.list, dims, "output_padding", 0);
  Dims end = padding, size;
  for (int d = 0; d < dims; ++d) {
    if (more[d] >= std::max(stride[d], dilation[d]))
      throw arg_error("'output_padding' must be below stride or dilation, got {}", more[d]);
    // As much as a stride would make room for one more window: the end is cut off by that much.
    if (more[d] >= stride[d]) end[d] -= more[d];
    const int64_t n = Checked(stride[d]) * (to.y.size(d + 2) - 1) - Checked(padding[d]) * 2 +
                      Checked(dilation[d]) * (a.weight.size(d + 2) - 1) + more[d] + 1;
    if (n < 1)
      throw shape_error("padding {} leaves nothing of the result", padding[d]).of("x", "weight");
    size.push_back(n);
  }
  to.stride = PerDim(stride), to.dilation = PerDim(dilation);
  to.begin = PerDim(padding), to.end = PerDim(end), to.size = Sizes(size);
  const Tensor y = call<ConvolutionInput>(to);
  return a.x.rank() == dims + 1 ? squeeze(y, 0) : y;
}

}  // namespace

Tensor Conv1d::compose(const Args& a) { return convolve(a, 1); }
void Conv1d::samples(SampleList& s) {
  const Tensor x = grid({2, 2, 5}, -1, 1), w = grid({2, 2, 3}, -1, 2);
  add_sample<Conv1d>(s, {.x = x, .weight = w});
  add_sample<Conv1d>(s, {.x = strided(x),
                         .weight = strided(w),
                         .bias = grid({2}, 0, 1),
                         .stride = {2},
                         .padding = {1}});
  add_sample<Conv1d>(s, {.x = x,
                         .weight = grid({4, 1, 2}, -1, 2),
                         .padding = Padding(Padding::Word::same),
                         .groups = 2});
  add_sample<Conv1d>(s, {.x = grid({2, 6}, -1, 1), .weight = w, .dilation = {2}});
  add_sample<Conv1d>(s, {.x = grid({0, 2, 5}, -1, 1), .weight = w, .bias = grid({2}, 0, 1)});
}

Tensor Conv2d::compose(const Args& a) { return convolve(a, 2); }
void Conv2d::samples(SampleList& s) {
  const Tensor x = grid({1, 2, 4, 3}, -1, 1), w = grid({2, 2, 2, 2}, -1, 2);
  add_sample<Conv2d>(s, {.x = x, .weight = w, .bias = grid({2}, 0, 1)});
  add_sample<Conv2d>(s,
                     {.x = strided(x), .weight = strided(w), .stride = {2, 1}, .padding = {1, 0}});
  add_sample<Conv2d>(s, {.x = x,
                         .weight = grid({2, 1, 3, 2}, -1, 2),
                         .padding = Padding(Padding::Word::same),
                         .groups = 2});
  add_sample<Conv2d>(s, {.x = grid({2, 4, 4}, -1, 1),
                         .weight = w,
                         .bias = grid({2}, 0, 1),
                         .padding = {1},
                         .dilation = {3, 1}});
}

Tensor Conv3d::compose(const Args& a) { return convolve(a, 3); }
void Conv3d::samples(SampleList& s) {
  const Tensor x = grid({1, 2, 3, 2, 3}, -1, 1);
  add_sample<Conv3d>(s, {.x = x, .weight = grid({2, 2, 2, 1, 2}, -1, 2), .bias = grid({2}, 0, 1)});
  add_sample<Conv3d>(s, {.x = x,
                         .weight = grid({2, 1, 2, 2, 2}, -1, 2),
                         .stride = {2, 1, 1},
                         .padding = {1, 0, 0},
                         .groups = 2});
}

Tensor ConvTranspose1d::compose(const Args& a) { return convolve_transposed(a, 1); }
void ConvTranspose1d::samples(SampleList& s) {
  const Tensor x = grid({2, 2, 3}, -1, 1);
  add_sample<ConvTranspose1d>(s,
                              {.x = x, .weight = grid({2, 2, 2}, -1, 2), .bias = grid({2}, 0, 1)});
  add_sample<ConvTranspose1d>(s, {.x = x,
                                  .weight = grid({2, 1, 3}, -1, 2),
                                  .stride = {3},
                                  .padding = {1},
                                  .output_padding = {2},
                                  .groups = 2});
  add_sample<ConvTranspose1d>(s, {.x = grid({2, 3}, -1, 1),
                                  .weight = grid({2, 1, 2}, -1, 2),
                                  .output_padding = {2},
                                  .dilation = {3}});
}

Tensor ConvTranspose2d::compose(const Args& a) { return convolve_transposed(a, 2); }
void ConvTranspose2d::samples(SampleList& s) {
  const Tensor x = grid({1, 2, 2, 3}, -1, 1);
  add_sample<ConvTranspose2d>(
      s, {.x = x, .weight = grid({2, 2, 2, 2}, -1, 2), .bias = grid({2}, 0, 1)});
  add_sample<ConvTranspose2d>(s, {.x = strided(x),
                                  .weight = grid({2, 1, 2, 3}, -1, 2),
                                  .stride = {2, 1},
                                  .padding = {0, 1},
                                  .output_padding = {1, 0}});
}

Tensor ConvTranspose3d::compose(const Args& a) { return convolve_transposed(a, 3); }
void ConvTranspose3d::samples(SampleList& s) {
  add_sample<ConvTranspose3d>(s, {.x = grid({1, 2, 2, 1, 2}, -1, 1),
                                  .weight = grid({2, 2, 2, 1, 2}, -1, 2),
                                  .bias = grid({2}, 0, 1),
                                  .stride = {1, 2, 1}});
}

OpFamily family_conv() {
  return list_ops(OpList<Convolution, ConvolutionInput, ConvolutionWeight, Conv1d, Conv2d, Conv3d,
                         ConvTranspose1d, ConvTranspose2d, ConvTranspose3d>{},
                  "conv");
}

}  // namespace rille
