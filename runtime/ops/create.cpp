#include "ops/create.h"

#include <cmath>
#include <cstring>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
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

template <class A>
Meta made(const Shape& shape, const A& a) {
  const Context& c = Context::current();
  return {shape, a.dtype.value_or(c.default_dtype), a.device.value_or(c.default_device), {}, false};
}

template <class A>
Meta alike(const A& a) {
  Meta m = like(a.x, a.dtype.value_or(a.x.dtype()));
  m.device = a.device.value_or(m.device);
  return m;
}

// y[i] = value(i), rounded once.
template <class F>
void generate(Tensor& y, F&& value) {
  char* p = static_cast<char*>(y.data());
  const size_t item = size_of(y.dtype());
  polled(y.numel(), [&](int64_t i, int64_t end) {
    for (; i < end; ++i, p += item) store_element(y.dtype(), p, value(i));
  });
}

}  // namespace

void fill(const Tensor& t, double value) {
  if (t.is_meta() || t.numel() == 0) return;
  if (std::isnan(value)) refuse_lost_nan(Tensor::number(value), t.dtype());
  const bool zero_bits = !is_narrow(t.dtype()) || float_info(t.dtype()).has_zero;
  if (value == 0 && !std::signbit(value) && zero_bits && t.is_contiguous()) {
    constexpr int64_t piece = int64_t{16} << 20;
    polled(
        t.nbytes(),
        [&](int64_t begin, int64_t end) {
          std::memset(static_cast<char*>(t.data()) + begin, 0, static_cast<size_t>(end - begin));
        },
        piece);
    return;
  }
  Tensor y = t;
  map(Same{}, t.dtype(), y, Tensor::number(value));
}

// ---- constants ---------------------------------------------------------------------------------

Meta Zeros::infer(const Args& a) { return made(a.shape.list, a); }
void Zeros::cpu(const Args&, Tensor& y) { fill(y, 0); }
void Zeros::samples(SampleList& s) {
  add_sample<Zeros>(s, {.shape = {2, 3}});
  add_sample<Zeros>(s, {.shape = {}, .dtype = DType::boolean});
}

Meta Ones::infer(const Args& a) { return made(a.shape.list, a); }
void Ones::cpu(const Args&, Tensor& y) { fill(y, 1); }
void Ones::samples(SampleList& s) {
  add_sample<Ones>(s, {.shape = {2, 0}});
  add_sample<Ones>(s, {.shape = {3}, .dtype = DType::bf16});
}

Meta Empty::infer(const Args& a) { return made(a.shape.list, a); }
void Empty::cpu(const Args&, Tensor&) {}
void Empty::samples(SampleList& s) { add_sample<Empty>(s, {.shape = {2, 3}}); }

Meta Full::infer(const Args& a) { return made(a.shape.list, a); }
void Full::cpu(const Args& a, Tensor& y) { fill(y, a.value); }
void Full::samples(SampleList& s) {
  add_sample<Full>(s, {.shape = {2, 3}, .value = 1.5, .dtype = {}, .device = {}});
}

Meta ZerosLike::infer(const Args& a) { return alike(a); }
void ZerosLike::cpu(const Args&, Tensor& y) { fill(y, 0); }
void ZerosLike::samples(SampleList& s) {
  add_sample<ZerosLike>(s, {.x = strided(grid({2, 3}, -1, 1))});
  add_sample<ZerosLike>(s, {.x = grid({2}, -1, 1), .dtype = DType::i32});
}

Meta OnesLike::infer(const Args& a) { return alike(a); }
void OnesLike::cpu(const Args&, Tensor& y) { fill(y, 1); }
void OnesLike::samples(SampleList& s) {
  add_sample<OnesLike>(s, {.x = strided(grid({2, 3}, -1, 1))});
}

Meta FullLike::infer(const Args& a) { return alike(a); }
void FullLike::cpu(const Args& a, Tensor& y) { fill(y, a.value); }
void FullLike::samples(SampleList& s) {
  add_sample<FullLike>(s, {.x = grid({2, 3}, -1, 1), .value = -2});
}

Meta EmptyLike::infer(const Args& a) { return alike(a); }
void EmptyLike::cpu(const Args&, Tensor&) {}
void EmptyLike::samples(SampleList& s) { add_sample<EmptyLike>(s, {.x = grid({0, 3}, -1, 1)}); }

Meta Fill::infer(const Args& a) {
  if (a.value.rank() != 0)
    throw shape_error("value must be one element without dims, got shape {}",
                      to_string(a.value.shape()))
        .of("value");
  return like(a.x);
}
void Fill::cpu(const Args& a, Tensor& y) {
  if (y.numel() == 0) return;
  refuse_lost_nan(a.value, y.dtype());
  map(Same{}, y.dtype(), y, a.value);
}
Fill::Args Fill::grad(const Back<Fill>& b) {
  return {.x = b.need(&Args::x) ? zeros_like(b.dy) : Tensor(), .value = b.dy};
}
void Fill::samples(SampleList& s) {
  add_sample<Fill>(s, {.x = grid({2, 3}, -1, 1), .value = Tensor::number(2.5)});
  add_sample<Fill>(s, {.x = strided(grid({2, 3}, -1, 1)), .value = grid({}, -1, 1)});
}

