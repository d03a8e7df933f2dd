#include "ops/select.h"

#include <limits>

#include "core/fail.h"
#include "ops/arith.h"
#include "ops/compare.h"
#include "ops/convert.h"
#include "ops/families.h"
#include "ops/pointwise_grad.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

struct Choose {
  template <class A>
  A operator()(uint8_t condition, A x, A y) const {
    return condition ? x : y;
  }
};

// nan of a limit comes through, too.
struct Between {
  template <class A>
  A operator()(A x, A lo, A hi) const {
    const A raised = lo > x || lo != lo ? lo : x;
    return hi < raised || hi != hi ? hi : raised;
  }
};

// One pass whatever the dtypes: values travel in a type that holds them exactly.
void choose(const Tensor& condition, const Tensor& x, const Tensor& y, Tensor& out) {
  // Tensors share out's dtype, as promotion has it; a single value may come from a wider one.
  for (const Tensor* t : {&x, &y})
    if (t->rank() == 0) refuse_lost_nan(*t, out.dtype());
  switch (cpu::compute_type(out.dtype())) {
    case DType::f64: return map_as<double, uint8_t, double, double>(Choose{}, out, condition, x, y);
    case DType::i64:
      return map_as<int64_t, uint8_t, int64_t, int64_t>(Choose{}, out, condition, x, y);
    default: return map_as<float, uint8_t, float, float>(Choose{}, out, condition, x, y);
  }
}

void check_bool(const Tensor& t, const char* what) {
  if (t.dtype() != DType::boolean)
    throw dtype_error("'{}' must be bool, got {}", what, name(t.dtype()))
        .of(what)
        .hint("compare first, as in x:gt(0)");
}

}  // namespace

Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return call<Where>({condition, x, y});
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  return call<MaskedFill>({x, mask, Tensor::number(value)});
}

// ---- by a condition
// ------------------------------------------------------------------------------

Meta Where::infer(const Args& a) {
  check_bool(a.condition, "condition");
  Meta m = pointwise_meta({&a.x, &a.y}, result_type({&a.x, &a.y}));
  const Shape shape = broadcast(a.condition.shape(), m.shape);
  const Device device = a.x.is_number() && a.y.is_number() ? a.condition.device() : m.device;
  if (shape == m.shape && device == m.device) return m;
  return {shape, m.dtype, device, {}, false};
}
void Where::cpu(const Args& a, Tensor& y) { choose(a.condition, a.x, a.y, y); }
Where::Args Where::grad(const Back<Where>& b) {
  Args g;
  if (b.need(&Args::x)) g.x = where(b.a.condition, b.dy, Tensor::number(0.0));
  if (b.need(&Args::y)) g.y = masked_fill(b.dy, b.a.condition, 0);
  return g;
}
void Where::samples(SampleList& s) {
  add_sample<Where>(s, {mask({2, 3}), grid({2, 3}, -1, 1), grid({2, 3}, 2, 3)});
  add_sample<Where>(s, {mask({3, 1}), grid({2, 1, 4}, -1, 1), grid({4}, 2, 3)});
  add_sample<Where>(s, {strided(mask({3, 4})), grid({3, 4}, -1, 1), Tensor::number(0.5)});
  add_sample<Where>(s, {mask({4}), Tensor::number(1.0), Tensor::number(0.0)});
  add_sample<Where>(s, {mask({}), grid({}, -1, 1), grid({}, 2, 3)});
  add_sample<Where>(s, {mask({0, 3}), grid({3}, -1, 1), grid({0, 3}, 2, 3)});
}

Meta MaskedFill::infer(const Args& a) {
  check_bool(a.mask, "mask");
  if (a.value.rank() != 0)
    throw shape_error("'value' must be a number or a 0-d tensor, got shape {}",
                      to_string(a.value.shape()))
        .of("value");
  if (category(a.value.dtype()) > category(a.x.dtype()))
    throw dtype_error("a {} value does not fit into a tensor of {}", rille::name(a.value.dtype()),
                      rille::name(a.x.dtype()));
  return pointwise_meta({&a.x, &a.mask}, a.x.dtype());
}
void MaskedFill::cpu(const Args& a, Tensor& y) { choose(a.mask, a.value, a.x, y); }
MaskedFill::Args MaskedFill::grad(const Back<MaskedFill>& b) {
  Args g;
  if (b.need(&Args::x)) g.x = masked_fill(b.dy, b.a.mask, 0);
  if (b.need(&Args::value)) g.value = where(b.a.mask, b.dy, Tensor::number(0.0));
  return g;
}
void MaskedFill::samples(SampleList& s) {
  add_sample<MaskedFill>(s, {grid({2, 3}, -1, 1), mask({2, 3}), Tensor::number(2.0)});
  add_sample<MaskedFill>(s, {grid({2, 3}, -1, 1), mask({3}), grid({}, 1, 2)});
  add_sample<MaskedFill>(s, {grid({3}, -1, 1), mask({2, 3}), Tensor::number(-1.0)});
  add_sample<MaskedFill>(s, {strided(grid({4, 3}, -1, 1)), mask({4, 1}), Tensor::number(0.0)});
  add_sample<MaskedFill>(s, {grid({0, 3}, -1, 1), mask({3}), Tensor::number(0.0)});
}

// ---- between bounds
// ------------------------------------------------------------------------------

