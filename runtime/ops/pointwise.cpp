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
  const Tensor& first = **operands.begin();
  Meta m{first.shape(), dtype, first.device()};
  bool row_major = true;
  for (const Tensor* t : operands) {
    row_major &= t->is_contiguous();
    if (t == &first) continue;
    if (t->shape() != m.shape) m.shape = broadcast(m.shape, t->shape());
    if (!t->is_number() && (t->rank() > 0 || !t->device().is_cpu())) m.device = t->device();
  }
  if (row_major) [[likely]]
    return m;
  const auto layout = std::find_if(operands.begin(), operands.end(),
                                   [&](const Tensor* t) { return t->shape() == m.shape; });
  if (layout == operands.end() || (*layout)->is_contiguous()) return m;
  if (is_dense(m.shape, (*layout)->strides())) {
    m.strides = (*layout)->strides();
    m.strided = true;
  }
  return m;
}

DType float_type(const Tensor& t) {
  return t.is_float() ? (t.is_number() ? Context::current().default_dtype : t.dtype())
                      : Context::current().default_dtype;
}

}  // namespace rille