void Zero::cpu(const Args&, Tensor& y) { fill(y, 0); }
Zero::Args Zero::grad(const Back<Zero>& b) { return {.x = zeros_like(b.dy)}; }
void Zero::samples(SampleList& s) { unary_samples<Zero>(s, -1, 1); }

// ---- ranges ------------------------------------------------------------------------------------

namespace {

bool counts_integers(const Arange::Args& a) {
  return !is_float(a.first.dtype()) && !is_float(a.last.dtype()) &&
         (!a.step || !is_float(a.step->dtype()));
}

// How many numbers there are, as Lua's for counts them; a last one that is missed by rounding alone
// is taken in.
int64_t range_count(const Arange::Args& a) {
  if (counts_integers(a)) {
    const int64_t step = a.step ? a.step->item_int() : 1, first = a.first.item_int(),
                  last = a.last.item_int();
    if (step == 0) throw arg_error("step must not be 0");
    if (step > 0 ? last < first : last > first) return 0;
    const uint64_t span = step > 0 ? static_cast<uint64_t>(last) - static_cast<uint64_t>(first)
                                   : static_cast<uint64_t>(first) - static_cast<uint64_t>(last);
    const uint64_t stride =
        step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    return static_cast<int64_t>(std::min<uint64_t>(span / stride, INT64_MAX - 1)) + 1;
  }
  const double step = a.step ? a.step->item() : 1, first = a.first.item(), last = a.last.item();
  const double steps = (last - first) / step;
  if (step == 0) throw arg_error("step must not be 0");
  if (!std::isfinite(steps) || !std::isfinite(step))
    throw arg_error("can't count from {} to {} in steps of {}", first, last, step);
  if (steps < 0) return 0;
  return static_cast<int64_t>(std::min(std::floor(steps * (1 + 0x1p-50)), 0x1p62)) + 1;
}

}  // namespace

Meta Arange::infer(const Args& a) {
  const Context& c = Context::current();
  const DType dtype = a.dtype.value_or(counts_integers(a) ? DType::i64 : c.default_dtype);
  return {{range_count(a)}, dtype, a.device.value_or(c.default_device), {}, false};
}
void Arange::cpu(const Args& a, Tensor& y) {
  if (counts_integers(a)) {
    const uint64_t first = static_cast<uint64_t>(a.first.item_int());
    const uint64_t step = static_cast<uint64_t>(a.step ? a.step->item_int() : 1);
    char* p = static_cast<char*>(y.data());
    Poll poll;
    for (int64_t i = 0; i < y.numel(); ++i, p += size_of(y.dtype()), poll(1))
      store_integer(y.dtype(), p, static_cast<int64_t>(first + static_cast<uint64_t>(i) * step));
    return;
  }
  const double first = a.first.item(), step = a.step ? a.step->item() : 1;
  generate(y, [&](int64_t i) { return first + static_cast<double>(i) * step; });
}
void Arange::samples(SampleList& s) {
  const auto integer = [](int64_t v) { return Tensor::number(v); };
  add_sample<Arange>(s, {.first = integer(1), .last = integer(5)});
  add_sample<Arange>(s, {.first = integer(5), .last = integer(-2), .step = integer(-3)});
  add_sample<Arange>(s, {.first = integer(0),
                         .last = Tensor::number(0.3),
                         .step = Tensor::number(0.1),
                         .dtype = DType::f64});
  add_sample<Arange>(s, {.first = integer(2), .last = integer(1)});
}

namespace {

// Both halves are counted from their end, so that first and last are exact.
double spaced(double first, double last, int64_t count, int64_t i) {
  if (count == 1) return first;
  const double step = (last - first) / static_cast<double>(count - 1);
  return i < count / 2 ? first + step * static_cast<double>(i)
                       : last - step * static_cast<double>(count - 1 - i);
}

void check_count(int64_t count) {
  if (count < 0) throw arg_error("count must not be negative, got {}", count);
}

}  // namespace

Meta Linspace::infer(const Args& a) {
  check_count(a.count);
  return made({a.count}, a);
}
void Linspace::cpu(const Args& a, Tensor& y) {
  generate(y, [&](int64_t i) { return spaced(a.first, a.last, a.count, i); });
}
void Linspace::samples(SampleList& s) {
  add_sample<Linspace>(s, {.first = -1, .last = 2, .count = 7, .dtype = DType::f64});
  add_sample<Linspace>(s, {.first = 3, .last = 5, .count = 1});
}

