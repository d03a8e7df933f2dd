#include "cpu/conv.h"

#include <type_traits>

#include "core/fail.h"
#include "core/threads.h"
#include "cpu/conv_columns.h"
#include "cpu/convert.h"
#include "cpu/dnn.h"
#include "cpu/gemm.h"
#include "cpu/workspace.h"

namespace rille::cpu {

namespace {

constexpr int64_t kPieceBytes = 512 << 10;  // of columns, which the product then finds in the cache
constexpr int64_t kBlockRows = 128;         // rows of columns that one thread makes and multiplies
constexpr int64_t kWantedUnits = 16;        // units of work that a pass is cut into if it can be

template <class T>
constexpr DType kTypeOf = std::is_same_v<T, double>  ? DType::f64
                          : std::is_same_v<T, float> ? DType::f32
                                                     : DType::i64;

/// How a pass is cut, by the sizes only.
struct Cut {
  int64_t piece;  // positions whose columns are made at a time
  int64_t pieces;
  int64_t block, blocks;  // channels whose columns one unit makes
  Cut(const Window& w, int64_t channels_in_block, size_t element) {
    block = std::clamp<int64_t>(channels_in_block, 1, w.channels);
    blocks = (w.channels + block - 1) / block;
    const int64_t column = block * w.taps * static_cast<int64_t>(element);
    piece = std::clamp<int64_t>(kPieceBytes / column, 64, std::max<int64_t>(64, w.positions));
    piece = std::min(piece, w.positions);
    pieces = piece > 0 ? (w.positions + piece - 1) / piece : 0;
  }
};

/// A convolution of one arithmetic type: pointers of one image and group, and the three passes.
template <class T>
class Builtin {
 public:
  explicit Builtin(const Conv& c) : c_(c), w_(c) {}

  void forward(const T* x, const T* w, T* y, const T* bias) const {
    const Cut cut(w_, w_.channels, sizeof(T));
    parallel_for(c_.batch * c_.groups * cut.pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t image = u / cut.pieces, group = image % c_.groups;
        const int64_t l0 = u % cut.pieces * cut.piece, l1 = std::min(w_.positions, l0 + cut.piece);
        T* out = y + image * w_.outputs * w_.positions + l0;
        Gemm g = dense(w_.outputs, l1 - l0, w_.channels * w_.taps);
        g.ldc = w_.positions;
        if (bias) g.beta = 1, fill_rows(out, bias + group * w_.outputs, l1 - l0);
        const T* columns = columns_of(x, image, 0, w_.channels, l0, l1, g.ldb);
        gemm_builtin(kTypeOf<T>, g, weights(w, group), columns, out);
      }
    });
  }

  void backward_data(const T* dy, const T* w, T* dx) const {
    const Cut cut(w_, kBlockRows / w_.taps, sizeof(T));
    parallel_for(c_.batch * c_.groups * cut.blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t image = u / cut.blocks, group = image % c_.groups;
        const int64_t from = u % cut.blocks * cut.block;
        const int64_t to = std::min(w_.channels, from + cut.block);
        T* out = dx + image * w_.channels * w_.image;
        std::fill(out + from * w_.image, out + to * w_.image, T(0));
        for (int64_t l0 = 0; l0 < w_.positions; l0 += cut.piece)
          scatter_piece(dy + image * w_.outputs * w_.positions, weights(w, group), out, from, to,
                        l0, std::min(w_.positions, l0 + cut.piece));
      }
    });
  }

  void backward_weights(const T* x, const T* dy, T* dw) const {
    const Cut cut(w_, kBlockRows / w_.taps, sizeof(T));
    const int64_t wanted = (kWantedUnits + c_.groups * cut.blocks - 1) / (c_.groups * cut.blocks);
    const int64_t parts = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, c_.batch));
    const int64_t size = c_.out_channels * w_.channels * w_.taps;
    T* sums = parts == 1 ? dw : workspace<T>(Purpose::conv_sums, parts * size);
    parallel_for(parts * c_.groups * cut.blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t part = u / (c_.groups * cut.blocks), group = u / cut.blocks % c_.groups;
        const int64_t from = u % cut.blocks * cut.block;
        sum_part(x, dy, sums + part * size, group, from, std::min(w_.channels, from + cut.block),
                 c_.batch * part / parts, c_.batch * (part + 1) / parts, cut.piece);
      }
    });
    if (parts == 1) return;
    parallel_for(size, 4096, [&](int64_t begin, int64_t end) {
      std::copy(sums + begin, sums + end, dw + begin);
      for (int64_t part = 1; part < parts; ++part)
        for (int64_t i = begin; i < end; ++i) dw[i] = add(dw[i], sums[part * size + i]);
    });
  }

 private:
  /// Integers wrap.
  static T add(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }

  const T* weights(const T* w, int64_t group) const {
    return w + group * w_.outputs * w_.channels * w_.taps;
  }

  void fill_rows(T* y, const T* bias, int64_t count) const {
    for (int64_t o = 0; o < w_.outputs; ++o) std::fill_n(y + o * w_.positions, count, bias[o]);
  }

  /// Columns of channels [from, to) of an image (counted in groups), or the image itself.
  const T* columns_of(const T* x, int64_t image, int64_t from, int64_t to, int64_t l0, int64_t l1,
                      int64_t& ld) const {
    const T* own = x + image * w_.channels * w_.image;
    if (w_.is_pointwise()) {
      ld = w_.image;
      return own + from * w_.image + l0;
    }
    ld = l1 - l0;
    T* columns = workspace<T>(Purpose::columns, (to - from) * w_.taps * ld);
    image_to_columns(w_, own, from, to, l0, l1, columns);
    return columns;
  }

  /// dx[from, to) += what positions [l0, l1) of dy send there.
  void scatter_piece(const T* dy, const T* w, T* dx, int64_t from, int64_t to, int64_t l0,
                     int64_t l1) const {
    const int64_t rows = (to - from) * w_.taps;
    Gemm g = dense(rows, l1 - l0, w_.outputs, Transpose::yes);
    g.lda = w_.channels * w_.taps, g.ldb = w_.positions;
    const bool direct = w_.is_pointwise();
    T* columns =
        direct ? dx + from * w_.image + l0 : workspace<T>(Purpose::columns, rows * (l1 - l0));
    if (direct) g.ldc = w_.image;
    gemm_builtin(kTypeOf<T>, g, w + from * w_.taps, dy + l0, columns);
    if (!direct) columns_to_image(w_, columns, from, to, l0, l1, dx);
  }

  /// Columns [from, to) of a group's weight gradient, over images [first, last).
  void sum_part(const T* x, const T* dy, T* dw, int64_t group, int64_t from, int64_t to,
                int64_t first, int64_t last, int64_t piece) const {
    const int64_t all = w_.channels * w_.taps, rows = (to - from) * w_.taps;
    T* out = dw + group * w_.outputs * all + from * w_.taps;
    double beta = 0;
    for (int64_t b = first; b < last; ++b)
      for (int64_t l0 = 0; l0 < w_.positions; l0 += piece) {
        const int64_t l1 = std::min(w_.positions, l0 + piece), image = b * c_.groups + group;
        Gemm g = dense(w_.outputs, rows, l1 - l0, Transpose::no, Transpose::yes);
        g.lda = w_.positions, g.ldc = all, g.beta = beta;
        const T* columns = columns_of(x, image, from, to, l0, l1, g.ldb);
        gemm_builtin(kTypeOf<T>, g, dy + image * w_.outputs * w_.positions + l0, columns, out);
        beta = 1;
      }
    if (beta == 0)
      for (int64_t o = 0; o < w_.outputs; ++o) std::fill_n(out + o * all, rows, T(0));
  }

  const Conv& c_;
  const Window w_;
};

