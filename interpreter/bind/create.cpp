// rille.tensor(nested table | number, options): values written out in a script.
#include "autograd/node.h"
#include "core/budget.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "ops/cast.h"

namespace rille::bind {
namespace {

using lua::Numbers;

DType natural_dtype(const Numbers& w) {
  if (w.floats || w.values.empty()) return Context::current().default_dtype;
  return w.integers ? DType::i64 : DType::boolean;
}

Tensor store(const Numbers& w, DType d) {
  Tensor t = Tensor::empty(w.shape, d);
  int64_t at = 0;
  Poll poll;
  for (const Numbers::Number& v : w.values) {
    if (const double* x = std::get_if<double>(&v))
      t.store(at, *x);
    else if (const int64_t* n = std::get_if<int64_t>(&v))
      t.store_int(at, *n);
    else
      t.store_int(at, std::get<bool>(v));
    ++at;
    poll(1);
  }
  return t;
}

void tensor(Call& c) {
  if (c.is_tensor(1)) {
    // A copy of a tensor, outside of its graph.
    const NoGrad quiet;
    return c.give(clone(c.tensor(1, "values")));
  }
  if (!c.is_table(1) && !c.is_number(1) && !c.has(1))
    c.wrong(1, "values", "a number or a nested list of numbers");
  const Numbers w = c.numbers(1);
  c.only(2, {"dtype", "device", "requires_grad"});
  const auto dtype = c.text_option(2, "dtype"), device = c.text_option(2, "device");
  const bool grad = c.flag_option(2, "requires_grad");
  Tensor t = store(w, dtype ? dtype_of(*dtype) : natural_dtype(w));
  const Device want = device ? device_of(c.interpreter(), *device) : c.context().default_device;
  {
    const NoGrad quiet;
    t = to_device(t, want);
  }
  if (grad) autograd::set_requires_grad(t, true);
  c.give(t);
}

void is_tensor(Call& c) { c.give(c.is_tensor(1)); }

}  // namespace

void bind_create(Interpreter& in) {
  static constexpr NativeEntry functions[] = {{"tensor", tensor}, {"is_tensor", is_tensor}};
  lua::define_functions(in, "rille", functions);
  static constexpr NativeEntry natives[] = {{"is_tensor", is_tensor}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
