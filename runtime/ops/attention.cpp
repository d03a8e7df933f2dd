#include "ops/attention.h"

#include <cmath>

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/attention.h"
#include "ops/arith.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/dropout.h"
#include "ops/families.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/select.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace rille {
namespace {

// The sizes of a call, in the kernel's terms.
struct Sizes4 {
  Shape lead;  // dims before heads, broadcast
  int rank = 2;
  int64_t batch = 1, heads = 1, kv_heads = 1, queries, keys, width, value_width;
  int64_t group() const { return heads / kv_heads; }
  // The shape [lead, heads, rows, columns], or [rows, columns] where there are no heads.
  Shape shape(int64_t heads_of_it, int64_t rows, int64_t columns) const {
    Shape s = lead;
    if (rank > 2) s.push_back(heads_of_it);
    s.push_back(rows);
    s.push_back(columns);
    return s;
  }
};

int64_t heads_of(const Tensor& t) { return t.rank() > 2 ? t.size(-3) : 1; }
Shape lead_of(const Tensor& t) {
  return t.rank() > 3 ? Shape(t.shape().begin(), t.shape().end() - 3) : Shape{};
}

template <class A>
void check_operands(const A& a) {
  const std::pair<const char*, const Tensor*> all[] = {{"q", &a.q}, {"k", &a.k}, {"v", &a.v}};
  for (const auto& [what, t] : all) {
    if (t->rank() < 2)
      throw shape_error("'{}' must have 2 dims or more, got shape {}", what, to_string(t->shape()))
          .of(what);
    if (!t->is_float())
      throw dtype_error("'{}' must be a float tensor, got {}", what, name(t->dtype())).of(what);
    if (t->dtype() != a.q.dtype())
      throw dtype_error("dtypes differ: {} and {}", name(a.q.dtype()), name(t->dtype()))
          .of("q", what);
  }
  if (a.q.size(-1) != a.k.size(-1))
    throw shape_error("widths of q and k differ: {} and {}", a.q.size(-1), a.k.size(-1))
        .of("q", "k");
  if (a.k.size(-2) != a.v.size(-2))
    throw shape_error("k has {} keys, v {}", a.k.size(-2), a.v.size(-2)).of("k", "v");
  if (heads_of(a.k) != heads_of(a.v))
    throw shape_error("k has {} heads, v {}", heads_of(a.k), heads_of(a.v)).of("k", "v");
  if (!(a.dropout >= 0 && a.dropout <= 1))
    throw arg_error("'dropout' must be between 0 and 1, got {}", a.dropout);
}

template <class A>
Sizes4 sizes_of(const A& a) {
  check_operands(a);
  Sizes4 s;
  s.rank = std::max({a.q.rank(), a.k.rank(), a.v.rank()});
  s.lead = broadcast(broadcast(lead_of(a.q), lead_of(a.k)), lead_of(a.v));
  s.batch = checked_numel(s.lead);
  s.heads = heads_of(a.q);
  s.kv_heads = heads_of(a.k);
  s.queries = a.q.size(-2);
  s.keys = a.k.size(-2);
  s.width = a.q.size(-1);
  s.value_width = a.v.size(-1);
  if (s.heads == 1 && !a.groups) s.heads = s.kv_heads;
  const bool grouped = (a.groups || s.kv_heads == 1) && s.kv_heads > 0 && s.heads % s.kv_heads == 0;
  if (s.heads != s.kv_heads && !grouped) {
    Error e = shape_error("q has {} heads, k and v {}", s.heads, s.kv_heads).of("q", "k");
    throw a.groups ? std::move(e)
                   : std::move(e).hint("pass { groups = true } where heads of k and v are shared");
  }
  if (a.mask) {
    const Shape scores = s.shape(s.heads, s.queries, s.keys);
    if (broadcast(a.mask->shape(), scores) != scores)
      throw shape_error("'mask' of shape {} does not broadcast to {}", to_string(a.mask->shape()),
                        to_string(scores))
          .of("q", "k", "mask");
    if (a.mask->dtype() != DType::boolean && !a.mask->is_float())
      throw dtype_error("'mask' must be bool or float, got {}", name(a.mask->dtype())).of("mask");
  }
  return s;
}

// t as [batch, heads, rows, columns]: a view where its strides allow.
Tensor as4(const Tensor& t, const Sizes4& s, int64_t heads, int64_t rows, int64_t columns) {
  const Shape to{s.batch, heads, rows, columns};
  return t.shape() == to ? t : reshape(expand(t, s.shape(heads, rows, columns)), to);
}

struct Operands {
  Tensor q, k, v;
  std::optional<Tensor> mask;
  double scale;
};
template <class A>
Operands operands_of(const A& a, const Sizes4& s) {
  Operands o{as4(a.q, s, s.heads, s.queries, s.width),
             as4(a.k, s, s.kv_heads, s.keys, s.width),
             as4(a.v, s, s.kv_heads, s.keys, s.value_width),
             {},
             a.scale.value_or(1 / std::sqrt(static_cast<double>(s.width)))};
  if (a.mask) o.mask = as4(*a.mask, s, s.heads, s.queries, s.keys);
  return o;
}

// ---- for the kernel
// ------------------------------------------------------------------------------------

Tensor row_contiguous(const Tensor& t) {
  return t.size(-1) <= 1 || t.strides()[3] == 1 ? t : contiguous(t);
}

DType statistic_type(DType d) { return d == DType::f64 ? d : DType::f32; }

cpu::Heads heads(const Tensor& t) {
  return {t.data(), t.strides()[0], t.strides()[1], t.strides()[2]};
}
cpu::HeadsOut heads_out(const Tensor& t) {
  return {t.data(), t.strides()[0], t.strides()[1], t.strides()[2]};
}

template <class A>
cpu::Attention call_of(const A& a, const Sizes4& s, const Operands& o) {
  cpu::Attention c{.dtype = a.q.dtype(),
                   .batch = s.batch,
                   .heads = s.heads,
                   .kv_heads = s.kv_heads,
                   .queries = s.queries,
                   .keys = s.keys,
                   .width = s.width,
                   .value_width = s.value_width,
                   .scale = o.scale,
                   .causal = a.causal,
                   .dropout = a.dropout,
                   .draw = {a.draw.seed, a.draw.number, 0}};
  if (o.mask) {
    const Strides& st = o.mask->strides();
    c.mask = {o.mask->dtype(), o.mask->data(), st[0], st[1], st[2], st[3]};
  }
  return c;
}

// Heads within times, as projections lay q out, so that merging the heads again is a view; else
// row-major.
Meta result_meta(const Tensor& t, const Sizes4& s, int64_t heads, int64_t rows, int64_t columns) {
  Meta m = meta_of(s.shape(heads, rows, columns), t.dtype(), t);
  if (s.rank != 4 || t.rank() != 4 || t.strides()[1] >= t.strides()[2]) return m;
  const Checked row = Checked(heads) * columns;
  m.strides = {row * rows, columns, row, 1};
  m.strided = true;
  return m;
}

// The memory of a result as [batch, heads, rows, columns].
Tensor result4(const Tensor& t, const Sizes4& s) {
  if (t.rank() == 4) return t;
  const int r = t.rank();
  const Shape to{s.batch, r > 2 ? t.shape()[r - 3] : 1, t.shape()[r - 2], t.shape()[r - 1]};
  return t.alias(to, contiguous_strides(to), t.offset());
}

// ---- in other ops
// --------------------------------------------------------------------------------------

Tensor sum_last(const Tensor& x) { return call<Sum>({.x = x, .dims = {-1}, .keepdim = true}); }
Tensor either(const Tensor& a, const Tensor& b) { return call<LogicalOr>({.x = a, .y = b}); }

// Where a query may not look, broadcastable to the scores; absent where it may look everywhere.
std::optional<Tensor> blocked_places(const std::optional<Tensor>& mask, bool causal,
                                     const Sizes4& s, Device device) {
  const NoGrad constant;
  std::optional<Tensor> blocked;
  if (mask && mask->dtype() == DType::boolean)
    blocked = call<LogicalNot>({*mask});
  else if (mask)
    blocked = call<Eq>({.x = *mask, .y = Tensor::number(-HUGE_VAL)});
  if (!causal) return blocked;
  const Tensor later =
      call<Triu>({.x = full({s.queries, s.keys}, 1, DType::boolean, device), .k = 1});
  return blocked ? either(*blocked, later) : later;
}

// Each head of k or v for its whole group.
Tensor spread_heads(const Tensor& t, const Sizes4& s) {
  if (s.group() == 1) return t;
  const int64_t rows = t.size(2), columns = t.size(3);
  return reshape(expand(unsqueeze(t, 2), {s.batch, s.kv_heads, s.group(), rows, columns}),
                 {s.batch, s.heads, rows, columns});
}
Tensor gather_heads(const Tensor& t, const Sizes4& s) {
  if (s.group() == 1) return t;
  return call<Sum>(
      {.x = reshape(t, {s.batch, s.kv_heads, s.group(), t.size(2), t.size(3)}), .dims = {2}});
}

// softmax(q k' scale + mask); 0 for queries that may look nowhere.
template <class A>
Tensor probabilities(const A& a, const Sizes4& s, const Operands& o) {
  Tensor scores = matmul(o.q, transpose(spread_heads(o.k, s))) * o.scale;
  if (o.mask && o.mask->is_float()) scores = scores + *o.mask;
  const auto blocked = blocked_places(o.mask, a.causal, s, a.q.device());
  if (!blocked) return softmax(scores, -1);
  const Tensor nowhere = call<All>({.x = *blocked, .dims = {-1}, .keepdim = true});
  scores = masked_fill(masked_fill(scores, *blocked, -HUGE_VAL), nowhere, 0);
  return masked_fill(softmax(scores, -1), nowhere, 0);
}

template <class A>
Tensor dropped(const A& a, const Tensor& p) {
  return a.dropout > 0 ? call<DropoutDrawn>({p, a.dropout, a.draw}) : p;
}

struct Backward {
  Tensor dq, dk, dv, dscores;
};
template <class A>
Backward compose_backward(const A& a, const Tensor& dy, const Sizes4& s) {
  const Operands o = operands_of(a, s);
  const Tensor p = probabilities(a, s, o), d = as4(dy, s, s.heads, s.queries, s.value_width);
  const Tensor dp = dropped(a, matmul(d, transpose(spread_heads(o.v, s))));
  Backward b;
  b.dscores = p * (dp - sum_last(dp * p));
  const Tensor ds = b.dscores * o.scale;
  b.dq = matmul(ds, spread_heads(o.k, s));
  b.dk = gather_heads(matmul(transpose(ds), o.q), s);
  b.dv = gather_heads(matmul(transpose(dropped(a, p)), d), s);
  return b;
}

// The pairs of a query and a key that are looked at, those after the query left out.
double pairs(const Sizes4& s, bool causal) {
  double n = static_cast<double>(s.queries) * static_cast<double>(s.keys);
  if (causal) n = 0;
  for (int64_t i = 0; causal && i < s.queries; ++i)
    n += static_cast<double>(std::min(i + 1, s.keys));
  return n * static_cast<double>(s.batch) * static_cast<double>(s.heads);
}

}  // namespace

