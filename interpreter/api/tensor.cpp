// What tensors are, their values, copies and arithmetic. Gradients are in gradients.cpp, memory of
// others in host_memory.cpp and dlpack.cpp, indexing in index.cpp.
#include "rille/tensor.hpp"

#include <cstring>
#include <ostream>

#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "interpreter/bind/bind.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/view.h"

namespace rille::api {

v1::Tensor handle_of(Tensor t) {
  v1::Tensor out;
  v1::detail::Access::pointer(out) = t.release();
  return out;
}

Tensor maybe_tensor_of(const v1::Tensor& t) {
  auto* impl = static_cast<TensorImpl*>(v1::detail::Access::pointer(t));
  if (impl) add_reference(impl->refs);
  return Tensor(impl);
}

Tensor tensor_of(const v1::Tensor& t) {
  if (!t) throw type_error("the tensor is empty").hint("a default-made Tensor holds none");
  return maybe_tensor_of(t);
}

std::vector<Tensor> tensors_of(std::span<const v1::Tensor> list) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const v1::Tensor& t : list) out.push_back(tensor_of(t));
  return out;
}

std::vector<v1::Tensor> handles_of(std::vector<Tensor> list) {
  std::vector<v1::Tensor> out;
  out.reserve(list.size());
  for (Tensor& t : list) out.push_back(handle_of(std::move(t)));
  return out;
}

namespace {

void refuse_meta(const Tensor& t) {
  if (t.is_meta()) throw fail(Kind::device, "E_NO_KERNEL", "a meta tensor has no values");
}

DType dtype_or_default(std::optional<v1::Dtype> d) {
  return d ? dtype_of(*d) : Context::current().default_dtype;
}

Tensor on_default_device(Tensor t) {
  const NoGrad quiet;
  return to_device(t, Context::current().default_device);
}

void check_count(size_t count, const Shape& shape) {
  if (static_cast<int64_t>(count) != checked_numel(shape))
    throw shape_error("{} values for shape {}", count, to_string(shape));
}

}  // namespace
}  // namespace rille::api

namespace rille::v1 {

using api::guarded, api::handle_of, api::tensor_of;

Tensor::Tensor(const Tensor& o) noexcept : p_(o.p_) {
  if (p_) add_reference(static_cast<TensorImpl*>(p_)->refs);
}
Tensor::~Tensor() {
  if (p_) const rille::Tensor last(static_cast<TensorImpl*>(p_));
}

// ---- making them
// -----------------------------------------------------------------------------------

Tensor Tensor::of(std::initializer_list<double> values, std::optional<Dtype> dtype) {
  return of(values, {static_cast<int64_t>(values.size())}, dtype);
}
Tensor Tensor::of(std::initializer_list<double> values, const Shape& shape,
                  std::optional<Dtype> dtype) {
  return guarded("Tensor::of", [&] {
    const rille::Shape s = api::shape_of(shape);
    api::check_count(values.size(), s);
    const auto t =
        rille::Tensor::of({values.begin(), values.size()}, s, api::dtype_or_default(dtype));
    return handle_of(api::on_default_device(t));
  });
}
Tensor Tensor::scalar(double value, std::optional<Dtype> dtype) { return of({value}, {}, dtype); }

Tensor Tensor::copy_of(const void* values, size_t count, const Shape& shape, Dtype dtype) {
  return guarded("Tensor::of", [&] {
    const rille::Shape s = api::shape_of(shape);
    api::check_count(count, s);
    const auto t = rille::Tensor::empty(s, api::dtype_of(dtype));
    if (count) std::memcpy(t.data(), values, static_cast<size_t>(t.nbytes()));
    return handle_of(api::on_default_device(t));
  });
}

// ---- what they are
// ---------------------------------------------------------------------------------

namespace {

// Looks at the engine's side of a handle, without a reference of its own.
template <class F>
auto look(const Tensor& t, const char* op, F&& f) {
  return guarded(op, [&] { return f(tensor_of(t)); });
}

}  // namespace

Shape Tensor::shape() const {
  return look(*this, "shape", [](const auto& t) { return api::list_of(t.shape()); });
}
Shape Tensor::strides() const {
  return look(*this, "strides", [](const auto& t) { return api::list_of(t.strides()); });
}
int64_t Tensor::size(int64_t at) const {
  return look(*this, "size", [&](const auto& t) { return t.size(at); });
}
int64_t Tensor::dim() const {
  return look(*this, "dim", [](const auto& t) { return int64_t{t.rank()}; });
}
int64_t Tensor::nbytes() const {
  return look(*this, "nbytes", [](const auto& t) { return t.nbytes(); });
}
int64_t Tensor::numel() const {
  return look(*this, "numel", [](const auto& t) { return t.numel(); });
}
Dtype Tensor::dtype() const {
  return look(*this, "dtype", [](const auto& t) { return api::dtype_of(t.dtype()); });
}
Device Tensor::device() const {
  return look(*this, "device", [](const auto& t) { return api::device_of(t.device()); });
}
bool Tensor::is_contiguous() const {
  return look(*this, "is_contiguous", [](const auto& t) { return t.is_contiguous(); });
}
bool Tensor::is_read_only() const {
  return look(*this, "is_read_only",
              [](const auto& t) { return t.storage() && t.storage()->read_only; });
}

// ---- their values
// ----------------------------------------------------------------------------------

void* Tensor::memory(Dtype wanted, bool to_write) const {
  return look(*this, "data", [&](const auto& t) {
    api::refuse_meta(t);
    if (t.dtype() != api::dtype_of(wanted))
      throw dtype_error("elements are {}, not {}", rille::name(t.dtype()), name(wanted))
          .hint("t.to(dtype) converts");
    if (to_write && t.storage()->read_only)
      throw fail(Kind::state, "E_READONLY", "the tensor's memory may only be read")
          .hint("data<const T>() reads");
    return t.data();
  });
}
void* Tensor::raw_data() const { return memory(dtype(), true); }
const void* Tensor::raw_const_data() const { return memory(dtype(), false); }

double Tensor::item_number() const {
  return look(*this, "item", [](const auto& t) {
    api::refuse_meta(t);
    return t.item();
  });
}
int64_t Tensor::item_integer() const {
  return look(*this, "item", [](const auto& t) {
    api::refuse_meta(t);
    return t.item_int();
  });
}
void Tensor::copy_to(void* out, Dtype as) const {
  look(*this, "to_vector", [&](const auto& t) {
    api::refuse_meta(t);
    const NoGrad quiet;
    const auto flat = rille::contiguous(rille::cast(t, api::dtype_of(as)));
    if (flat.numel()) std::memcpy(out, flat.data(), static_cast<size_t>(flat.nbytes()));
  });
}

std::string to_string(const Tensor& t) {
  return guarded("to_string", [&] { return t ? bind::print_tensor(tensor_of(t)) : "(no tensor)"; });
}
std::ostream& operator<<(std::ostream& out, const Tensor& t) { return out << to_string(t); }

// ---- other looks, copies
// ---------------------------------------------------------------------------

namespace {

// The result of a function of the engine's tensor, as a handle.
template <class F>
Tensor made(const Tensor& t, const char* op, F&& f) {
  return guarded(op, [&] { return handle_of(f(tensor_of(t))); });
}

}  // namespace

Tensor Tensor::to(Device device) const {
  return made(*this, "to",
              [&](const auto& t) { return rille::to_device(t, api::device_of(device)); });
}
Tensor Tensor::to(Dtype dtype) const {
  return made(*this, "to", [&](const auto& t) { return rille::cast(t, api::dtype_of(dtype)); });
}
Tensor Tensor::contiguous() const {
  return made(*this, "contiguous", [](const auto& t) { return rille::contiguous(t); });
}
Tensor Tensor::clone() const {
  return made(*this, "clone", [](const auto& t) { return rille::clone(t); });
}
Tensor Tensor::reshape(const Shape& shape) const {
  return made(*this, "reshape",
              [&](const auto& t) { return rille::reshape(t, api::shape_of(shape)); });
}
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  return made(*this, "transpose", [&](const auto& t) { return rille::transpose(t, dim0, dim1); });
}
Tensor Tensor::permute(const Shape& dims) const {
  return made(*this, "permute",
              [&](const auto& t) { return rille::permute(t, api::shape_of(dims)); });
}
Tensor Tensor::squeeze(int64_t at) const {
  return made(*this, "squeeze", [&](const auto& t) { return rille::squeeze(t, at); });
}
Tensor Tensor::unsqueeze(int64_t at) const {
  return made(*this, "unsqueeze", [&](const auto& t) { return rille::unsqueeze(t, at); });
}
const Tensor& Tensor::copy_(const Operand& source) const {
  guarded("copy_", [&] { call_<Copy>({tensor_of(*this), tensor_of(source.tensor())}); });
  return *this;
}

