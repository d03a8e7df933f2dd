#include "ops/rotary.h"

#include <cmath>

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/rotary.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/pointwise.h"
#include "ops/register.h"
#include "ops/shape.h"
#include "ops/slice.h"
#include "ops/trig.h"
#include "ops/view.h"

namespace rille {
namespace {

int64_t turned_width(const RotaryEmbedding::Args& a) { return a.width.value_or(a.x.size(-1)); }

// The angle of each pair at each place, in f64: [..., time, pairs], or [time, pairs] where every
// sequence counts alike.
Tensor angles(const RotaryEmbedding::Args& a) {
  const int64_t pairs = turned_width(a) / 2;
  const Device device = a.x.device();
  const auto numbers = [&](int64_t n) {
    return call<Arange>({.first = Tensor::number(int64_t{0}),
                         .last = Tensor::number(n - 1),
                         .dtype = DType::f64,
                         .device = device});
  };
  const Tensor at = (a.positions ? cast(*a.positions, DType::f64) : numbers(a.x.size(-2))) +
                    static_cast<double>(a.offset);
  const double step = pairs ? -std::log(a.base) / static_cast<double>(pairs) : 0;
  const Tensor speeds = call<Exp>({.x = numbers(pairs) * step});
  return unsqueeze(at, -1) * (a.inverse ? -speeds : speeds);
}

}  // namespace

Meta RotaryEmbedding::infer(const Args& a) {
  if (!a.x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", rille::name(a.x.dtype())).of("x");
  if (a.x.rank() < 2)
    throw shape_error("'x' must be [..., time, n], got {}", to_string(a.x.shape())).of("x");
  const int64_t width = turned_width(a);
  if (width < 0 || width % 2 != 0 || width > a.x.size(-1))
    throw shape_error("{} of {} elements can't be turned in pairs", width, a.x.size(-1)).of("x");
  if (!(a.base > 0)) throw arg_error("'base' must be positive, got {}", a.base);
  if (a.positions) {
    const Shape rows(a.x.shape().begin(), a.x.shape().end() - 1);
    const Shape& p = a.positions->shape();
    if (a.positions->is_float())
      throw dtype_error("'positions' must be integers, got {}", rille::name(a.positions->dtype()))
          .of("positions");
    bool fits = p.size() <= rows.size();
    for (int d = 1; fits && d <= p.size(); ++d)
      fits = p[p.size() - d] == 1 || p[p.size() - d] == rows[rows.size() - d];
    if (!fits)
      throw shape_error("'positions' must broadcast to {}, got {}", to_string(rows), to_string(p))
          .of("x", "positions");
  }
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void RotaryEmbedding::cpu(const Args& a, Tensor& y) {
  if (y.numel() == 0) return;
  const NoGrad quiet;
  const DType wide = y.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const int64_t width = a.x.size(-1), half = turned_width(a) / 2;
  Tensor turn = angles(a);
  const bool alike = turn.rank() == 2 && turn.size(0) == a.x.size(-2);
  if (!alike) {
    Shape s = a.x.shape();
    s[s.size() - 1] = half;
    turn = expand(turn, s);
  }
  const Tensor cos = contiguous(cast(call<Cos>({.x = turn}), wide)),
               sin = contiguous(cast(call<Sin>({.x = turn}), wide)), x = contiguous(a.x);
  const int64_t rows = x.numel() / width;
  cpu::rotary(x.dtype(), {rows, width, Checked(half) * 2, alike ? x.size(-2) : rows, a.interleaved},
              x.data(), cos.data(), sin.data(), y.data());
}
Tensor RotaryEmbedding::compose(const Args& a) {
  infer(a);
  const DType d = a.x.dtype(), wide = d == DType::f64 ? d : DType::f32;
  const int64_t width = turned_width(a), half = width / 2;
  const Tensor turn = angles(a), x = cast(a.x, wide);
  const Tensor cos = cast(call<Cos>({.x = turn}), wide), sin = cast(call<Sin>({.x = turn}), wide);
  const Tensor part = narrow(x, -1, 0, width), rest = narrow(x, -1, width, x.size(-1) - width);
  Shape shape = part.shape(), pairs = shape;
  pairs[pairs.size() - 1] = a.interleaved ? half : 2;
  pairs.push_back(a.interleaved ? 2 : half);
  const Tensor split = reshape(part, pairs);
  const int64_t dim = a.interleaved ? -1 : -2;
  const Tensor p = select(split, dim, 0), q = select(split, dim, 1);
  const Tensor out = stack({p * cos - q * sin, q * cos + p * sin}, dim);
  return cast(cat({reshape(out, shape), rest}, -1), d);
}
RotaryEmbedding::Args RotaryEmbedding::grad(const Back<RotaryEmbedding>& b) {
  Args back = b.a;
  back.x = b.dy;
  back.inverse = !b.a.inverse;
  back.width = turned_width(b.a);
  return {.x = call<RotaryEmbedding>(back)};
}
void RotaryEmbedding::samples(SampleList& s) {
  const Tensor x = grid({2, 3, 4}, -1, 1);
  add_sample<RotaryEmbedding>(s, {.x = x});
  add_sample<RotaryEmbedding>(s, {.x = strided(x), .base = 100, .offset = 5, .interleaved = true});
  add_sample<RotaryEmbedding>(s, {.x = x, .positions = ids({2, 3}, 7), .width = 2});
  add_sample<RotaryEmbedding>(s, {.x = x, .positions = ids({2, 1}, 7), .inverse = true});
  add_sample<RotaryEmbedding>(s, {.x = grid({3, 5}, -1, 1), .width = 4, .interleaved = true});
  add_sample<RotaryEmbedding>(s, {.x = grid({0, 3, 4}, -1, 1)});
}

OpFamily family_rotary() { return list_ops(OpList<RotaryEmbedding>{}, "attention"); }

}  // namespace rille
