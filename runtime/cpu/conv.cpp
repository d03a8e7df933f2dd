#include "cpu/conv.h"

#include "core/fail.h"
#include "core/threads.h"
#include "cpu/conv_builtin.h"
#include "cpu/convert.h"
#include "cpu/dnn.h"

namespace rille::cpu {

namespace {

/// x[b, channel, :] += bias[channel]
template <class T>
void add_bias(T* x, const T* bias, int64_t batch, int64_t channels, int64_t size) {
  parallel_for(batch * channels, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r)
                   for (int64_t i = 0; i < size; ++i)
                     accumulate(x[r * size + i], bias[r % channels]);
               });
}

template <class T>
void run(ConvPass pass, const Conv& c, const void* first, const void* second, void* result,
         const void* bias) {
  const ConvBuiltin<T> conv(c);
  const T *a = static_cast<const T*>(first), *b = static_cast<const T*>(second);
  T* out = static_cast<T*>(result);
  const T* add = static_cast<const T*>(bias);
  switch (pass) {
    case ConvPass::forward: return conv.forward(a, b, out, add);
    case ConvPass::backward_data:
      conv.backward_data(a, b, out);
      if (add) add_bias(out, add, c.batch, c.in_channels, Window(c).image);
      return;
    case ConvPass::backward_weights: return conv.backward_weights(a, b, out);
  }
}

/// Where the built-in kernels beat oneDNN's, reorders included: images that are their own columns,
/// and gradients of few channels.
bool prefers_columns(ConvPass pass, const Conv& c) {
  const Window w(c);
  if (c.groups > 1) return false;
  return (w.is_pointwise() && w.positions >= 64) ||
         (pass == ConvPass::backward_data && w.channels <= 4);
}

/// oneDNN has no bias in backward_data.
bool run_dnn(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
             void* result, const void* bias) {
  const DnnFunctions* functions = dnn();
  const bool after = bias && pass == ConvPass::backward_data;
  if (!functions || (after && dtype != DType::f32)) return false;
  if (!functions->conv(pass, dtype, c, first, second, result, after ? nullptr : bias)) return false;
  if (after)
    add_bias(static_cast<float*>(result), static_cast<const float*>(bias), c.batch, c.in_channels,
             Window(c).image);
  return true;
}

struct Sizes {
  int64_t x, w, y;
  explicit Sizes(const Conv& c) {
    const Window window(c);
    x = c.batch * c.in_channels * window.image;
    w = c.out_channels * window.channels * window.taps;
    y = c.batch * c.out_channels * window.positions;
  }
};

/// n elements from one memory to another of a different dtype.
void convert_all(DType from, const void* src, DType to, void* dst, int64_t n) {
  parallel_for(n, 1 << 16, [&](int64_t begin, int64_t end) {
    const size_t at = static_cast<size_t>(begin);
    convert(from, static_cast<const char*>(src) + at * size_of(from), to,
            static_cast<char*>(dst) + at * size_of(to), end - begin);
  });
}

void dispatch(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
              void* result, const void* bias, bool builtin);

/// 16-bit floats and narrow integers: widened, computed, and rounded once.
void run_widened(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
                 void* result, const void* bias, bool builtin) {
  const DType wide = is_float(dtype) ? DType::f32 : DType::i64;
  const auto room = [&](Purpose purpose, int64_t n) {
    return workspace_bytes(purpose, static_cast<size_t>(n) * size_of(wide));
  };
  const auto widened = [&](Purpose purpose, const void* from, int64_t n) -> const void* {
    void* to = room(purpose, n);
    convert_all(dtype, from, wide, to, n);
    return to;
  };
  const Sizes sizes(c);
  const bool forward = pass == ConvPass::forward, weights = pass == ConvPass::backward_weights;
  const void* a = widened(Purpose::widen_x, first, forward || weights ? sizes.x : sizes.y);
  const void* b = widened(Purpose::widen_w, second, weights ? sizes.y : sizes.w);
  const int64_t channels = forward ? c.out_channels : c.in_channels;
  const void* add = bias ? widened(Purpose::widen_bias, bias, channels) : nullptr;
  const int64_t n = forward ? sizes.y : weights ? sizes.w : sizes.x;
  void* out = room(Purpose::widen_y, n);
  dispatch(pass, wide, c, a, b, out, add, builtin);
  convert_all(wide, out, dtype, result, n);
}

void dispatch(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
              void* result, const void* bias, bool builtin) {
  switch (dtype) {
    case DType::f64: return run<double>(pass, c, first, second, result, bias);
    case DType::i64: return run<int64_t>(pass, c, first, second, result, bias);
    case DType::f32:
      if (!builtin && !prefers_columns(pass, c) &&
          run_dnn(pass, dtype, c, first, second, result, bias))
        return;
      return run<float>(pass, c, first, second, result, bias);
    case DType::boolean:
      throw dtype_error("convolutions of {} tensors are not defined", name(dtype))
          .hint("x:to \"f32\"");
    default: break;
  }
  const bool narrow = dtype == DType::bf16 && !builtin && dnn() && dnn()->fast_bf16;
  if (narrow && run_dnn(pass, dtype, c, first, second, result, bias)) return;
  run_widened(pass, dtype, c, first, second, result, bias, builtin);
}

}  // namespace

void conv_forward(DType dtype, const Conv& c, const void* x, const void* w, void* y,
                  const void* bias) {
  dispatch(ConvPass::forward, dtype, c, x, w, y, bias, false);
}
void conv_backward_data(DType dtype, const Conv& c, const void* dy, const void* w, void* dx,
                        const void* bias) {
  dispatch(ConvPass::backward_data, dtype, c, dy, w, dx, bias, false);
}
void conv_backward_weights(DType dtype, const Conv& c, const void* x, const void* dy, void* dw) {
  dispatch(ConvPass::backward_weights, dtype, c, x, dy, dw, nullptr, false);
}
void conv_builtin(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
                  void* result, const void* bias) {
  dispatch(pass, dtype, c, first, second, result, bias, true);
}

}  // namespace rille::cpu