namespace {

bool has(const std::optional<Tensor>& t) { return t && *t; }

// A bound that never binds.
Tensor limit(const std::optional<Tensor>& bound, bool integers, bool upper) {
  if (has(bound)) return *bound;
  using Int = std::numeric_limits<int64_t>;
  if (integers) return Tensor::number(upper ? Int::max() : Int::min());
  return Tensor::number(upper ? HUGE_VAL : -HUGE_VAL);
}

}  // namespace

Meta Clamp::infer(const Args& a) {
  if (!has(a.min) && !has(a.max)) throw arg_error("needs 'min' or 'max'");
  const Tensor& lo = has(a.min) ? *a.min : a.x;
  const Tensor& hi = has(a.max) ? *a.max : a.x;
  return pointwise_meta({&a.x, &lo, &hi}, result_type({&a.x, &lo, &hi}));
}
void Clamp::cpu(const Args& a, Tensor& y) {
  const bool integers = !is_float(y.dtype());
  map(Between{}, y.dtype(), y, a.x, limit(a.min, integers, false), limit(a.max, integers, true));
}
Clamp::Args Clamp::grad(const Back<Clamp>& b) {
  using Share = ClampShare;
  const bool low = has(b.a.min), high = has(b.a.max);
  const bool numbers = (!low || b.a.min->is_number()) && (!high || b.a.max->is_number());
  Args g{};
  if (!numbers && low != high) {  // as maximum and minimum
    const Tensor& bound = low ? *b.a.min : *b.a.max;
    const auto of = low ? ExtremeShare::Of::max : ExtremeShare::Of::min;
    if (b.need(&Args::x)) g.x = call<ExtremeShare>({b.a.x, bound, b.dy, of});
    if (b.need(low ? &Args::min : &Args::max))
      (low ? g.min : g.max) = call<ExtremeShare>({b.a.x, bound, b.dy, of, true});
    return g;
  }
  const Tensor from = limit(b.a.min, false, false), to = limit(b.a.max, false, true);
  const auto share = [&](Share::Part part) {
    return call<Share>({b.a.x, from, to, b.dy, part, numbers});
  };
  if (b.need(&Args::x)) g.x = share(Share::Part::x);
  if (b.need(&Args::min)) g.min = share(Share::Part::low);
  if (b.need(&Args::max)) g.max = share(Share::Part::high);
  return g;
}
void Clamp::samples(SampleList& s) {
  const auto n = [](double v) { return Tensor::number(v); };
  add_sample<Clamp>(s, {.x = grid({3, 4}, -2, 2.1), .min = n(-1), .max = n(0.5)});
  add_sample<Clamp>(s, {.x = strided(grid({3, 4}, -2, 2)), .min = n(-1)});
  add_sample<Clamp>(s, {.x = grid({3, 4}, -2, 2), .max = grid({4}, -0.5, 0.6)});
  add_sample<Clamp>(
      s, {.x = grid({3, 4}, -2, 2), .min = grid({4}, -1.1, 0.2), .max = grid({3, 1}, 0.3, 1.2)});
  add_sample<Clamp>(s, {.x = grid({}, 3, 4), .min = n(-1), .max = n(1)});
  add_sample<Clamp>(s, {.x = grid({0, 2}, 3, 4), .min = n(-1)});
  add_sample<Clamp>(
      s, {.x = ids({5}, 9), .min = Tensor::number(int64_t{2}), .max = Tensor::number(int64_t{5})});
}

void ClampMin::samples(SampleList& s) {
  add_sample<ClampMin>(s, {grid({3, 4}, -2, 2.1), Tensor::number(0.5)});
  add_sample<ClampMin>(s, {grid({3, 4}, -2, 2.1), grid({4}, -1, 1.1)});
}
void ClampMax::samples(SampleList& s) {
  add_sample<ClampMax>(s, {grid({3, 4}, -2, 2.1), Tensor::number(0.5)});
  add_sample<ClampMax>(s, {grid({3, 4}, -2, 2.1), grid({4}, -1, 1.1)});
}

// ---- of two
// --------------------------------------------------------------------------------------

namespace {

template <class O>
typename O::Args shares(const Back<O>& b, ExtremeShare::Of of) {
  typename O::Args g{};
  if (b.need(&O::Args::x)) g.x = call<ExtremeShare>({b.a.x, b.a.y, b.dy, of});
  if (b.need(&O::Args::y)) g.y = call<ExtremeShare>({b.a.x, b.a.y, b.dy, of, true});
  return g;
}

}  // namespace

Maximum::Args Maximum::grad(const Back<Maximum>& b) { return shares(b, ExtremeShare::Of::max); }
Minimum::Args Minimum::grad(const Back<Minimum>& b) { return shares(b, ExtremeShare::Of::min); }
FMax::Args FMax::grad(const Back<FMax>& b) { return shares(b, ExtremeShare::Of::fmax); }
FMin::Args FMin::grad(const Back<FMin>& b) { return shares(b, ExtremeShare::Of::fmin); }
void Maximum::samples(SampleList& s) { binary_samples<Maximum>(s, -2, 2); }
void Minimum::samples(SampleList& s) { binary_samples<Minimum>(s, -2, 2); }
void FMax::samples(SampleList& s) { binary_samples<FMax>(s, -2, 2); }
void FMin::samples(SampleList& s) { binary_samples<FMin>(s, -2, 2); }

OpFamily family_select() {
  return list_ops(
      OpList<Where, MaskedFill, Clamp, ClampMin, ClampMax, Maximum, Minimum, FMax, FMin>{},
      "select");
}

}  // namespace rille
