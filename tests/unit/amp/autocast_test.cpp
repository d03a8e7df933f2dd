// Autocast below the script: threads that are given a mode, modes kept once, what is cast.
#include "amp/autocast.h"

#include <catch2/catch.hpp>
#include <thread>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "core/error.h"
#include "ops/create.h"
#include "ops/matmul.h"

namespace rille {
namespace {

AutocastMode mode_for(DType dtype) {
  AutocastMode mode;
  mode.devices[0] = {.enabled = true, .dtype = dtype};
  return mode;
}

DType product_dtype() {
  const Tensor x = Tensor::of(std::vector<double>{1, 2, 3, 4}, {2, 2});
  return matmul(x, x).dtype();
}

}  // namespace

TEST_CASE("a mode goes to another thread with the word of modes") {
  const AutocastScope scope(mode_for(DType::bf16));
  CHECK(product_dtype() == DType::bf16);
  const uint32_t flags = Context::current().flags;
  DType plain{}, given{};
  std::thread([&] {
    plain = product_dtype();
    Context::current().flags = flags;
    given = product_dtype();
  }).join();
  CHECK(plain == DType::f32);
  CHECK(given == DType::bf16);
}

TEST_CASE("equal modes have one number, and outside of scopes there is none") {
  const uint32_t one = autocast_bits(mode_for(DType::f16));
  CHECK(autocast_bits(mode_for(DType::f16)) == one);
  CHECK(autocast_bits(mode_for(DType::bf16)) != one);
  CHECK(autocast_mode(one) == mode_for(DType::f16));
  CHECK((Context::current().flags & kAutocastBits) == 0);
  // A scope that is off is still a scope.
  CHECK(autocast_bits(AutocastMode{}) != 0);
  CHECK((autocast_bits(AutocastMode{}) & kAutocast) == 0);
}

TEST_CASE("the list of torch-cpu names ops that there are, each once, in order") {
  const auto& rules = amp::torch_cpu_rules();
  for (size_t i = 1; i < rules.size(); ++i) CHECK(rules[i - 1].op < rules[i].op);
}

TEST_CASE("kept casts go with the outermost scope, and lead to the weight's gradient") {
  const Tensor w = Tensor::of(std::vector<double>{1, 2, 3, 4}, {2, 2});
  autograd::set_requires_grad(w, true);
  const auto uses = [&] { return w.impl()->refs.load(); };
  const auto before = uses();
  Tensor y;
  {
    const AutocastScope outer(mode_for(DType::bf16));
    {
      const AutocastScope inner(mode_for(DType::f16));
      matmul(w, w);
    }
    y = matmul(w, w);
    CHECK(autocast_counts().weights >= 2);
    CHECK(uses() > before);
  }
  const Tensor seed = ones_like(y);
  autograd::backward({&y, 1}, {&seed, 1});
  const Tensor g = autograd::grad_of(w);
  CHECK(g.dtype() == DType::f32);
  CHECK(g.to_vector() == std::vector<double>{7, 11, 9, 13});
  y = {};
  CHECK(uses() == before);
}

}  // namespace rille
