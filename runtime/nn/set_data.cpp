#include "nn/set_data.h"

#include "autograd/node.h"
#include "core/fail.h"

namespace rille::nn {

void set_data(const Tensor& t, const Tensor& other) {
  if (!autograd::is_leaf(t))
    throw fail(Kind::state, "E_ARG", "a tensor that was computed can't take other data")
        .op("set_data");
  if (t.needs_grad() && !other.is_float())
    throw dtype_error("a tensor that requires gradients must stay a float, got {}",
                      name(other.dtype()))
        .op("set_data");
  TensorImpl& to = *t.impl();
  const TensorImpl& from = *other.impl();
  to.dtype = from.dtype;
  to.device = from.device;
  to.contiguous = from.contiguous;
  to.numel = from.numel;
  to.offset = from.offset;
  to.storage = from.storage;
  to.shape = from.shape;
  to.strides = from.strides;
  if (autograd::GradMeta* m = autograd::find_grad_meta(t)) {
    m->grad = {};
    m->base = {};  // no view of anything any more
  }
}

}  // namespace rille::nn
