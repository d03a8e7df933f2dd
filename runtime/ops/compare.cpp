#include "ops/compare.h"

#include <algorithm>

#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

template <class Fn>
struct Truth {
  Fn fn;
  template <class A>
  uint8_t operator()(A x) const {
    return fn.value(x) ? 1 : 0;
  }
};

// Every element of a fresh bool tensor.
bool all_true(const Tensor& t) {
  const uint8_t* p = t.data_as<uint8_t>();
  return std::all_of(p, p + t.numel(), [](uint8_t b) { return b != 0; });
}

void put(Tensor& y, bool b) { *y.data_as<uint8_t>() = b ? 1 : 0; }

}  // namespace

template <class O>
void Predicate<O>::cpu(const Args& a, Tensor& y) {
  const Truth<typename O::Fn> f{};
  switch (cpu::compute_type(a.x.dtype())) {
    case DType::f64: return map_as<uint8_t, double>(f, y, a.x);
    case DType::i64: return map_as<uint8_t, int64_t>(f, y, a.x);
    default: return map_as<uint8_t, float>(f, y, a.x);
  }
}

template <class O>
void PlainComparison<O>::samples(SampleList& s) {
  binary_samples<O>(s, -2, 2);
  add_sample<O>(s, {.x = ids({2, 5}, 3), .y = ids({5}, 4)});
  add_sample<O>(s, {.x = ids({2, 5}, 3), .y = Tensor::number(int64_t{1})});
}

void IsClose::samples(SampleList& s) {
  binary_samples<IsClose>(s, -2, 2);
  add_sample<IsClose>(
      s, {.x = grid({6}, -2, 2), .y = grid({6}, -2.05, 2.1), .rtol = 0.05, .atol = 0.01});
}

Meta AllClose::infer(const Args& a) {
  broadcast(a.x.shape(), a.y.shape());
  return meta_of({}, DType::boolean, a.x);
}
void AllClose::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  put(y, all_true(call<IsClose>({a.x, a.y, a.rtol, a.atol, a.equal_nan})));
}
void AllClose::samples(SampleList& s) {
  add_sample<AllClose>(s, {.x = grid({2, 3}, -1, 1), .y = grid({2, 3}, -1, 1)});
  add_sample<AllClose>(s, {.x = grid({2, 3}, -1, 1), .y = grid({3}, -1, 1)});
}

void Equal::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  put(y, a.x.shape() == a.y.shape() && all_true(call<Eq>({a.x, a.y})));
}
void Equal::samples(SampleList& s) {
  add_sample<Equal>(s, {.x = grid({2, 3}, -1, 1), .y = grid({2, 3}, -1, 1)});
  add_sample<Equal>(s, {.x = grid({2, 3}, -1, 1), .y = grid({3}, -1, 1)});
  add_sample<Equal>(s, {.x = ids({0}, 3), .y = ids({0}, 3)});
}

OpFamily family_compare() {
  return list_ops(OpList<Eq, Ne, Lt, Le, Gt, Ge, IsClose, AllClose, Equal, LogicalAnd, LogicalOr,
                         LogicalXor, LogicalNot, IsNan, IsInf, IsFinite>{},
                  "compare");
}

}  // namespace rille
