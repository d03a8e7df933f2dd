// rille.tensor(nested table | number, options): values written out in a script.
#include "autograd/node.h"
#include "core/fail.h"
#include "interpreter/bind/bind.h"
#include "ops/cast.h"

namespace rille::bind {
namespace {

// What a nested table holds, row by row.
struct Written {
  Shape shape;
  std::vector<Value> values;
  bool floats = false, integers = false, booleans = false;

  void read(const Value& v, int depth) {
    if (const Table* t = v.table()) {
      if (!t->named.empty())
        throw type_error("'values' must hold lists only, got the key '{}'",
                         t->named.begin()->first);
      const auto n = static_cast<int64_t>(t->list.size());
      if (depth == shape.size() && values.empty())
        shape.push_back(n);
      else if (depth >= shape.size() || shape[depth] != n)
        throw shape_error("rows differ in length: {} and {} at depth {}",
                          depth < shape.size() ? shape[depth] : 0, n, depth + 1);
      for (const Value& one : t->list) read(one, depth + 1);
      return;
    }
    if (depth != shape.size())
      throw shape_error("rows differ in depth: a number stands where a list is wanted");
    if (v.get<bool>())
      booleans = true;
    else if (v.get<int64_t>())
      integers = true;
    else if (v.get<double>())
      floats = true;
    else
      throw type_error("'values' must hold numbers, booleans or lists of them");
    values.push_back(v);
  }

  DType dtype() const {
    if (floats || values.empty()) return Context::current().default_dtype;
    return integers ? DType::i64 : DType::boolean;
  }
};

Tensor store(const Written& w, DType d) {
  Tensor t = Tensor::empty(w.shape, d);
  int64_t at = 0;
  for (const Value& v : w.values) {
    if (const bool* b = v.get<bool>())
      t.store_int(at, *b);
    else if (const int64_t* n = v.get<int64_t>())
      t.store_int(at, *n);
    else
      t.store(at, *v.get<double>());
    ++at;
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
  Written w;
  w.read(c.value(1), 0);
  c.only(2, {"dtype", "device", "requires_grad"});
  const auto dtype = c.text_option(2, "dtype"), device = c.text_option(2, "device");
  const bool grad = c.flag_option(2, "requires_grad");
  Tensor t = store(w, dtype ? dtype_of(*dtype) : w.dtype());
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
