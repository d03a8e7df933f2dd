#include "ops/pointwise.h"

#include "core/fail.h"

namespace rille {

DType result_type(std::initializer_list<const Tensor*> operands) {
  const Tensor& first = **operands.begin();
  bool alike = !first.is_number();
  for (const Tensor* t : operands) alike &= t->dtype() == first.dtype();
  if (alike) return first.dtype();
  // One dtype for each degree of say: dimensioned tensors, 0-d tensors, numbers.
  std::optional<DType> says[3];
  for (const Tensor* t : operands) {
    const int rank = t->is_number() ? 2 : t->rank() == 0 ? 1 : 0;
    DType d = t->dtype();
    if (t->is_number() && is_float(d)) d = Context::current().default_dtype;
    says[rank] = says[rank] ? promote(*says[rank], d) : d;
  }
  std::optional<DType> result;
  for (const auto& d : says) {
    if (!d) continue;
    if (!result)
      result = d;
    else if (category(*d) > category(*result))
      result = promote(*result, *d);
  }
  return *result;
}

Meta pointwise_meta(std::initializer_list<const Tensor*> operands, DType dtype) {
  Meta m;
  m.dtype = dtype;
  bool first = true;
  const Tensor* layout = nullptr;
  for (const Tensor* t : operands) {
    if (first)
      m.shape = t->shape();
    else if (t->shape() != m.shape)
      m.shape = broadcast(m.shape, t->shape());
    if (first || (!t->is_number() && t->rank() > 0) || !t->device().is_cpu()) {
      if (first || !t->is_number()) m.device = t->device();
    }
    first = false;
  }
  for (const Tensor* t : operands)
    if (!layout && t->shape() == m.shape) layout = t;
  if (layout && !layout->is_contiguous() && is_dense(layout->shape(), layout->strides())) {
    m.strides = layout->strides();
    m.strided = true;
  }
  return m;
}

DType float_type(const Tensor& t) {
  return t.is_float() ? (t.is_number() ? Context::current().default_dtype : t.dtype())
                      : Context::current().default_dtype;
}

}  // namespace rille
