#include "core/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/context.h"
#include "core/fail.h"
#include "core/half.h"

namespace rille {

Tensor Tensor::empty(const Meta& m) {
  const int64_t n = checked_numel(m.shape, size_of(m.dtype));
  Tensor t(new TensorImpl);
  TensorImpl& i = *t.p_;
  i.dtype = m.dtype;
  i.device = m.device;
  i.numel = n;
  i.shape = m.shape;
  i.strides = m.strided ? m.strides : contiguous_strides(m.shape);
  i.contiguous = !m.strided || rille::is_contiguous(i.shape, i.strides);
  i.storage = allocate_storage(static_cast<size_t>(n) * size_of(m.dtype), m.device);
  i.inference = Context::current().flags & kInference;
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
  char* p = static_cast<char*>(t.data());
  for (const double v : values) {
    store_element(d, p, v);
    p += size_of(d);
  }
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
  return t;
}

Tensor Tensor::shell() const {
  Tensor t(new TensorImpl);
  TensorImpl& i = *t.p_;
  i.dtype = dtype();
  i.device = device();
  i.shape = shape();
  i.strides = strides();
  i.numel = numel();
  i.contiguous = is_contiguous();
  i.offset = offset();
  i.number = is_number();
  return t;
}

double Tensor::item() const {
  if (numel() != 1)
    throw shape_error("needs a tensor of one element, got shape {}", to_string(shape()));
  return load_element(dtype(), data());
}

int64_t Tensor::item_int() const {
  if (numel() != 1)
    throw shape_error("needs a tensor of one element, got shape {}", to_string(shape()));
  return load_integer(dtype(), data());
}

double Tensor::at(int64_t position) const {
  int64_t index = 0;
  for (int d = rank() - 1; d >= 0; --d) {
    index += position % shape()[d] * strides()[d];
    position /= shape()[d];
  }
  return load_element(dtype(),
                      static_cast<char*>(data()) + index * static_cast<int64_t>(size_of(dtype())));
}

std::vector<double> Tensor::to_vector() const {
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
    default: return static_cast<double>(load_integer(d, p));
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