// ---- scaled_dot_product_attention
// ----------------------------------------------------------------

Meta ScaledDotProductAttention::infer(const Args& a) {
  const Sizes4 s = sizes_of(a);
  return result_meta(a.q, s, s.heads, s.queries, s.value_width);
}
std::array<Meta, 1> ScaledDotProductAttention::saved_meta(const Args& a) {
  const Sizes4 s = sizes_of(a);
  return {meta_of({s.batch, s.heads, s.queries}, statistic_type(a.q.dtype()), a.q)};
}
double ScaledDotProductAttention::flops(const Args& a) {
  const Sizes4 s = sizes_of(a);
  return 2 * pairs(s, a.causal) * static_cast<double>(s.width + s.value_width);
}
void ScaledDotProductAttention::cpu(const Args& a, Tensor& y, Saved* saved) {
  const NoGrad quiet;
  const Sizes4 s = sizes_of(a);
  Operands o = operands_of(a, s);
  for (Tensor* t : {&o.q, &o.k, &o.v}) *t = row_contiguous(*t);
  Tensor lse = Tensor::empty({s.batch, s.heads, s.queries}, statistic_type(a.q.dtype()));
  if (s.keys == 0)
    fill(y, 0);
  else if (y.numel() > 0)
    cpu::attention(call_of(a, s, o), heads(o.q), heads(o.k), heads(o.v), heads_out(result4(y, s)),
                   lse.data());
  if (saved) saved->lse = lse;
}
Tensor ScaledDotProductAttention::compose(const Args& a) {
  const Sizes4 s = sizes_of(a);
  const Operands o = operands_of(a, s);
  const Tensor y = matmul(dropped(a, probabilities(a, s, o)), spread_heads(o.v, s));
  return reshape(y, s.shape(s.heads, s.queries, s.value_width));
}
ScaledDotProductAttention::Args ScaledDotProductAttention::grad(
    const Back<ScaledDotProductAttention>& b) {
  const Args& a = b.a;
  auto g = call<AttentionGrad>({.q = a.q,
                                .k = a.k,
                                .v = a.v,
                                .y = b.y,
                                .dy = b.dy,
                                .lse = b.saved.lse,
                                .mask = a.mask,
                                .causal = a.causal,
                                .dropout = a.dropout,
                                .scale = a.scale,
                                .groups = a.groups,
                                .draw = a.draw});
  Args out;
  out.q = g.dq;
  out.k = g.dk;
  out.v = g.dv;
  if (a.mask && b.need(&Args::mask)) {
    const Sizes4 s = sizes_of(a);
    out.mask = reshape(compose_backward(a, b.dy, s).dscores, s.shape(s.heads, s.queries, s.keys));
  }
  return out;
}
void ScaledDotProductAttention::samples(SampleList& s) {
  using Op = ScaledDotProductAttention;
  auto q = [](const Shape& shape) { return grid(shape, -1, 1); };
  add_sample<Op>(s, {.q = q({1, 2, 3, 2}), .k = q({1, 2, 4, 2}), .v = q({1, 2, 4, 3})});
  add_sample<Op>(s, {.q = q({3, 2}), .k = q({3, 2}), .v = q({3, 2}), .causal = true});
  add_sample<Op>(s, {.q = q({2, 3, 2}),
                     .k = q({2, 4, 2}),
                     .v = q({2, 4, 2}),
                     .mask = mask({3, 4}),
                     .scale = 0.7});
  add_sample<Op>(s, {.q = q({1, 2, 3, 2}),
                     .k = q({1, 2, 2, 2}),
                     .v = q({1, 2, 2, 2}),
                     .mask = grid({2, 1, 2}, -1, 1)});
  add_sample<Op>(s, {.q = transpose(q({1, 3, 4, 2}), 1, 2),
                     .k = transpose(q({1, 3, 2, 2}), 1, 2),
                     .v = q({1, 2, 3, 2}),
                     .causal = true,
                     .groups = true});
  add_sample<Op>(s, {.q = q({2, 3, 2}), .k = q({2, 3, 2}), .v = q({2, 3, 2}), .dropout = 0.4});
  add_sample<Op>(s, {.q = q({2, 1, 2, 2}), .k = q({2, 2, 2}), .v = q({2, 2, 1})});
  add_sample<Op>(s, {.q = q({2, 0, 2}), .k = q({2, 3, 2}), .v = q({2, 3, 2})});
}

