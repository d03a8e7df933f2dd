#include "cpu/sort.h"

#include <catch2/catch.hpp>

using namespace rille;

TEST_CASE("the first of equal values come first, however many are asked for", "[cpu][sort]") {
  for (const int64_t n : {100, 1000, 5000})
    for (const int64_t k : {int64_t{3}, int64_t{70}, int64_t{600}}) {
      if (k > n) continue;
      const Tensor x = Tensor::empty({n});
      for (int64_t i = 0; i < n; ++i) x.data_as<float>()[i] = static_cast<float>(i % 4);
      Tensor values = Tensor::empty({k}), ids = Tensor::empty({k}, DType::i64);
      cpu::top(x, 0, k, true, values, ids);
      bool right = true;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t of_each = n / 4;
        right &= ids.data_as<int64_t>()[i] == i % of_each * 4 + 3 - i / of_each;
        right &= values.data_as<float>()[i] == static_cast<float>(3 - i / of_each);
      }
      INFO(k << " of " << n);
      CHECK(right);
    }
}
