#include "ops/fold.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/fold.h"
#include "ops/cast.h"
#include "ops/families.h"
#include "ops/register.h"

namespace rille {

namespace {

// Everything but the number of planes.
template <class A>
cpu::Windows windows_of(const A& a, int64_t height, int64_t width) {
  cpu::Windows w{};
  const PerDim* given[] = {&a.kernel_size, &a.dilation, &a.padding, &a.stride};
  constexpr std::string_view names[] = {"kernel_size", "dilation", "padding", "stride"};
  for (int k = 0; k < 4; ++k) {
    const Dims& list = given[k]->list;
    if (list.size() != 1 && list.size() != 2)
      throw arg_error("'{}' takes one or two integers", names[k]);
    for (const int64_t v : list)
      if (v < (k == 2 ? 0 : 1))
        throw arg_error("'{}' must be at least {}, got {}", names[k], k == 2 ? 0 : 1, v);
  }
  w.size[0] = height;
  w.size[1] = width;
  for (int d = 0; d < 2; ++d) {
    w.kernel[d] = a.kernel_size[d];
    w.dilation[d] = a.dilation[d];
    w.padding[d] = a.padding[d];
    w.stride[d] = a.stride[d];
    const int64_t room =
        window_room(w.size[d], w.kernel[d], w.dilation[d], w.padding[d], w.padding[d]);
    if (room < 0)
      throw shape_error("a window of {} does not fit into {} along the {}",
                        int64_t{Checked(w.dilation[d]) * (w.kernel[d] - 1) + 1},
                        int64_t{Checked(w.padding[d]) * 2 + w.size[d]}, d == 0 ? "height" : "width")
          .of("x");
    w.count[d] = room / w.stride[d] + 1;
    // A step that is never taken may be of any length: kernels count with a short one.
    if (w.count[d] == 1) w.stride[d] = 1;
    if (w.kernel[d] == 1) w.dilation[d] = 1;
  }
  return w;
}

}  // namespace

Meta Unfold2d::infer(const Args& a) {
  if (a.x.rank() != 3 && a.x.rank() != 4)
    throw shape_error("needs [n, c, h, w] or [c, h, w], got {}", to_string(a.x.shape())).of("x");
  const cpu::Windows w = windows_of(a, a.x.size(-2), a.x.size(-1));
  Shape shape(a.x.shape().begin(), a.x.shape().end() - 3);
  shape.push_back(Checked(a.x.size(-3)) * w.kernel[0] * w.kernel[1]);
  shape.push_back(Checked(w.count[0]) * w.count[1]);
  return meta_of(shape, a.x.dtype(), a.x);
}
void Unfold2d::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  cpu::Windows w = windows_of(a, a.x.size(-2), a.x.size(-1));
  w.planes = numel_of_dims(a.x.shape(), 0, a.x.rank() - 2);
  cpu::unfold_windows(w, contiguous(a.x), y);
}
Unfold2d::Args Unfold2d::grad(const Back<Unfold2d>& b) {
  const Args& a = b.a;
  return {.x = call<Fold2d>({.x = b.dy,
                             .output_size = {a.x.size(-2), a.x.size(-1)},
                             .kernel_size = a.kernel_size,
                             .dilation = a.dilation,
                             .padding = a.padding,
                             .stride = a.stride}),
          .kernel_size = {}};
}
void Unfold2d::samples(SampleList& s) {
  add_sample<Unfold2d>(s, {.x = grid({1, 2, 3, 4}, -1, 1), .kernel_size = {2}});
  add_sample<Unfold2d>(s, {.x = strided(grid({1, 4, 3}, -1, 1)),
                           .kernel_size = {2, 1},
                           .dilation = {2, 1},
                           .padding = {1, 0},
                           .stride = {1, 2}});
  add_sample<Unfold2d>(s, {.x = grid({0, 1, 2, 2}, -1, 1), .kernel_size = {2}});
}

Meta Fold2d::infer(const Args& a) {
  const Dims& size = a.output_size.list;
  if (size.size() != 1 && size.size() != 2)
    throw arg_error("'output_size' takes one or two integers");
  const cpu::Windows w = windows_of(a, a.output_size[0], a.output_size[1]);
  const int64_t patch = Checked(w.kernel[0]) * w.kernel[1],
                windows = Checked(w.count[0]) * w.count[1];
  if (!a.x.is_float())
    throw dtype_error("needs a float tensor, got {}", rille::name(a.x.dtype())).of("x");
  if ((a.x.rank() != 2 && a.x.rank() != 3) || a.x.size(-2) % patch != 0 || a.x.size(-1) != windows)
    throw shape_error("needs [n, c times {}, {}] or without n, got {}", patch, windows,
                      to_string(a.x.shape()))
        .of("x");
  Shape shape(a.x.shape().begin(), a.x.shape().end() - 2);
  for (const int64_t d : {a.x.size(-2) / patch, a.output_size[0], a.output_size[1]})
    shape.push_back(d);
  return meta_of(shape, a.x.dtype(), a.x);
}
void Fold2d::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  cpu::Windows w = windows_of(a, y.size(-2), y.size(-1));
  w.planes = numel_of_dims(y.shape(), 0, y.rank() - 2);
  cpu::fold_windows(w, contiguous(a.x), y);
}
Fold2d::Args Fold2d::grad(const Back<Fold2d>& b) {
  const Args& a = b.a;
  return {.x = call<Unfold2d>({.x = b.dy,
                               .kernel_size = a.kernel_size,
                               .dilation = a.dilation,
                               .padding = a.padding,
                               .stride = a.stride}),
          .output_size = {},
          .kernel_size = {}};
}
void Fold2d::samples(SampleList& s) {
  add_sample<Fold2d>(s, {.x = grid({1, 4, 6}, -1, 1), .output_size = {3, 4}, .kernel_size = {2}});
  add_sample<Fold2d>(s, {.x = strided(grid({4, 4}, -1, 1)),
                         .output_size = {3},
                         .kernel_size = {2},
                         .padding = {1},
                         .stride = {2}});
}

OpFamily family_fold() { return list_ops(OpList<Unfold2d, Fold2d>{}, "fold"); }

}  // namespace rille