Meta Logspace::infer(const Args& a) {
  check_count(a.count);
  return made({a.count}, a);
}
void Logspace::cpu(const Args& a, Tensor& y) {
  generate(y, [&](int64_t i) { return std::pow(a.base, spaced(a.first, a.last, a.count, i)); });
}
void Logspace::samples(SampleList& s) {
  add_sample<Logspace>(s, {.first = -1, .last = 2, .count = 5, .dtype = DType::f64});
  add_sample<Logspace>(s, {.first = 0, .last = 3, .count = 4, .base = 2});
}

Meta Eye::infer(const Args& a) { return made({a.n, a.m.value_or(a.n)}, a); }
void Eye::cpu(const Args& a, Tensor& y) {
  fill(y, 0);
  const int64_t m = a.m.value_or(a.n), n = std::min(a.n, m);
  fill(y.alias({n}, {m + 1}, y.offset()), 1);
}
void Eye::samples(SampleList& s) {
  add_sample<Eye>(s, {.n = 3});
  add_sample<Eye>(s, {.n = 2, .m = 4, .dtype = DType::i64});
  add_sample<Eye>(s, {.n = 0, .m = 2});
}

namespace {

// The part of a matrix on one side of a diagonal, with it.
class Triangle {
 public:
  Triangle(int64_t rows, int64_t cols, int64_t offset, bool lower)
      : rows_(rows), cols_(cols), lower_(lower) {
    if (rows < 0 || cols < 0)
      throw arg_error("sizes must not be negative, got {} and {}", rows, cols);
    checked_numel({rows, cols});
    // The lower one begins at `first_`, is whole from `whole_` on; what is above it is the upper.
    const int64_t shift =
        std::clamp(lower ? offset : Checked(std::max(offset, -rows)) - 1, -rows - 1, cols);
    shift_ = shift;
    first_ = std::clamp<int64_t>(-shift, 0, rows);
    whole_ = std::clamp<int64_t>(cols - shift - 1, first_, rows);
  }

  int64_t count() const {
    const Checked slope = (Checked(behind(first_)) + behind(whole_) - 1) * (whole_ - first_);
    const int64_t below = Checked(slope / 2) + Checked(rows_ - whole_) * cols_;
    return lower_ ? below : Checked(rows_) * cols_ - below;
  }

  /// f(row, first column, column behind the last) for each row that has one.
  template <class F>
  void each_row(F&& f) const {
    for (int64_t i = lower_ ? first_ : 0; i < (lower_ ? rows_ : whole_); ++i)
      lower_ ? f(i, int64_t{0}, behind(i)) : f(i, behind(i), cols_);
  }

 private:
  int64_t behind(int64_t row) const { return std::clamp<int64_t>(row + shift_ + 1, 0, cols_); }

  int64_t rows_, cols_, shift_, first_, whole_;
  bool lower_;
};

template <class A>
Meta triangle_meta(const A& a, bool lower) {
  const int64_t n = Triangle(a.rows, a.cols, a.offset, lower).count();
  return {{2, n}, DType::i64, a.device.value_or(Context::current().default_device), {}, false};
}

template <class A>
void triangle_ids(const A& a, Tensor& y, bool lower) {
  if (y.numel() == 0) return;
  int64_t* row = y.data_as<int64_t>();
  int64_t* col = row + y.shape()[1];
  Poll poll;
  Triangle(a.rows, a.cols, a.offset, lower).each_row([&](int64_t i, int64_t first, int64_t behind) {
    for (int64_t j = first; j < behind; ++j, poll(1)) {
      *row++ = i;
      *col++ = j;
    }
  });
}

}  // namespace

Meta TrilIndices::infer(const Args& a) { return triangle_meta(a, true); }
void TrilIndices::cpu(const Args& a, Tensor& y) { triangle_ids(a, y, true); }
void TrilIndices::samples(SampleList& s) {
  add_sample<TrilIndices>(s, {.rows = 3, .cols = 4});
  add_sample<TrilIndices>(s, {.rows = 3, .cols = 2, .offset = -1});
}

Meta TriuIndices::infer(const Args& a) { return triangle_meta(a, false); }
void TriuIndices::cpu(const Args& a, Tensor& y) { triangle_ids(a, y, false); }
void TriuIndices::samples(SampleList& s) {
  add_sample<TriuIndices>(s, {.rows = 3, .cols = 4});
  add_sample<TriuIndices>(s, {.rows = 3, .cols = 2, .offset = 1});
}

// ---- for other ops -----------------------------------------------------------------------------

Tensor full(const Shape& shape, double value, DType dtype, Device device) {
  return call<Full>({.shape = Sizes(shape), .value = value, .dtype = dtype, .device = device});
}
Tensor zeros_like(const Tensor& t) { return full(t.shape(), 0, t.dtype(), t.device()); }
Tensor ones_like(const Tensor& t) { return full(t.shape(), 1, t.dtype(), t.device()); }

OpFamily family_create() {
  return list_ops(OpList<Zeros, Ones, Empty, Full, ZerosLike, OnesLike, FullLike, EmptyLike, Fill,
                         Zero, Arange, Linspace, Logspace, Eye, TrilIndices, TriuIndices>{},
                  "create");
}

}  // namespace rille