/// x[b, channel, :] += bias[channel]
template <class T>
void add_bias(T* x, const T* bias, int64_t batch, int64_t channels, int64_t size) {
  parallel_for(batch * channels, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, size)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r)
                   for (int64_t i = 0; i < size; ++i) x[r * size + i] += bias[r % channels];
               });
}

template <class T>
void run(ConvPass pass, const Conv& c, const void* first, const void* second, void* result,
         const void* bias) {
  const Builtin<T> conv(c);
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

void dispatch(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
              void* result, const void* bias, bool builtin) {
  switch (dtype) {
    case DType::f64: return run<double>(pass, c, first, second, result, bias);
    case DType::i64: return run<int64_t>(pass, c, first, second, result, bias);
    case DType::f32:
      if (!builtin && run_dnn(pass, dtype, c, first, second, result, bias)) return;
      return run<float>(pass, c, first, second, result, bias);
    case DType::boolean:
      throw dtype_error("convolutions of {} tensors are not defined", name(dtype))
          .hint("x:to \"f32\"");
    default: break;
  }
  const bool tiles = dtype == DType::bf16 && !builtin && dnn() && dnn()->fast_bf16;
  if (tiles && run_dnn(pass, dtype, c, first, second, result, bias)) return;
  // The rest is widened, computed, and rounded once.
  const DType wide = is_float(dtype) ? DType::f32 : DType::i64;
  const auto widened = [&](Purpose purpose, const void* from, int64_t n) -> void* {
    void* to = workspace_bytes(purpose, static_cast<size_t>(n) * size_of(wide));
    parallel_for(n, 1 << 16, [&](int64_t begin, int64_t end) {
      convert(dtype, static_cast<const char*>(from) + begin * static_cast<int64_t>(size_of(dtype)),
              wide, static_cast<char*>(to) + begin * static_cast<int64_t>(size_of(wide)),
              end - begin);
    });
    return to;
  };
  const Sizes sizes(c);
  const bool forward = pass == ConvPass::forward, weights = pass == ConvPass::backward_weights;
  const void* a = widened(Purpose::widen_x, first, forward || weights ? sizes.x : sizes.y);
  const void* b = widened(Purpose::widen_w, second, weights ? sizes.y : sizes.w);
  const int64_t n = forward ? sizes.y : weights ? sizes.w : sizes.x;
  void* out = workspace_bytes(Purpose::widen_y, static_cast<size_t>(n) * size_of(wide));
  const int64_t channels = forward ? c.out_channels : c.in_channels;
  const void* add = bias ? widened(Purpose::widen_bias, bias, channels) : nullptr;
  dispatch(pass, wide, c, a, b, out, add, builtin);
  parallel_for(n, 1 << 16, [&](int64_t begin, int64_t end) {
    convert(wide, static_cast<char*>(out) + begin * static_cast<int64_t>(size_of(wide)), dtype,
            static_cast<char*>(result) + begin * static_cast<int64_t>(size_of(dtype)), end - begin);
  });
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
