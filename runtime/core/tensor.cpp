#include "core/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/context.h"
#include "core/fail.h"
#include "core/half.h"
#include "core/narrow.h"
#include "core/packed.h"
#include "core/sizes.h"

namespace rille {

TensorImpl::TensorImpl(const Meta& m)
    : dtype(m.dtype),
      device(m.device),
      contiguous(!m.strided || is_contiguous(m.shape, m.strides)),
      numel(checked_numel(m.shape, size_of(m.dtype))),
      shape(m.shape),
      strides(m.strided ? m.strides : contiguous_strides(m.shape)) {}

TensorImpl::TensorImpl(const TensorImpl& t)
    : dtype(t.dtype),
      device(t.device),
      contiguous(t.contiguous),
      number(t.number),
      loose(t.loose),
      numel(t.numel),
      offset(t.offset),
      shape(t.shape),
      strides(t.strides) {}

Tensor Tensor::empty(const Meta& m) {
  Tensor t(new TensorImpl(m));
  TensorImpl& i = *t.p_;
  const uint32_t flags = Context::current().flags;
  i.loose = (flags & kLoose) && rille::is_packed(m.dtype);
  i.storage = allocate_storage(static_cast<size_t>(t.nbytes()), m.device);
  i.inference = flags & kInference;
  // What no element lies in is 0, not what the memory held before.
  if (t.is_packed() && i.numel > 0 && !m.device.is_meta()) t.data_as<char>()[t.nbytes() - 1] = 0;
  return t;
}

Tensor Tensor::number(double v) {
  Tensor t = empty(Shape{}, DType::f64);
  *t.data_as<double>() = v;
  t.p_->number = true;
  return t;
}

Tensor Tensor::number(int64_t v) {
  Tensor t = empty(Shape{}, DType::i64);
  *t.data_as<int64_t>() = v;
  t.p_->number = true;
  return t;
}

Tensor Tensor::of(std::span<const double> values, const Shape& s, DType d) {
  Tensor t = empty(s, d);
  if (static_cast<int64_t>(values.size()) != t.numel())
    throw internal_error("{} values for shape {}", values.size(), to_string(s));
  int64_t at = 0;
  for (const double v : values) t.store(at++, v);
  return t;
}

[[gnu::noinline]] void Tensor::destroy(TensorImpl* p) noexcept { delete p; }

Tensor Tensor::alias(const Shape& shape, const Strides& strides, int64_t offset) const {
  Tensor t(new TensorImpl);
  TensorImpl& i = *t.p_;
  i.dtype = dtype();
  i.device = device();
  i.shape = shape;
  i.strides = strides;
  i.offset = offset;
  i.numel = checked_numel(shape, size_of(dtype()));
  i.contiguous = rille::is_contiguous(shape, strides);
  i.storage = p_->storage;
  i.inference = p_->inference;
  i.loose = p_->loose;
  return t;
}

Tensor Tensor::shell() const { return Tensor(new TensorImpl(*p_)); }

namespace {

void must_have_values(const Tensor& t) {
  if (t.is_meta() || !t.storage())
    throw fail(Kind::device, "E_NO_KERNEL", "meta tensors have no values");
}

}  // namespace

double Tensor::item() const {
  must_have_values(*this);
  if (numel() != 1)
    throw shape_error("needs a tensor of one element, got shape {}", to_string(shape()));
  return load(0);
}

int64_t Tensor::item_int() const {
  must_have_values(*this);
  if (numel() != 1)
    throw shape_error("needs a tensor of one element, got shape {}", to_string(shape()));
  return load_int(0);
}

double Tensor::at(int64_t position) const {
  must_have_values(*this);
  int64_t index = 0;
  for (int d = rank() - 1; d >= 0; --d) {
    index += position % shape()[d] * strides()[d];  // fits: an element that is there
    position /= shape()[d];
  }
  return load(index);
}

namespace {

void* address(const Tensor& t, int64_t distance) {
  return t.data_as<char>() + distance * static_cast<int64_t>(size_of(t.dtype()));
}

}  // namespace

double Tensor::load(int64_t distance) const {
  if (!is_packed()) return load_element(dtype(), address(*this, distance));
  return static_cast<double>(
      decode(dtype(), packed_code(dtype(), p_->storage->data, offset() + distance)));
}
int64_t Tensor::load_int(int64_t distance) const {
  if (!is_packed()) return load_integer(dtype(), address(*this, distance));
  return static_cast<int64_t>(load(distance));  // at most 28
}
void Tensor::store(int64_t distance, double v) const {
  if (!is_packed()) return store_element(dtype(), address(*this, distance), v);
  if (std::isnan(v))
    throw fail(Kind::dtype, "E_NAN_UNREPRESENTABLE", "element {} is nan, which {} has none of",
               distance + 1, name(dtype()));
  set_packed_code(dtype(), p_->storage->data, offset() + distance, encode(dtype(), v, true));
}
void Tensor::store_int(int64_t distance, int64_t v) const {
  if (!is_packed()) return store_integer(dtype(), address(*this, distance), v);
  store(distance, static_cast<double>(v));
}

std::vector<double> Tensor::to_vector() const {
  must_have_values(*this);
  std::vector<double> out(static_cast<size_t>(numel()));
  for (int64_t i = 0; i < numel(); ++i) out[static_cast<size_t>(i)] = at(i);
  return out;
}

std::string describe(const Tensor& t) {
  return fmt::format("{}{}  {}", name(t.dtype()), to_string(t.shape()), to_string(t.device()));
}

Meta like(const Tensor& t) { return like(t, t.dtype()); }

Meta like(const Tensor& t, DType d) {
  const bool keep = !t.is_contiguous() && is_dense(t.shape(), t.strides());
  return {t.shape(), d, t.device(), keep ? t.strides() : Strides{}, keep};
}

Meta meta_of(const Shape& s, DType d, const Tensor& t) { return {s, d, t.device(), {}, false}; }

// ---- packed and loose --------------------------------------------------------------------------

namespace {

Reach reach_of(const Tensor& t) { return reach(t.shape(), t.strides(), t.offset()); }

}  // namespace

Tensor loosened(const Tensor& t) {
  if (!t.is_packed()) return t;
  Tensor out = t.shell();
  TensorImpl& i = *out.impl();
  i.loose = true;
  i.number = false;
  i.inference = t.impl()->inference;
  if (t.is_meta()) return out;
  const Reach s = reach_of(t);
  const int64_t n = s.count();
  i.offset = t.offset() - s.first;
  i.storage = allocate_storage(static_cast<size_t>(n), t.device());
  unpack(t.dtype(), t.storage()->data, s.first, n, static_cast<uint8_t*>(i.storage->data));
  return out;
}

void tighten(const Tensor& loose, const Tensor& t) {
  if (t.numel() == 0 || t.is_meta()) return;
  const Reach s = reach_of(t);
  const auto* codes = static_cast<const uint8_t*>(loose.storage()->data);
  pack(t.dtype(), codes, s.count(), t.storage()->data, s.first);
}

void check_packed_view(const Tensor& t, const Shape& shape, const Strides& strides,
                       int64_t offset) {
  if (checked_numel(shape) == 0) return;
  // The run of neighbours that begins at each index of the dims with longer strides.
  Checked run(1);
  for (bool grows = true; grows;) {
    grows = false;
    for (int d = 0; d < shape.size(); ++d)
      if (shape[d] > 1 && strides[d] == run) {
        run *= shape[d];
        grows = true;
        break;
      }
  }
  Checked reached(1);
  bool whole = true;
  const int bits = bits_of(t.dtype());
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1 || strides[d] == 0) continue;
    reached += Checked(strides[d]) * (shape[d] - 1);
    if (strides[d] >= run) whole &= Checked(strides[d]) * bits % 8 == 0;
  }
  const Checked start(offset);
  const bool ends_with_base = reached == run && start + run - 1 == reach_of(t).last;
  whole &= start * bits % 8 == 0 && (run * bits % 8 == 0 || ends_with_base);
  if (whole) return;
  throw fail(Kind::state, "E_PACKED_VIEW",
             "a view of {} elements from offset {} would split a byte of {}", checked_numel(shape),
             offset, name(t.dtype()))
      .fact(fmt::format("a byte boundary lies at every {} elements", bits == 4 ? 2 : 4))
      .hint("x:to \"f8_e4m3\" holds the same values, a byte each");
}

