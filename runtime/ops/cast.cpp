#include "ops/cast.h"

#include "core/fail.h"
#include "core/threads.h"
#include "cpu/convert.h"
#include "cpu/movement.h"
#include "cpu/pointwise.h"
#include "ops/convert.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

struct Same {
  template <class A>
  A operator()(A x) const {
    return x;
  }
};

bool lie_alike(const Tensor& x, const Tensor& y) {
  return x.shape() == y.shape() && x.is_contiguous() && y.is_contiguous();
}

// Where both lie in the same order, nothing but the conversion.
void convert_in_order(const Tensor& x, Tensor& y) {
  constexpr int64_t least = 1 << 15, unit = 1 << 10;
  parallel_evenly(x.numel(), least, unit, [&](int64_t begin, int64_t end) {
    const auto at = [&](const Tensor& t) {
      return static_cast<char*>(t.data()) + begin * static_cast<int64_t>(size_of(t.dtype()));
    };
    cpu::convert(x.dtype(), at(x), y.dtype(), at(y), end - begin);
  });
}

// One pass through a type that holds both sides exactly.
void copy_values(const Tensor& x, Tensor& y) {
  if (x.dtype() != y.dtype()) refuse_lost_nan(x, y.dtype());
  if (x.dtype() == y.dtype() && x.shape() == y.shape()) return cpu::copy_strided(y, x);
  if (is_float(x.dtype()) && is_float(y.dtype()) && lie_alike(x, y)) return convert_in_order(x, y);
  const auto exact = [](DType d) { return cpu::compute_type(d); };
  if (exact(x.dtype()) == DType::i64 && exact(y.dtype()) == DType::i64)
    return map_as<int64_t, int64_t>(Same{}, y, x);
  const bool short_floats = exact(x.dtype()) == DType::f32 && exact(y.dtype()) == DType::f32;
  if (short_floats) return map_as<float, float>(Same{}, y, x);
  // i64 to float goes through double: exact to 2^53, and the rounding to float happens once below
  // it.
  map_as<double, double>(Same{}, y, x);
}

}  // namespace

Meta Copy::infer(const Args& a) {
  if (broadcast(a.x.shape(), a.source.shape()) != a.x.shape())
    throw shape_error("source of shape {} does not broadcast to {}", to_string(a.source.shape()),
                      to_string(a.x.shape()));
  return like(a.x);
}
void Copy::cpu(const Args& a, Tensor& y) { copy_values(a.source, y); }
Copy::Args Copy::grad(const Back<Copy>& b) {
  return {.x = b.need(&Args::x) ? autograd::engine_ops().zeros_like(b.dy) : Tensor(),
          .source = b.dy};
}
void Copy::samples(SampleList& s) {
  add_sample<Copy>(s, {.x = grid({2, 3}, -1, 1), .source = grid({3}, 0, 1)});
  add_sample<Copy>(s, {.x = strided(grid({2, 3}, -1, 1)), .source = grid({2, 3}, 0, 1)});
}

void Cast::cpu(const Args& a, Tensor& y) { copy_values(a.x, y); }
Cast::Args Cast::grad(const Back<Cast>& b) { return {.x = b.dy}; }  // fit_gradient casts
void Cast::samples(SampleList& s) {
  add_sample<Cast>(s, {.x = grid({3, 4}, -3, 3), .dtype = DType::f64});
  add_sample<Cast>(s, {.x = strided(grid({3, 4}, -3, 3)), .dtype = DType::f64});
  for (const DType d : {DType::f8_e4m3, DType::f6_e3m2})
    add_sample<Cast>(s, {.x = grid({3, 5}, -3, 3), .dtype = d}).gradient = false;
}

void Clone::cpu(const Args& a, Tensor& y) { copy_values(a.x, y); }
void Clone::samples(SampleList& s) { unary_samples<Clone>(s, -3, 3); }

void Compact::cpu(const Args& a, Tensor& y) { copy_values(a.x, y); }
void Compact::samples(SampleList& s) { unary_samples<Compact>(s, -3, 3); }

Tensor Contiguous::compose(const Args& a) {
  return a.x.is_contiguous() ? a.x : call<Compact>({.x = a.x});
}
void Contiguous::samples(SampleList& s) { unary_samples<Contiguous>(s, -3, 3); }

Meta ToDevice::infer(const Args& a) {
  Meta m = like(a.x);
  m.device = a.device.value_or(a.x.device());
  if (a.x.is_meta() && !m.device.is_meta())
    throw fail(Kind::device, "E_NO_KERNEL", "a meta tensor has no values to copy");
  return m;
}
void ToDevice::cpu(const Args& a, Tensor& y) { copy_values(a.x, y); }
ToDevice::Args ToDevice::grad(const Back<ToDevice>& b) {
  return {.x = to_device(b.dy, b.a.x.device()), .device = {}};
}
void ToDevice::samples(SampleList& s) {
  add_sample<ToDevice>(s, {.x = grid({3}, -1, 1), .device = Device{DeviceType::cpu, 1}});
}

Tensor widened(const Tensor& x) {
  return x.is_number() || !x.is_float() ? x : cast(x, cpu::compute_type(x.dtype()));
}
Tensor cast(const Tensor& x, DType dtype) {
  return x.dtype() == dtype && !x.is_number() ? x : call<Cast>({.x = x, .dtype = dtype});
}
Tensor clone(const Tensor& x) { return call<Clone>({.x = x}); }
Tensor contiguous(const Tensor& x) { return x.is_contiguous() ? x : call<Compact>({.x = x}); }
Tensor to_device(const Tensor& x, Device device) {
  return x.device() == device ? x : call<ToDevice>({.x = x, .device = device});
}
void copy_(const Tensor& x, const Tensor& source) { call_<Copy>({.x = x, .source = source}); }

OpFamily family_cast() {
  return list_ops(OpList<Copy, Cast, Convert, ConvertDrawn, Clone, Contiguous, Compact, ToDevice>{},
                  "cast");
}

}  // namespace rille
