#include "ops/reduce.h"

#include "core/fail.h"
#include "cpu/reducers.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {
namespace {

// The dims that an argument names, as a set. Throws E_INDEX and E_ARG.
cpu::DimSet dim_set(const Axes& dims, int rank) {
  if (dims.all) return (cpu::DimSet{1} << rank) - 1;
  cpu::DimSet set = 0;
  for (const int64_t d : dims.list) {
    const int a = axis(d, rank);
    if (set >> a & 1) throw arg_error("dim {} is named twice", d < 0 ? d : d + 1);
    if (rank > 0) set |= cpu::DimSet{1} << a;
  }
  return set;
}

Shape reduced_shape(const Shape& x, cpu::DimSet dims, bool keepdim) {
  Shape s;
  for (int d = 0; d < x.size(); ++d) {
    if (!(dims >> d & 1)) s.push_back(x[d]);
    else if (keepdim) s.push_back(1);
  }
  return s;
}

// A result of a reduction spread again over the shape that was reduced.
Tensor spread(const Tensor& dy, const Tensor& x, const Axes& dims) {
  const Shape kept = reduced_shape(x.shape(), dim_set(dims, x.rank()), true);
  return full(x.shape(), 0, dy.dtype(), dy.device()) + reshape(dy, kept);
}

}  // namespace

Meta Sum::infer(const Args& a) {
  const DType d = a.dtype.value_or(a.x.is_float() ? a.x.dtype() : DType::i64);
  return meta_of(reduced_shape(a.x.shape(), dim_set(a.dims, a.x.rank()), a.keepdim), d, a.x);
}
void Sum::cpu(const Args& a, Tensor& y) {
  const DType wide = is_float(y.dtype()) && a.x.is_float() ? promote(a.x.dtype(), y.dtype()) : y.dtype();
  cpu::fold(cpu::Fold::sum, a.x, dim_set(a.dims, a.x.rank()), wide, y);
}
Sum::Args Sum::grad(const Back<Sum>& b) {
  Args g;
  g.x = spread(cast(b.dy, b.a.x.dtype()), b.a.x, b.a.dims);
  return g;
}
void Sum::samples(SampleList& s) {
  add_sample<Sum>(s, {.x = grid({3, 4}, -1, 1), .dims = {}, .dtype = {}});
  add_sample<Sum>(s, {.x = grid({2, 3, 4}, -1, 1), .dims = {1}, .dtype = {}});
  add_sample<Sum>(s, {.x = strided(grid({2, 3, 4}, -1, 1)), .dims = {0, -1}, .keepdim = true, .dtype = {}});
  add_sample<Sum>(s, {.x = grid({}, -1, 1), .dims = {}, .dtype = {}});
  add_sample<Sum>(s, {.x = grid({0, 3}, -1, 1), .dims = {0}, .dtype = {}});
}

OpFamily family_reduce() { return list_ops(OpList<Sum>{}, "reduce"); }

}  // namespace rille