std::array<Meta, 3> AttentionGrad::infer(const Args& a) {
  const Sizes4 s = sizes_of(a);
  must_have_dtype(a.y, a.q.dtype(), "y");
  must_have_shape(a.y, s.shape(s.heads, s.queries, s.value_width), "y");
  must_have_shape(a.dy, a.y.shape(), "dy");
  must_have_dtype(a.lse, statistic_type(a.q.dtype()), "lse");
  must_have_shape(a.lse, {s.batch, s.heads, s.queries}, "lse");
  return {result_meta(a.q, s, s.heads, s.queries, s.width),
          result_meta(a.k, s, s.kv_heads, s.keys, s.width),
          result_meta(a.v, s, s.kv_heads, s.keys, s.value_width)};
}
// The scores anew, then a product each for dq, dk, dv and the gradient of the weights.
double AttentionGrad::flops(const Args& a) {
  const Sizes4 s = sizes_of(a);
  return 2 * pairs(s, a.causal) * static_cast<double>(3 * s.width + 2 * s.value_width);
}
void AttentionGrad::cpu(const Args& a, Out& out) {
  const NoGrad quiet;
  const Sizes4 s = sizes_of(a);
  if (s.batch * s.heads * s.queries * s.keys == 0) {
    for (const Tensor* t : {&out.dq, &out.dk, &out.dv}) fill(*t, 0);
    return;
  }
  Operands o = operands_of(a, s);
  for (Tensor* t : {&o.q, &o.k, &o.v}) *t = row_contiguous(*t);
  const Tensor y = row_contiguous(as4(a.y, s, s.heads, s.queries, s.value_width));
  const Tensor dy =
      row_contiguous(as4(cast(a.dy, a.q.dtype()), s, s.heads, s.queries, s.value_width));
  const Tensor lse = contiguous(a.lse);
  cpu::attention_backward(call_of(a, s, o), heads(o.q), heads(o.k), heads(o.v), heads(y), heads(dy),
                          lse.data(), heads_out(result4(out.dq, s)), heads_out(result4(out.dk, s)),
                          heads_out(result4(out.dv, s)));
}
AttentionGrad::Out AttentionGrad::compose(const Args& a) {
  const Sizes4 s = sizes_of(a);
  const Backward b = compose_backward(a, a.dy, s);
  return {reshape(b.dq, s.shape(s.heads, s.queries, s.width)),
          reshape(b.dk, s.shape(s.kv_heads, s.keys, s.width)),
          reshape(b.dv, s.shape(s.kv_heads, s.keys, s.value_width))};
}

OpFamily family_attention() {
  return list_ops(OpList<ScaledDotProductAttention, AttentionGrad>{}, "attention");
}

}  // namespace rille
