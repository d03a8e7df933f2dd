#include "nn/init.h"

#include <cmath>

#include "autograd/node.h"
#include "core/context.h"
#include "core/fail.h"
#include "ops/create.h"
#include "ops/random.h"

namespace rille::nn {
namespace {

Tensor room(const Shape& shape, const Place& place) {
  const Context& c = Context::current();
  const DType d = place.dtype.value_or(c.default_dtype);
  if (!is_float(d)) throw dtype_error("'dtype' must be a float, got {}", name(d));
  return Tensor::empty(shape, d, place.device.value_or(c.default_device));
}

Tensor trained(Tensor t) {
  autograd::set_requires_grad(t, true);
  return t;
}

}  // namespace

Tensor uniform_parameter(const Shape& shape, double bound, const Place& place) {
  const Tensor t = room(shape, place);
  if (!t.is_meta()) call_<Uniform>({.x = t, .low = -bound, .high = bound});
  return trained(t);
}

Tensor normal_parameter(const Shape& shape, const Place& place) {
  const Tensor t = room(shape, place);
  if (!t.is_meta()) call_<NormalLike>({.x = t});
  return trained(t);
}

Tensor constant_buffer(const Shape& shape, double value, const Place& place) {
  const Tensor t = room(shape, place);
  if (!t.is_meta()) fill(t, value);
  return t;
}

Tensor constant_parameter(const Shape& shape, double value, const Place& place) {
  return trained(constant_buffer(shape, value, place));
}

double fan_bound(int64_t fan_in) {
  return fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
}

void check_size(int64_t size, std::string_view option, int64_t least) {
  if (size < least) throw arg_error("'{}' must be at least {}, got {}", option, least, size);
}

}  // namespace rille::nn
