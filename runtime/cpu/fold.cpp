#include "cpu/fold.h"

#include <algorithm>

#include "core/budget.h"
#include "core/threads.h"
#include "cpu/movement.h"
#include "cpu/row_access.h"

namespace rille::cpu {
namespace {

// Windows [first, end) have the element at `shift` (of the padded image) inside the image.
struct Inside {
  int64_t first, end;
};
Inside inside(const Windows& w, int dim, int64_t k) {
  const int64_t shift = k * w.dilation[dim] - w.padding[dim], s = w.stride[dim];
  const int64_t first = shift >= 0 ? 0 : (-shift + s - 1) / s;
  const int64_t end = shift >= w.size[dim] ? 0 : (w.size[dim] - 1 - shift) / s + 1;
  return {std::min(first, w.count[dim]),
          std::clamp(end, std::min(first, w.count[dim]), w.count[dim])};
}

template <class U>
void unfold_plane(const Windows& w, const U* image, U* columns) {
  Poll poll;
  for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
    const Inside rows = inside(w, 0, ky);
    for (int64_t kx = 0; kx < w.kernel[1]; ++kx) {
      const Inside cols = inside(w, 1, kx);
      for (int64_t oy = 0; oy < w.count[0]; ++oy, columns += w.count[1], poll(w.count[1])) {
        if (oy < rows.first || oy >= rows.end) {
          std::fill_n(columns, w.count[1], U(0));
          continue;
        }
        const int64_t y = oy * w.stride[0] - w.padding[0] + ky * w.dilation[0];
        const U* line = image + y * w.size[1] - w.padding[1] + kx * w.dilation[1];
        std::fill_n(columns, cols.first, U(0));
        for (int64_t ox = cols.first; ox < cols.end; ++ox) columns[ox] = line[ox * w.stride[1]];
        std::fill(columns + cols.end, columns + w.count[1], U(0));
      }
    }
  }
}

template <class U>
void unfold_all(const Windows& w, const Tensor& images, const Tensor& columns) {
  const int64_t pixels = w.size[0] * w.size[1];
  const int64_t column = w.kernel[0] * w.kernel[1] * w.count[0] * w.count[1];
  parallel_for(w.planes, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, column)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t p = begin; p < end; ++p)
                   unfold_plane(w, images.data_as<U>() + p * pixels,
                                columns.data_as<U>() + p * column);
               });
}

// `lines` gives the rows of ow elements of one plane's columns, one after another.
template <class A, class Lines>
void fold_plane(const Windows& w, Lines&& lines, A* image) {
  Poll poll;
  for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
    const Inside rows = inside(w, 0, ky);
    for (int64_t kx = 0; kx < w.kernel[1]; ++kx) {
      const Inside cols = inside(w, 1, kx);
      const int64_t line = (ky * w.kernel[1] + kx) * w.count[0];
      for (int64_t oy = rows.first; oy < rows.end; ++oy, poll(w.count[1])) {
        const A* from = lines(line + oy);
        const int64_t y = oy * w.stride[0] - w.padding[0] + ky * w.dilation[0];
        A* to = image + y * w.size[1] - w.padding[1] + kx * w.dilation[1];
        for (int64_t ox = cols.first; ox < cols.end; ++ox) to[ox * w.stride[1]] += from[ox];
      }
    }
  }
}

}  // namespace

void unfold_windows(const Windows& w, const Tensor& images, const Tensor& columns) {
  if (columns.numel() == 0) return;
  with_unit(images.dtype(), [&]<class U>() { unfold_all<U>(w, images, columns); });
}

void fold_windows(const Windows& w, const Tensor& columns, const Tensor& images) {
  if (images.numel() == 0) return;
  const int64_t pixels = w.size[0] * w.size[1];
  const int64_t column = w.kernel[0] * w.kernel[1] * w.count[0] * w.count[1];
  with_accumulator(images.dtype(), [&]<class A>() {
    parallel_for(w.planes, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, column)),
                 [&](int64_t begin, int64_t end) {
                   RowReader<A> reader(columns.dtype(), columns.data(), w.count[1]);
                   RowWriter<A> writer(images.dtype(), images.data(), pixels);
                   for (int64_t p = begin; p < end; ++p) {
                     A* image = writer.at(p * pixels);
                     std::fill_n(image, pixels, A(0));
                     const auto lines = [&](int64_t i) {
                       return reader.at(p * column + i * w.count[1]);
                     };
                     if (column > 0) fold_plane<A>(w, lines, image);
                     writer.done();
                   }
                 });
  });
}

}  // namespace rille::cpu