// ---- arithmetic
// ------------------------------------------------------------------------------------

Tensor Operand::of_boolean(bool value) {
  return guarded("number", [&] {
    auto t = rille::Tensor::empty(rille::Shape{}, DType::boolean);
    *t.data_as<uint8_t>() = value;
    t.impl()->number = true;
    return handle_of(t);
  });
}
Tensor Operand::of_integer(int64_t value) {
  return guarded("number", [&] { return handle_of(rille::Tensor::number(value)); });
}
Tensor Operand::of_number(double value) {
  return guarded("number", [&] { return handle_of(rille::Tensor::number(value)); });
}

Tensor Tensor::operator-() const {
  return made(*this, "neg", [](const auto& t) { return call<Neg>({t}); });
}
Tensor Tensor::matmul(const Tensor& b) const {
  return made(*this, "matmul", [&](const auto& t) { return call<Matmul>({t, tensor_of(b)}); });
}
Tensor Tensor::sum() const {
  return made(*this, "sum", [](const auto& t) { return call<Sum>({t}); });
}
Tensor Tensor::mean() const {
  return made(*this, "mean", [](const auto& t) { return call<Mean>({t}); });
}

namespace {

template <class Op>
Tensor binary(const Operand& a, const Operand& b) {
  return guarded(Op::name, [&] {
    return handle_of(call<Op>({.x = tensor_of(a.tensor()), .y = tensor_of(b.tensor())}));
  });
}
template <class Op>
const Tensor& in_place(const Tensor& a, const Operand& b) {
  guarded(Op::name, [&] { call_<Op>({.x = tensor_of(a), .y = tensor_of(b.tensor())}); });
  return a;
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) { return binary<Add>(a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return binary<Sub>(a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return binary<Mul>(a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return binary<Div>(a, b); }
const Tensor& Tensor::operator+=(const Operand& b) const { return in_place<Add>(*this, b); }
const Tensor& Tensor::operator-=(const Operand& b) const { return in_place<Sub>(*this, b); }
const Tensor& Tensor::operator*=(const Operand& b) const { return in_place<Mul>(*this, b); }
const Tensor& Tensor::operator/=(const Operand& b) const { return in_place<Div>(*this, b); }

}  // namespace rille::v1
