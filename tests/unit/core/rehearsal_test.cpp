// What meta tensors would take, counted block by block.
#include <catch2/catch.hpp>

#include "core/rehearsal.h"
#include "core/tensor.h"

using namespace rille;

namespace {

constexpr Device kMeta{DeviceType::meta};

struct Rehearsing {
  std::shared_ptr<Rehearsal> it = std::make_shared<Rehearsal>(Context::current());
  Rehearsing() { Rehearsal::enter(it); }
  ~Rehearsing() { Rehearsal::enter(nullptr); }
};

}  // namespace

TEST_CASE("a rehearsal counts blocks of meta once, and until they are freed", "[rehearsal]") {
  const Rehearsing now;
  Tensor a = Tensor::empty({256, 4}, DType::f32, kMeta);
  CHECK(now.it->in_use() == 4096);
  const Tensor look = a.alias({4}, {1}, 8);
  CHECK(now.it->in_use() == 4096);
  a = Tensor();
  CHECK(now.it->in_use() == 4096);  // the look holds the whole block
  {
    const Tensor b = Tensor::empty({10}, DType::bf16, kMeta);
    CHECK(now.it->in_use() == 4116);
  }
  CHECK(now.it->in_use() == 4096);
  CHECK(now.it->peak() == 4116);
  now.it->reset_peak();
  CHECK(now.it->peak() == 4096);
}

TEST_CASE("a rehearsal leaves real tensors out, and other contexts", "[rehearsal]") {
  const Rehearsing now;
  const Tensor real = Tensor::empty({100}, DType::f32);
  CHECK(now.it->in_use() == 0);
  Context other;
  Context* before = Context::enter(&other);
  CHECK_FALSE(Rehearsal::current());
  const Tensor elsewhere = Tensor::empty({100}, DType::f32, kMeta);
  Context::enter(before);
  CHECK(now.it->in_use() == 0);
}

TEST_CASE("a block outlives the rehearsal that counted it", "[rehearsal]") {
  Tensor kept;
  std::shared_ptr<Rehearsal> it;
  {
    const Rehearsing now;
    it = now.it;
    kept = Tensor::empty({8}, DType::f32, kMeta);
  }
  CHECK(it->in_use() == 32);
  kept = Tensor();
  CHECK(it->in_use() == 0);
}
