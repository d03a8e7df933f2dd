#include "cpu/reducers.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/threads.h"

using namespace rille;

namespace {

Tensor scattered(const Shape& shape, DType d) {
  const Tensor t = Tensor::empty(shape, d);
  const int64_t item = static_cast<int64_t>(size_of(d));
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double v = static_cast<double>((i * 7919 + 13) % 1009) / 504.5 - 1;
    store_element(d, t.data_as<char>() + i * item, is_float(d) ? v : std::floor(v * 50));
  }
  return t;
}

Tensor result_for(const Tensor& x, uint32_t dims, DType d) {
  Shape s;
  for (int i = 0; i < x.rank(); ++i)
    if (!(dims >> i & 1)) s.push_back(x.shape()[i]);
  return Tensor::empty(s, d);
}

// The fold by its definition: one loop over all elements in double.
std::vector<double> plain(cpu::Fold what, const Tensor& x, uint32_t dims, int64_t results) {
  std::vector<double> y(static_cast<size_t>(results), what == cpu::Fold::max ? -HUGE_VAL : 0.0);
  const std::vector<double> v = x.to_vector();
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t rest = i, at = 0, step = 1;
    for (int d = x.rank() - 1; d >= 0; --d) {
      const int64_t k = rest % x.shape()[d];
      rest /= x.shape()[d];
      if (dims >> d & 1) continue;
      at += k * step;
      step *= x.shape()[d];
    }
    double& to = y[static_cast<size_t>(at)];
    const double e = v[static_cast<size_t>(i)];
    if (what == cpu::Fold::max)
      to = std::max(to, e);
    else
      to += what == cpu::Fold::l1 ? std::abs(e) : e;
  }
  return y;
}

struct Look {
  Shape shape;
  std::vector<uint32_t> dims;
};

}  // namespace

TEST_CASE("reductions equal plain loops for every way to walk", "[cpu][reduce]") {
  const std::vector<Look> looks = {{{40, 50}, {1, 2, 3}},
                                   {{3000, 5}, {1, 2}},
                                   {{5, 3000}, {1, 2}},
                                   {{4, 31, 6, 33}, {5, 10, 6, 9}},
                                   {{2, 300, 70}, {2, 3, 6}},
                                   {{70000}, {1}},
                                   {{9, 30, 7}, {2}},
                                   {{1, 1, 5}, {3, 4}},
                                   {{}, {0}},
                                   {{3, 0, 2}, {1, 5}},
                                   {{300, 1100}, {1}}};
  for (const DType d : {DType::f32, DType::f64, DType::bf16, DType::i32})
    for (const cpu::Fold what : {cpu::Fold::sum, cpu::Fold::max, cpu::Fold::l1})
      for (const Look& look : looks)
        for (const uint32_t dims : look.dims) {
          if (what == cpu::Fold::l1 && !is_float(d)) continue;
          const Tensor x = scattered(look.shape, d);
          const Tensor y = result_for(x, dims, is_float(d) ? DType::f64 : DType::i64);
          cpu::fold(what, x, dims, d, y);
          const std::vector<double> got = y.to_vector(), want = plain(what, x, dims, y.numel());
          INFO(name(d) << " " << to_string(look.shape) << " dims " << dims << " fold "
                       << static_cast<int>(what));
          double worst = 0;
          for (size_t i = 0; i < got.size(); ++i)
            if (got[i] != want[i])
              worst =
                  std::max(worst, std::abs(got[i] - want[i]) / std::max(1.0, std::abs(want[i])));
          CHECK(worst < (d == DType::f64 ? 1e-12 : 1e-4));
        }
}

TEST_CASE("strided and transposed tensors are reduced where they lie", "[cpu][reduce]") {
  const Tensor block = scattered({60, 40, 2}, DType::f32);
  const Tensor x = block.alias({40, 60}, {2, 80}, 1);
  for (const uint32_t dims : {1u, 2u, 3u}) {
    const Tensor y = result_for(x, dims, DType::f64);
    cpu::fold(cpu::Fold::sum, x, dims, DType::f32, y);
    const std::vector<double> got = y.to_vector(), want = plain(cpu::Fold::sum, x, dims, y.numel());
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-4));
  }
}

TEST_CASE("the bits of a sum don't depend on the number of threads", "[cpu][reduce]") {
  const int before = threads();
  for (const Look& look :
       std::vector<Look>{{{1 << 19}, {1}}, {{3000, 100}, {1, 2}}, {{16, 8, 40, 40}, {13, 4}}})
    for (const uint32_t dims : look.dims) {
      const Tensor x = scattered(look.shape, DType::f32);
      const Tensor one = result_for(x, dims, DType::f32), many = result_for(x, dims, DType::f32);
      set_threads(1);
      cpu::fold(cpu::Fold::sum, x, dims, DType::f32, one);
      set_threads(4);
      cpu::fold(cpu::Fold::sum, x, dims, DType::f32, many);
      CHECK(std::memcmp(one.data(), many.data(), static_cast<size_t>(one.nbytes())) == 0);
    }
  set_threads(before);
}

TEST_CASE("a million small floats sum as exactly as in double", "[cpu][reduce]") {
  const Tensor x = Tensor::empty({1 << 20});
  for (int64_t i = 0; i < x.numel(); ++i) x.data_as<float>()[i] = 0.1f;
  const Tensor y = Tensor::empty({}, DType::f64);
  cpu::fold(cpu::Fold::sum, x, 1, DType::f32, y);
  CHECK(y.item() == Approx(static_cast<double>(0.1f) * (1 << 20)).epsilon(1e-6));
}