// ---- elements ----------------------------------------------------------------------------------

namespace {

// Truncates toward zero and saturates; nan becomes 0.
template <class T>
T to_integer(double v) {
  if (std::isnan(v)) return 0;
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
  if (v <= low) return std::numeric_limits<T>::min();
  if (v >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(v);
}

template <class T>
T read(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void write(void* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

// f64 to a 16-bit float directly: going through float would round twice. Rounding to odd at 24 bits
// first makes the second rounding exact.
float to_odd(double v) {
  const float f = static_cast<float>(v);
  if (static_cast<double>(f) == v || std::isnan(f) || std::isinf(f)) return f;
  uint32_t bits = float_to_bits(f);
  const bool away = std::fabs(static_cast<double>(f)) > std::fabs(v);
  if (away) --bits;
  return bits_to_float(bits | 1u);
}

}  // namespace

double load_element(DType d, const void* p) {
  switch (d) {
    case DType::f64: return read<double>(p);
    case DType::f32: return static_cast<double>(read<float>(p));
    case DType::f16: return static_cast<double>(static_cast<float>(read<f16>(p)));
    case DType::bf16: return static_cast<double>(static_cast<float>(read<bf16>(p)));
    default:
      return is_narrow(d) ? static_cast<double>(decode(d, read<uint8_t>(p)))
                          : static_cast<double>(load_integer(d, p));
  }
}

int64_t load_integer(DType d, const void* p) {
  switch (d) {
    case DType::i64: return read<int64_t>(p);
    case DType::i32: return read<int32_t>(p);
    case DType::i16: return read<int16_t>(p);
    case DType::i8: return read<int8_t>(p);
    case DType::u8: return read<uint8_t>(p);
    case DType::boolean: return read<uint8_t>(p) != 0;
    default: return to_integer<int64_t>(load_element(d, p));
  }
}

void store_element(DType d, void* p, double v) {
  switch (d) {
    case DType::f64: return write(p, v);
    case DType::f32: return write(p, static_cast<float>(v));
    case DType::f16: return write(p, f16(to_odd(v)));
    case DType::bf16: return write(p, bf16(to_odd(v)));
    case DType::i64: return write(p, to_integer<int64_t>(v));
    case DType::i32: return write(p, to_integer<int32_t>(v));
    case DType::i16: return write(p, to_integer<int16_t>(v));
    case DType::i8: return write(p, to_integer<int8_t>(v));
    case DType::u8: return write(p, to_integer<uint8_t>(v));
    case DType::boolean: return write(p, static_cast<uint8_t>(v != 0));
    default: return write(p, encode(d, v, float_info(d).saturates));
  }
}

void store_integer(DType d, void* p, int64_t v) {
  switch (d) {
    case DType::i64: return write(p, v);
    case DType::i32: return write(p, static_cast<int32_t>(v));
    case DType::i16: return write(p, static_cast<int16_t>(v));
    case DType::i8: return write(p, static_cast<int8_t>(v));
    case DType::u8: return write(p, static_cast<uint8_t>(v));
    case DType::boolean: return write(p, static_cast<uint8_t>(v != 0));
    default: return store_element(d, p, static_cast<double>(v));
  }
}

}  // namespace rille
