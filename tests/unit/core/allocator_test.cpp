#include "core/allocator.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/tensor.h"

namespace memory = rille::memory;

namespace {

const std::vector<size_t> kSizes{1, 64, 65, 4000, 65536, 65537, 300000, 1 << 20, 5 << 20};

}  // namespace

TEST_CASE("bytes are counted, and every block is aligned", "[allocator]") {
  const int64_t before = memory::allocated();
  std::vector<void*> held;
  int64_t sum = 0;
  for (const size_t bytes : kSizes) {
    held.push_back(memory::allocate(bytes));
    REQUIRE(held.back());
    CHECK(reinterpret_cast<uintptr_t>(held.back()) % memory::kAlignment == 0);
    sum += static_cast<int64_t>(bytes);
    CHECK(memory::allocated() == before + sum);
  }
  for (size_t i = 0; i < held.size(); ++i) memory::deallocate(held[i], kSizes[i]);
  CHECK(memory::allocated() == before);
}

TEST_CASE("the peak is the most there was since it was reset", "[allocator]") {
  memory::reset_peak();
  const int64_t base = memory::stats().peak;
  CHECK(base == memory::allocated());
  memory::deallocate(memory::allocate(3 << 20), 3 << 20);
  memory::deallocate(memory::allocate(1 << 20), 1 << 20);
  CHECK(memory::stats().peak == base + (3 << 20));
  memory::reset_peak();
  CHECK(memory::stats().peak == base);
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("an emptied cache holds nothing large that nobody uses", "[allocator]") {
  memory::empty_cache();
  const int64_t before = memory::stats().reserved;
  memory::deallocate(memory::allocate(64 << 20), 64 << 20);
  CHECK(memory::stats().reserved >= before + (62 << 20));
  void* block = memory::allocate(64 << 20);
  CHECK(memory::stats().reserved >= memory::allocated());
  memory::deallocate(block, 64 << 20);
  memory::empty_cache();
  CHECK(memory::stats().reserved <= before);
}
#endif

TEST_CASE("the limit refuses what would pass it, and no more", "[allocator]") {
  const int64_t in_use = memory::allocated();
  memory::set_limit(in_use + (2 << 20));
  CHECK(memory::budget() == in_use + (2 << 20));
  CHECK(memory::allocate((2 << 20) + 1) == nullptr);
  void* fits = memory::allocate(2 << 20);
  CHECK(fits);
  CHECK(memory::allocate(1) == nullptr);
  memory::deallocate(fits, 2 << 20);
  memory::set_limit(0);
  CHECK(memory::budget() > 0);
}

TEST_CASE("a tensor that can't be had says how much was asked for", "[allocator]") {
  memory::set_limit(memory::allocated() + (1 << 20));
  try {
    rille::Tensor::empty(rille::Shape{1024, 1024});
    FAIL("4 MiB were given with 1 MiB left");
  } catch (const rille::Error& e) {
    CHECK(e.code() == "E_OOM_BUDGET");
    CHECK(e.text().find("asking 4.00 MiB") != std::string::npos);
  }
  memory::set_limit(0);
  CHECK_THROWS_AS(rille::Tensor::empty(rille::Shape{int64_t{1} << 40}), rille::Error);
}

TEST_CASE("blocks may be freed by another thread than took them", "[allocator]") {
  const int64_t before = memory::allocated();
  std::vector<std::vector<void*>> taken(4);
  const auto each = [&](auto&& run) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < taken.size(); ++i) threads.emplace_back(run, i);
    for (std::thread& t : threads) t.join();
  };
  each([&](size_t i) {
    for (int round = 0; round < 50; ++round)
      for (const size_t bytes : kSizes) taken[i].push_back(memory::allocate(bytes));
  });
  each([&](size_t i) {
    auto& of_another = taken[(i + 1) % taken.size()];
    for (size_t k = 0; k < of_another.size(); ++k)
      memory::deallocate(of_another[k], kSizes[k % kSizes.size()]);
  });
  CHECK(memory::allocated() == before);
}

TEST_CASE("sizes are said in the largest unit that gives at least one", "[allocator]") {
  CHECK(memory::size_text(0) == "0 bytes");
  CHECK(memory::size_text(1023) == "1023 bytes");
  CHECK(memory::size_text(1024) == "1.00 KiB");
  CHECK(memory::size_text(int64_t{3} << 29) == "1.50 GiB");
}
