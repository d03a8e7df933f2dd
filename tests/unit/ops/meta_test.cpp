// Calls and backward passes on meta tensors: shapes flow, no value is looked at.
#include <catch2/catch.hpp>

#include "autograd/engine.h"
#include "autograd/node.h"
#include "core/error.h"
#include "ops/op.h"

using namespace rille;

namespace {

Tensor leaf_on_meta(const Tensor& t) {
  if (t.is_number()) return t;
  Meta m = t.meta();
  m.device = Device{DeviceType::meta};
  const Tensor leaf = Tensor::empty(m);
  if (leaf.is_float()) autograd::set_requires_grad(leaf, true);
  return leaf;
}

// Every gradient that there is has the shape of its leaf and stays on meta.
void check_backward(const ArgBlock& given) {
  const ArgBlock args = given.clone();
  std::vector<Tensor> leaves, roots, seeds;
  each_tensor(args.op(), args.get(), [&](size_t, Tensor& t) {
    t = leaf_on_meta(t);
    if (t.is_meta() && t.is_float()) leaves.push_back(t);
  });
  Results out;
  call_erased(args.op(), args.get(), out);
  for (const Tensor& y : out) {
    if (!y.is_float() || !autograd::requires_grad(y)) continue;
    roots.push_back(y);
    seeds.push_back(Tensor::empty(y.meta()));
  }
  if (roots.empty()) return;
  const std::vector<Tensor> grads = autograd::grad(roots, leaves, seeds, {.allow_unused = true});
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i]) continue;
    CHECK(grads[i].is_meta());
    CHECK(grads[i].shape() == leaves[i].shape());
  }
}

}  // namespace

TEST_CASE("every op records and runs backward without values", "[meta]") {
  for (const OpInfo* op : all_ops()) {
    SampleList samples;
    op->samples(samples);
    for (size_t i = 0; i < samples.size(); ++i) {
      INFO(op->name << ", sample " << i + 1);
      try {
        check_backward(samples[i].args);
      } catch (const Error& e) {
        // What depends on values, or has no gradient, says so.
        const bool refused = e.code() == "E_NO_KERNEL" || e.code() == "E_NO_GRADIENT";
        if (!refused) FAIL_CHECK(e.code() << " " << e.what());
      }
    }
  }
}

namespace {

// What the kernel keeps for backward, and what the op says that it keeps.
void check_saved(const OpInfo& op, const ArgBlock& args) {
  Metas metas, said;
  op.infer(args.get(), metas);
  op.saved_meta(args.get(), said);
  Results outs;
  for (const Meta& m : metas) outs.push_back(Tensor::empty(m));
  std::vector<Tensor> kept(op.saved_tensors);
  op.kernel[static_cast<int>(DeviceType::cpu)](args.get(), outs.data(), kept.data());
  REQUIRE(said.size() == kept.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    CHECK(said[i].shape == kept[i].shape());
    CHECK(said[i].dtype == kept[i].dtype());
  }
}

}  // namespace

TEST_CASE("ops state what their kernels keep for backward", "[meta]") {
  int ops = 0;
  for (const OpInfo* op : all_ops()) {
    if (op->saved_tensors == 0) continue;
    ++ops;
    SampleList samples;
    op->samples(samples);
    for (size_t i = 0; i < samples.size(); ++i) {
      INFO(op->name << ", sample " << i + 1);
      check_saved(*op, samples[i].args);
    }
  }
  CHECK(ops > 0);
}
