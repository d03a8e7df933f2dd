// Memory of the host under tensors: shared, given back once, and left alone where it is read-only.
#include <memory>
#include <numeric>

#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("borrowed memory is shared") {
  std::vector<float> values(6, 1.5f);
  const Tensor t = borrow(values.data(), {2, 3});
  CHECK(t.data<float>() == values.data());
  t.index_put_({1, 2}, 9);
  CHECK(values[5] == 9);
  values[0] = -1;
  CHECK(list(t[0]) == std::vector<double>{-1, 1.5, 1.5});
}

TEST_CASE("the deleter runs once, after the last look") {
  int calls = 0;
  std::vector<double> values(4, 2);
  {
    Tensor view;
    {
      const Tensor t = Tensor::from_host(values.data(), {4}, {}, Dtype::f64, [&](void* p) {
        CHECK(p == values.data());
        ++calls;
      });
      view = t.slice(0, 1, 3).detach();
      CHECK(view.data<double>() == values.data() + 1);
    }
    CHECK(calls == 0);
    const Tensor recorded = (view.detach().requires_grad_() * view).sum();  // the tape keeps a look
    view = {};
    CHECK(calls == 0);
  }
  CHECK(calls == 1);
}

TEST_CASE("memory that cannot be taken stays the host's") {
  int calls = 0;
  const auto count = [&](void*) { ++calls; };
  alignas(8) char bytes[64] = {};
  const auto from = [&](void* p, const Shape& shape, const Shape& strides) {
    return code_of([&] { Tensor::from_host(p, shape, strides, Dtype::f32, count); });
  };
  CHECK(from(bytes + 1, {2}, {}) == "E_ARG");
  CHECK(from(nullptr, {2}, {}) == "E_ARG");
  CHECK(from(bytes, {-1}, {}) == "E_SHAPE");
  CHECK(from(bytes, {2, 2}, {1}) == "E_SHAPE");
  CHECK(from(bytes, {2}, {-1}) == "E_ARG");
  CHECK(from(bytes, {2, 2}, {int64_t{1} << 62, 1}) == "E_SHAPE");
  CHECK(calls == 0);
  Tensor::from_host(nullptr, {0, 3}, {}, Dtype::f32, count);
  CHECK(calls == 1);
}

TEST_CASE("a number that is no dtype is refused wherever it comes in") {
  const auto none = static_cast<Dtype>(99), next = static_cast<Dtype>(18);
  alignas(8) char bytes[64] = {};
  const Tensor t = ones({2});
  for (const Dtype d : {none, next}) {
    CHECK(code_of([&] { Tensor::from_host(bytes, {2}, {}, d); }) == "E_DTYPE");
    CHECK(code_of([&] { Tensor::of({1, 2}, d); }) == "E_DTYPE");
    CHECK(code_of([&] { Tensor::scalar(1, d); }) == "E_DTYPE");
    CHECK(code_of([&] { t.to(d); }) == "E_DTYPE");
    CHECK(code_of([&] { zeros({2}, {.dtype = d}); }) == "E_DTYPE");
    CHECK(code_of([&] { set_default_dtype(d); }) == "E_DTYPE");
    CHECK(code_of([&] { name(d); }) == "E_DTYPE");
    CHECK(code_of([&] { size_of(d); }) == "E_DTYPE");
    CHECK(code_of([&] { nn::Linear(2, 2).to(d); }) == "E_DTYPE");
    CHECK(code_of([&] { amp::Autocast scope{{.dtype = d}}; }) == "E_DTYPE");
    CHECK(code_of([&] { optim::AdamW({t}, {.state_dtype = d}); }) == "E_DTYPE");
  }
  CHECK(name(Dtype::f4_e2m1) == "f4_e2m1");
}

TEST_CASE("strides of the host are kept") {
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0.f);
  const Tensor columns = Tensor::from_host(values.data(), {4, 3}, {1, 4});
  CHECK(list(columns[1]) == std::vector<double>{1, 5, 9});
  CHECK_FALSE(columns.is_contiguous());
  CHECK(list(columns.sum())[0] == 66);
}

