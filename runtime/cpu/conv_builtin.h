// The three passes of a convolution as matrix products over columns, for one arithmetic type. Work
// is cut by the sizes only; each unit adds its pieces in order, so the bits do not depend on the
// number of threads. Bound: arithmetic. Used by conv.cpp where oneDNN does not serve.
#pragma once
#include <algorithm>
#include <type_traits>

#include "core/threads.h"
#include "cpu/conv_columns.h"
#include "cpu/gemm.h"
#include "cpu/workspace.h"

namespace rille::cpu {

template <class T>
class ConvBuiltin {
 public:
  explicit ConvBuiltin(const Conv& c) : c_(c), w_(c) {
    joined_ = std::clamp<int64_t>(kJoinedColumns / std::max<int64_t>(1, w_.positions), 1,
                                  std::max<int64_t>(1, c.batch));
    bundles_ = (c.batch + joined_ - 1) / joined_;
  }

  void forward(const T* x, const T* w, T* y, const T* bias) const {
    const Cut cut(*this, w_.channels);
    parallel_for(bundles_ * c_.groups * cut.pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u)
        forward_piece(x, w, y, bias,
                      piece(u / cut.pieces / c_.groups, u / cut.pieces % c_.groups,
                            u % cut.pieces * cut.piece, cut));
    });
  }

  void backward_data(const T* dy, const T* w, T* dx) const {
    const Cut cut(*this, kBlockRows / w_.taps);
    parallel_for(bundles_ * c_.groups * cut.blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t bundle = u / cut.blocks / c_.groups, group = u / cut.blocks % c_.groups;
        const int64_t from = u % cut.blocks * cut.block;
        const int64_t to = std::min(w_.channels, from + cut.block);
        for (int64_t b = bundle * joined_; b < std::min(c_.batch, (bundle + 1) * joined_); ++b)
          std::fill_n(image_of(dx, b, group) + from * w_.image, (to - from) * w_.image, T(0));
        for (int64_t l0 = 0; l0 < w_.positions; l0 += cut.piece)
          scatter_piece(dy, w, dx, piece(bundle, group, l0, cut), from, to);
      }
    });
  }

  void backward_weights(const T* x, const T* dy, T* dw) const {
    const Cut cut(*this, kBlockRows / w_.taps);
    const int64_t units = c_.groups * cut.blocks;
    const int64_t parts =
        std::clamp<int64_t>((kWantedUnits + units - 1) / units, 1, std::max<int64_t>(1, bundles_));
    const int64_t size = c_.out_channels * w_.channels * w_.taps;
    T* sums = parts == 1 ? dw : workspace<T>(Purpose::conv_sums, parts * size);
    parallel_for(parts * units, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t part = u / units, from = u % cut.blocks * cut.block;
        sum_part(x, dy, sums + part * size, u / cut.blocks % c_.groups, from,
                 std::min(w_.channels, from + cut.block), bundles_ * part / parts,
                 bundles_ * (part + 1) / parts, cut);
      }
    });
    if (parts == 1) return;
    parallel_for(size, 4096, [&](int64_t begin, int64_t end) {
      std::copy(sums + begin, sums + end, dw + begin);
      for (int64_t part = 1; part < parts; ++part)
        for (int64_t i = begin; i < end; ++i) accumulate(dw[i], sums[part * size + i]);
    });
  }

 private:
  static constexpr int64_t kPieceBytes = 512 << 10;  // of columns: the product finds them in L2
  static constexpr int64_t kBlockRows = 128;         // rows of columns that one unit makes
  static constexpr int64_t kWantedUnits = 16;        // units to cut a pass into, if it can be
  static constexpr int64_t kJoinedColumns = 256;     // small images share a product this wide
  static constexpr DType kType = std::is_same_v<T, double>  ? DType::f64
                                 : std::is_same_v<T, float> ? DType::f32
                                                            : DType::i64;

  /// How a pass is cut: positions whose columns are made at a time, channels of one unit.
  struct Cut {
    int64_t piece, pieces, block, blocks;
    Cut(const ConvBuiltin& of, int64_t channels_in_block) {
      const Window& w = of.w_;
      block = std::clamp<int64_t>(channels_in_block, 1, w.channels);
      blocks = (w.channels + block - 1) / block;
      const int64_t fitting = kPieceBytes / (block * w.taps * static_cast<int64_t>(sizeof(T)));
      piece = std::min(w.positions, of.joined_ > 1 ? w.positions : std::max<int64_t>(64, fitting));
      pieces = piece > 0 ? (w.positions + piece - 1) / piece : 0;
    }
  };

  /// Positions [l0, l1) of `images` images from `first` on, in one group.
  struct Piece {
    int64_t first, images, group, l0, l1;
    int64_t length() const { return l1 - l0; }
    int64_t width() const { return images * length(); }
  };

  Piece piece(int64_t bundle, int64_t group, int64_t l0, const Cut& cut) const {
    const int64_t first = bundle * joined_;
    return {first, std::min(joined_, c_.batch - first), group, l0,
            std::min(w_.positions, l0 + cut.piece)};
  }

  const T* weights(const T* w, int64_t group) const {
    return w + group * w_.outputs * w_.channels * w_.taps;
  }
  template <class P>
  P* image_of(P* x, int64_t image, int64_t group) const {
    return x + (image * c_.groups + group) * w_.channels * w_.image;
  }
  template <class P>
  P* result_of(P* y, int64_t image, int64_t group) const {
    return y + (image * c_.groups + group) * w_.outputs * w_.positions;
  }

  /// Columns of channels [from, to), or the image itself where it is its columns.
  const T* columns_of(const T* x, const Piece& p, int64_t from, int64_t to, int64_t& ld) const {
    if (w_.is_pointwise() && p.images == 1) {
      ld = w_.image;
      return image_of(x, p.first, p.group) + from * w_.image + p.l0;
    }
    ld = p.width();
    T* columns = workspace<T>(Purpose::columns, (to - from) * w_.taps * ld);
    for (int64_t i = 0; i < p.images; ++i)
      image_to_columns(w_, image_of(x, p.first + i, p.group), from, to, p.l0, p.l1,
                       columns + i * p.length(), ld);
    return columns;
  }

  /// Rows of outputs, one a channel: those of dy in place, or those of several images side by side.
  const T* rows_of(const T* dy, const Piece& p, int64_t& ld) const {
    if (p.images == 1) {
      ld = w_.positions;
      return result_of(dy, p.first, p.group) + p.l0;
    }
    ld = p.width();
    T* rows = workspace<T>(Purpose::rows, w_.outputs * ld);
    for (int64_t i = 0; i < p.images; ++i)
      for (int64_t o = 0; o < w_.outputs; ++o)
        std::copy_n(result_of(dy, p.first + i, p.group) + o * w_.positions, p.length(),
                    rows + o * ld + i * p.length());
    return rows;
  }

  void forward_piece(const T* x, const T* w, T* y, const T* bias, const Piece& p) const {
    Gemm g = dense(w_.outputs, p.width(), w_.channels * w_.taps);
    T* out = result_of(y, p.first, p.group) + p.l0;
    g.ldc = w_.positions;
    if (p.images > 1) out = workspace<T>(Purpose::rows, w_.outputs * g.n), g.ldc = g.n;
    if (bias) {
      g.beta = 1;
      for (int64_t o = 0; o < w_.outputs; ++o)
        std::fill_n(out + o * g.ldc, g.n, bias[p.group * w_.outputs + o]);
    }
    const T* columns = columns_of(x, p, 0, w_.channels, g.ldb);
    gemm_builtin(kType, g, weights(w, p.group), columns, out);
    if (p.images == 1) return;
    for (int64_t i = 0; i < p.images; ++i)
      for (int64_t o = 0; o < w_.outputs; ++o)
        std::copy_n(out + o * g.ldc + i * p.length(), p.length(),
                    result_of(y, p.first + i, p.group) + o * w_.positions);
  }

  /// dx[from, to) += what the piece of dy sends there.
  void scatter_piece(const T* dy, const T* w, T* dx, const Piece& p, int64_t from,
                     int64_t to) const {
    const int64_t rows = (to - from) * w_.taps;
    Gemm g = dense(rows, p.width(), w_.outputs, Transpose::yes);
    g.lda = w_.channels * w_.taps;
    const T* b = rows_of(dy, p, g.ldb);
    const bool direct = w_.is_pointwise() && p.images == 1;
    T* columns = direct ? image_of(dx, p.first, p.group) + from * w_.image + p.l0
                        : workspace<T>(Purpose::columns, rows * g.n);
    if (direct) g.ldc = w_.image;
    gemm_builtin(kType, g, weights(w, p.group) + from * w_.taps, b, columns);
    if (direct) return;
    for (int64_t i = 0; i < p.images; ++i)
      columns_to_image(w_, columns + i * p.length(), from, to, p.l0, p.l1,
                       image_of(dx, p.first + i, p.group), g.n);
  }

  /// Channels [from, to) of a group's weight gradient, over bundles [first, last).
  void sum_part(const T* x, const T* dy, T* dw, int64_t group, int64_t from, int64_t to,
                int64_t first, int64_t last, const Cut& cut) const {
    const int64_t all = w_.channels * w_.taps, rows = (to - from) * w_.taps;
    T* out = dw + group * w_.outputs * all + from * w_.taps;
    double beta = 0;
    for (int64_t bundle = first; bundle < last; ++bundle)
      for (int64_t l0 = 0; l0 < w_.positions; l0 += cut.piece) {
        const Piece p = piece(bundle, group, l0, cut);
        Gemm g = dense(w_.outputs, rows, p.width(), Transpose::no, Transpose::yes);
        g.ldc = all, g.beta = beta;
        const T* a = rows_of(dy, p, g.lda);
        gemm_builtin(kType, g, a, columns_of(x, p, from, to, g.ldb), out);
        beta = 1;
      }
    if (beta == 0)
      for (int64_t o = 0; o < w_.outputs; ++o) std::fill_n(out + o * all, rows, T(0));
  }

  const Conv& c_;
  const Window w_;
  int64_t joined_, bundles_;  // images of one product; products that make the batch
};

}  // namespace rille::cpu
