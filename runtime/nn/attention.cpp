#include "nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fail.h"
#include "core/sizes.h"
#include "nn/init.h"
#include "nn/register.h"
#include "ops/attention.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/dropout.h"
#include "ops/mask.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/slice.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace rille::nn {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Xavier's rule.
Tensor drawn(int64_t rows, int64_t columns, const Place& place) {
  const double fans = static_cast<double>(rows + columns);
  const bool any = rows > 0 && columns > 0;
  return uniform_parameter({rows, columns}, any ? std::pow(6 / fans, 0.5) : 0, place);
}

// [batch, time, width] -> [batch, heads, time, width of a head]
Tensor heads_of(const Tensor& x, int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Tensor only_where(const Tensor& mask, const Tensor& real) {
  if (mask.dtype() == DType::boolean) return call<LogicalAnd>({mask, real});
  return where(real, mask, Tensor::number(kNever));  // floats are added to the scores
}

std::optional<Tensor> merged(const MultiheadAttention::Inputs& i) {
  if (!i.padding_mask) return i.mask;
  const Tensor real = unsqueeze(unsqueeze(*i.padding_mask, 1), 1);
  return i.mask ? only_where(*i.mask, real) : real;
}

void check_input(const std::optional<Tensor>& x, std::string_view input) {
  if (x && x->rank() != 3)
    throw shape_error("'{}' must have 3 dims, got shape {}", input, to_string(x->shape()))
        .op(MultiheadAttention::name)
        .of(input);
}

void check_options(const MultiheadAttention::Options& o) {
  check_size(o.width, "width");
  check_size(o.heads, "heads", 1);
  if (o.width % o.heads != 0)
    throw arg_error("'width' {} is no multiple of 'heads' {}", o.width, o.heads).of("width");
  check_size(o.kdim.value_or(0), "kdim");
  check_size(o.vdim.value_or(0), "vdim");
}

}  // namespace

void append_slots(Slots& to, std::string_view prefix, const Slots& inner) {
  for (const Slot& s : inner)
    to.push_back({std::string(prefix) + "." + s.name, s.tensor, s.is_buffer});
}

MultiheadAttention::MultiheadAttention(const Options& o) : options(o) {
  check_options(o);
  const int64_t w = o.width, kdim = o.kdim.value_or(w), vdim = o.vdim.value_or(w);
  const Place place = place_of(o);
  if (kdim == w && vdim == w) {
    in_proj_weight = drawn(3 * Checked(w), w, place);
  } else {
    q_proj_weight = drawn(w, w, place);
    k_proj_weight = drawn(w, kdim, place);
    v_proj_weight = drawn(w, vdim, place);
  }
  if (o.bias) in_proj_bias = constant_parameter({3 * Checked(w)}, 0, place);
  out_weight = uniform_parameter({w, w}, fan_bound(w), place);
  if (!o.bias) return;
  // A linear layer's bias is drawn before this one is set to zero: what comes next in scripts
  // gets the same random numbers here.
  out_bias = uniform_parameter({w}, fan_bound(w), place);
  const NoGrad quiet;
  if (!out_bias.is_meta()) fill(out_bias, 0);
}

Slots MultiheadAttention::tensors() {
  return {parameter("in_proj_weight", in_proj_weight), parameter("q_proj_weight", q_proj_weight),
          parameter("k_proj_weight", k_proj_weight),   parameter("v_proj_weight", v_proj_weight),
          parameter("in_proj_bias", in_proj_bias),     parameter("out_proj.weight", out_weight),
          parameter("out_proj.bias", out_bias)};
}

// Part 0 is the query's projection, 1 the keys', 2 the values'.
Tensor MultiheadAttention::project(const Tensor& x, int part) const {
  const int64_t w = options.width, first = part * w;
  const Tensor* separate[] = {&q_proj_weight, &k_proj_weight, &v_proj_weight};
  const Tensor weight = in_proj_weight ? narrow(in_proj_weight, 0, first, w) : *separate[part];
  const Tensor bias = in_proj_bias ? narrow(in_proj_bias, 0, first, w) : Tensor();
  return heads_of(call<rille::Linear>({.x = x, .weight = weight, .bias = maybe(bias)}),
                  options.heads);
}

// Makes the matrix of all pairs, which attention otherwise never does.
MultiheadAttention::Out MultiheadAttention::weighed(const Tensor& q, const Tensor& k,
                                                    const Tensor& v, const Inputs& i) const {
  std::optional<Tensor> mask = merged(i);
  if (i.causal) {
    const int64_t rows = q.size(2), columns = k.size(2);
    const Tensor square = call<CausalMask>({.size = std::max(rows, columns), .device = q.device()});
    const Tensor earlier = narrow(narrow(square, 0, 0, rows), 1, 0, columns);
    mask = mask ? only_where(*mask, earlier) : earlier;
  }
  const double width = static_cast<double>(q.size(-1));
  Tensor scores = matmul(q, transpose(k)) / std::sqrt(width);
  if (mask && mask->dtype() == DType::boolean)
    scores = masked_fill(scores, call<LogicalNot>({*mask}), kNever);
  else if (mask)
    scores = scores + *mask;
  const Tensor weights = softmax(scores, -1);
  const Tensor kept = call<Dropout>({.x = weights, .p = options.dropout, .training = training});
  return {matmul(kept, v), call<Mean>({.x = kept, .dims = Axes{1}})};
}

MultiheadAttention::Out MultiheadAttention::forward(const Inputs& i) const {
  const std::optional<Tensor> key = i.key ? i.key : i.query, value = i.value ? i.value : key;
  check_input(i.query, "query");
  check_input(key, "key");
  check_input(value, "value");
  const auto time_second = [&](const Tensor& x) {
    return options.batch_first ? x : transpose(x, 0, 1);
  };
  const Tensor q = project(time_second(i.query), 0), k = project(time_second(*key), 1),
               v = project(time_second(*value), 2);
  Out out;
  if (i.need_weights)
    out = weighed(q, k, v, i);
  else
    out.y = call<ScaledDotProductAttention>({.q = q,
                                             .k = k,
                                             .v = v,
                                             .mask = merged(i),
                                             .causal = i.causal,
                                             .dropout = training ? options.dropout : 0});
  const Tensor joined = reshape(transpose(out.y, 1, 2), {q.size(0), q.size(2), options.width});
  out.y = time_second(
      call<rille::Linear>({.x = joined, .weight = out_weight, .bias = maybe(out_bias)}));
  return out;
}

LayerFamily layers_attention() { return list_layers<MultiheadAttention>(); }

}  // namespace rille::nn