namespace {

// Everything that writes into an existing tensor.
std::vector<std::pair<const char*, std::function<void(const Tensor&)>>> writers() {
  return {
      {"add_", [](const Tensor& t) { t += 1; }},
      {"add_",
       [](const Tensor& t) {
         add_(t, ones({2, 2}));
       }},
      {"mul_", [](const Tensor& t) { t *= 2; }},
      {"copy_",
       [](const Tensor& t) {
         t.copy_(zeros({2, 2}));
       }},
      {"copy_", [](const Tensor& t) { t.index_put_({0}, 1); }},
      {"index_put_", [](const Tensor& t) { t.index_put_({Tensor::of({0}, Dtype::i64)}, 1); }},
      {"add_", [](const Tensor& t) { t[1] += 1; }},
      {"add_", [](const Tensor& t) { t.transpose().detach() += 1; }},
      {"fill_", [](const Tensor& t) { fill_(t, 3); }},
      {"zero_", [](const Tensor& t) { zero_(t); }},
      {"uniform_", [](const Tensor& t) { uniform_(t); }},
      {"relu_", [](const Tensor& t) { relu_(t); }},
      {"clamp_", [](const Tensor& t) { clamp_(t, {.min = 0}); }},
      {"masked_fill_", [](const Tensor& t) { masked_fill_(t, gt(t, 0), 1); }},
      {"tril_", [](const Tensor& t) { tril_(t); }},
      {"batch_norm",
       [](const Tensor& t) {
         batch_norm(ones({4, 2}), {.running_mean = t[0], .running_var = t[1], .training = true});
       }},
      {"embedding",
       [](const Tensor& t) { embedding(Tensor::of({0}, Dtype::i64), t, {.max_norm = 0.1}); }},
      {"SGD",
       [](const Tensor& t) {
         const Tensor p = t.detach();
         p.requires_grad_();
         p.set_grad(ones({2, 2}));
         optim::SGD opt({p}, {.lr = 1});
         opt.step();
       }},
      {"AdamW",
       [](const Tensor& t) {
         const Tensor p = t.detach();
         p.requires_grad_();
         p.set_grad(ones({2, 2}));
         optim::AdamW opt({p});
         opt.step();
       }},
      {"clip_grad_norm_",
       [](const Tensor& t) {
         const Tensor p = zeros({2, 2}, {.requires_grad = true});
         p.set_grad(t);
         nn::clip_grad_norm_({p}, 0.1);
       }},
      {"data", [](const Tensor& t) { t.data<float>(); }},
      {"to_dlpack_legacy", [](const Tensor& t) { t.to_dlpack_legacy(); }},
      {"load_state_dict",
       [](const Tensor& t) {
         struct Holder : nn::ModuleOf<Holder> {
           explicit Holder(const Tensor& held) { register_buffer("held", held); }
         };
         Holder(t).load_state_dict({{"held", zeros({2, 2})}});
       }},
  };
}

}  // namespace

TEST_CASE("read-only memory is never written") {
  const std::vector<float> values = {1, -2, 3, 4};
  for (const auto& [op, write] : writers()) {
    INFO(op);
    const Tensor t = borrow(values.data(), {2, 2});
    CHECK(t.is_read_only());
    const Error e = refused([&] { write(t); });
    CHECK(e.code == "E_READONLY");
    CHECK_FALSE(e.op.empty());
    if (std::string(op) == "add_") CHECK(e.op == "add_");
    CHECK(values == std::vector<float>{1, -2, 3, 4});
  }
}

TEST_CASE("a read-only gradient is not added to") {
  const std::vector<float> ones_of_host = {1, 1};
  const Tensor x = zeros({2}, {.requires_grad = true});
  const Tensor y = x * 2;
  y.register_hook([&](const Tensor&) { return borrow(ones_of_host.data(), {2}); });
  y.backward({.gradient = ones({2}), .retain_graph = true});
  y.backward({.gradient = ones({2})});
  CHECK(list(x.grad()) == std::vector<double>{4, 4});
  const Tensor leaf = zeros({2}, {.requires_grad = true});
  leaf.register_hook([&](const Tensor&) { return borrow(ones_of_host.data(), {2}); });
  for (int i = 0; i < 3; ++i) leaf.sum().backward();
  CHECK(list(leaf.grad()) == std::vector<double>{3, 3});
  CHECK(ones_of_host == std::vector<float>{1, 1});
}
