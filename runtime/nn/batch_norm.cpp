#include "nn/batch_norm.h"

#include "core/context.h"
#include "core/fail.h"
#include "nn/init.h"
#include "nn/register.h"
#include "ops/arith.h"
#include "ops/batch_norm.h"
#include "ops/create.h"
#include "ops/view.h"

namespace rille::nn {
namespace {

void check_rank(const Tensor& x, std::string_view layer, int least, int most) {
  if (x.rank() < least || x.rank() > most)
    throw shape_error("needs {}{} dims, got shape {}", least,
                      least < most ? fmt::format(" or {}", most) : "", to_string(x.shape()))
        .op(layer);
}

}  // namespace

template <class Options>
void ChannelNorm::make(const Options& o) {
  check_size(o.features, "features");
  const Shape shape{o.features};
  if (o.affine) {
    weight = constant_parameter(shape, 1, place_of(o));
    bias = constant_parameter(shape, 0, place_of(o));
  }
  if (o.track_running_stats) {
    running_mean = constant_buffer(shape, 0, place_of(o));
    running_var = constant_buffer(shape, 1, place_of(o));
    num_batches_tracked =
        full({}, 0, DType::i64, o.device.value_or(Context::current().default_device));
  }
}

template <int N>
BatchNorm<N>::BatchNorm(const Options& o) : options(o) {
  make(o);
}
template <int N>
Tensor BatchNorm<N>::forward(const Tensor& x) const {
  check_rank(x, name, N == 1 ? 2 : N + 2, N + 2);
  return call<rille::BatchNorm>({.x = x,
                                 .running_mean = maybe(running_mean),
                                 .running_var = maybe(running_var),
                                 .weight = maybe(weight),
                                 .bias = maybe(bias),
                                 .training = training || !running_mean,
                                 .momentum = count_batch(),
                                 .eps = options.eps});
}

// The share of this batch in the running statistics.
template <int N>
double BatchNorm<N>::count_batch() const {
  const Tensor& count = num_batches_tracked;
  if (!training || !count || count.is_meta()) return options.momentum;
  const NoGrad quiet;
  call_<Add>({.x = count, .y = Tensor::number(int64_t{1})});
  return options.cumulative ? 1 / count.item() : options.momentum;
}

template <int N>
InstanceNorm<N>::InstanceNorm(const Options& o) : options(o) {
  make(o);
}
// One instance may come without the dim of the batch.
template <int N>
Tensor InstanceNorm<N>::forward(const Tensor& x) const {
  check_rank(x, name, N + 1, N + 2);
  const bool single = x.rank() == N + 1;
  const Tensor y = call<rille::InstanceNorm>({.x = single ? unsqueeze(x, 0) : x,
                                              .running_mean = maybe(running_mean),
                                              .running_var = maybe(running_var),
                                              .weight = maybe(weight),
                                              .bias = maybe(bias),
                                              .use_input_stats = training || !running_mean,
                                              .momentum = options.momentum,
                                              .eps = options.eps});
  return single ? squeeze(y, 0) : y;
}

GroupNorm::GroupNorm(const Options& o) : options(o) {
  check_size(o.groups, "groups", 1);
  check_size(o.features, "features");
  if (o.features % o.groups != 0)
    throw arg_error("{} features don't divide into {} groups", o.features, o.groups);
  if (!o.affine) return;
  weight = constant_parameter({o.features}, 1, place_of(o));
  bias = constant_parameter({o.features}, 0, place_of(o));
}
Tensor GroupNorm::forward(const Tensor& x) const {
  return call<rille::GroupNorm>({.x = x,
                                 .groups = options.groups,
                                 .weight = maybe(weight),
                                 .bias = maybe(bias),
                                 .eps = options.eps});
}

LayerFamily layers_batch_norm() {
  return list_layers<BatchNorm<1>, BatchNorm<2>, BatchNorm<3>, GroupNorm, InstanceNorm<1>,
                     InstanceNorm<2>, InstanceNorm<3>>();
}

}  // namespace rille::nn
