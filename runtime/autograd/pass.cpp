#include "autograd/pass.h"

#include <atomic>

namespace rille::autograd {
namespace {

std::atomic<uint64_t> passes{0};

BackwardPass*& innermost() {
  thread_local BackwardPass* pass = nullptr;
  return pass;
}

}  // namespace

BackwardPass::BackwardPass(bool selects, bool keeps, bool records)
    : number_(passes.fetch_add(1, std::memory_order_relaxed) + 1),
      selects_(selects),
      keeps_(keeps || records),
      records_(records),
      outer_(innermost()) {
  innermost() = this;
}

BackwardPass::~BackwardPass() {
  innermost() = outer_;
  for (const auto& work : at_end_) work();
}

BackwardPass* BackwardPass::current() { return innermost(); }
uint64_t BackwardPass::number() { return innermost() ? innermost()->number_ : 0; }

}  // namespace rille::autograd
