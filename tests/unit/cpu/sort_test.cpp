#include "cpu/sort.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

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

TEST_CASE("long lines give what sorting gives, whatever their order", "[cpu][sort]") {
  constexpr int64_t n = 600001;
  const auto value_at = [](int order, int64_t i) -> int64_t {
    switch (order) {
      case 0: return i;
      case 1: return n - i;
      case 2: return i % 7;
      case 3: return i * 7919 % 100003;
      default: return i % 585 == 0 ? 0 : 1 + i % 3;  // what a sample of every 585th takes for all
    }
  };
  for (int order = 0; order < 5; ++order) {
    const Tensor x = Tensor::empty({n});
    std::vector<std::pair<int64_t, int64_t>> want(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      x.data_as<float>()[i] = static_cast<float>(value_at(order, i));
      want[static_cast<size_t>(i)] = {value_at(order, i), i};
    }
    std::sort(want.begin(), want.end());
    INFO("order " << order);
    const auto place = [&](int64_t k) { return want[static_cast<size_t>(k)].second; };
    for (const int64_t k : {int64_t{0}, int64_t{17}, n / 2, n - 1}) {
      Tensor value = Tensor::empty({1}), id = Tensor::empty({1}, DType::i64);
      cpu::select(x, 0, cpu::Rank::kth, k, value, id);
      CHECK(*id.data_as<int64_t>() == place(k));
    }
    for (const int64_t k : {int64_t{5}, int64_t{2000}, int64_t{140000}, n}) {
      Tensor values = Tensor::empty({k}), ids = Tensor::empty({k}, DType::i64);
      cpu::top(x, 0, k, false, values, ids);
      bool right = true;
      for (int64_t i = 0; i < k; ++i) right &= ids.data_as<int64_t>()[i] == place(i);
      INFO(k << " of them");
      CHECK(right);
    }
  }
}
