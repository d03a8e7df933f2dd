// native.random_bits and native.permutation: what orders and windows are drawn with.
#include <numeric>

#include "core/fail.h"
#include "data/order.h"
#include "interpreter/bind/bind.h"

namespace rille::bind {
namespace {

// native.random_bits(seed, stream, index) -> integer
void random_bits(Call& c) {
  c.give(data::random_bits(c.integer(1, "seed"), c.integer(2, "stream"), c.integer(3, "index")));
}

// native.permutation(seed, stream, n) -> the positions 1..n in random order, an i64 tensor
void permutation(Call& c) {
  const int64_t seed = c.integer(1, "seed"), stream = c.integer(2, "stream"), n = c.integer(3, "n");
  if (n < 0) throw arg_error("'n' must not be negative, got {}", n);
  const Tensor t = Tensor::empty(Shape{n}, DType::i64);
  const std::span<int64_t> order(t.data_as<int64_t>(), static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 1);
  data::shuffle(order, seed, stream);
  c.give(t);
}

}  // namespace

void bind_orders(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"random_bits", random_bits},
                                            {"permutation", permutation}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
