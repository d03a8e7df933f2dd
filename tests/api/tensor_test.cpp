// Tensors as C++ programs make, read and index them.
#include <sstream>

#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("tensors are made of values") {
  const Tensor t = Tensor::of({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(t.shape() == Shape{2, 3});
  CHECK(t.strides() == Shape{3, 1});
  CHECK(t.dtype() == Dtype::f32);
  CHECK(t.dim() == 2);
  CHECK(t.size(-1) == 3);
  CHECK(t.numel() == 6);
  CHECK(t.to_vector<int>() == std::vector<int>{1, 2, 3, 4, 5, 6});
  CHECK(Tensor::scalar(2.5).shape().empty());
  const std::vector<int64_t> large = {(int64_t{1} << 62) + 1, -1};
  CHECK(Tensor::of(large).to_vector<int64_t>() == large);
  CHECK(Tensor::of(large).dtype() == Dtype::i64);
  CHECK(code_of([] { Tensor::of({1, 2}, {3}); }) == "E_SHAPE");
  CHECK(Tensor::of({0, 2}, Dtype::boolean).to_vector<bool>() == std::vector<bool>{false, true});
}

TEST_CASE("an empty handle is false, and an error to use") {
  const Tensor none;
  CHECK_FALSE(none);
  CHECK(code_of([&] { (void)none.shape(); }) == "E_TYPE");
  CHECK(code_of([&] { (void)(none + 1); }) == "E_TYPE");
  CHECK(code_of([&] { gelu(none); }) == "E_TYPE");
}

TEST_CASE("handles share, clones do not") {
  Tensor a = Tensor::of({1, 2});
  const Tensor same = a, copy = a.clone();
  a += 1;
  CHECK(list(same) == std::vector<double>{2, 3});
  CHECK(list(copy) == std::vector<double>{1, 2});
  CHECK(same.is(a));
  const Tensor taken = std::move(a);
  CHECK_FALSE(a);  // NOLINT(bugprone-use-after-move): a moved handle is empty
  CHECK(taken.is(same));
}

TEST_CASE("item converts the only element") {
  CHECK(Tensor::scalar(2.75).item<double>() == 2.75);
  CHECK(Tensor::scalar(2.75).item<int>() == 2);
  CHECK(Tensor::scalar(2.75).item<bool>());
  const std::vector<int64_t> exact = {(int64_t{1} << 53) + 1};
  CHECK(Tensor::of(exact).item<int64_t>() == exact[0]);
  CHECK(code_of([] { (void)Tensor::of({1, 2}).item<float>(); }) == "E_SHAPE");
}

TEST_CASE("data gives the elements in their own type") {
  const Tensor t = Tensor::of({1, 2, 3});
  t.data<float>()[1] = 7;
  CHECK(t.data<const float>()[1] == 7);
  CHECK(list(t) == std::vector<double>{1, 7, 3});
  CHECK(code_of([&] { t.data<double>(); }) == "E_DTYPE");
  CHECK(code_of([] { zeros({2}, {.device = "meta"}).data<float>(); }) == "E_NO_KERNEL");
}

TEST_CASE("arithmetic broadcasts and promotes as in scripts") {
  const Tensor x = Tensor::of({1, 2, 3, 4}, {2, 2}), row = Tensor::of({10, 20});
  CHECK(list(x + row) == std::vector<double>{11, 22, 13, 24});
  CHECK(list(2 * x - 1) == std::vector<double>{1, 3, 5, 7});
  CHECK(list(1 / x) == std::vector<double>{1, 0.5, 1.0f / 3, 0.25});
  CHECK(list(-x) == std::vector<double>{-1, -2, -3, -4});
  CHECK((x.to(Dtype::f16) * 2.5).dtype() == Dtype::f16);
  CHECK((Tensor::of({1}, Dtype::i32) + 1).dtype() == Dtype::i32);
  CHECK((Tensor::of({1}, Dtype::i32) + 0.5).dtype() == Dtype::f32);
  CHECK(list(x.matmul(x)) == std::vector<double>{7, 10, 15, 22});
}

TEST_CASE("positions count from 0, slices end before their stop") {
  const Tensor x = Tensor::of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4});
  CHECK(list(x[1]) == std::vector<double>{4, 5, 6, 7});
  CHECK(list(x[-1]) == list(x[2]));
  CHECK(x.index({2, 3}).item<int>() == 11);
  CHECK(list(x.index({Slice{}, 1})) == std::vector<double>{1, 5, 9});
  CHECK(list(x.index({0, Slice{1, 3}})) == std::vector<double>{1, 2});
  CHECK(list(x.index({0, Slice{-2, {}}})) == std::vector<double>{2, 3});
  CHECK(list(x.index({0, Slice{{}, {}, 3}})) == std::vector<double>{0, 3});
  CHECK(list(x.index({0, Slice{1, 100}})) == std::vector<double>{1, 2, 3});
  CHECK(x.index({0, Slice{3, 1}}).numel() == 0);
  CHECK(x.index({0, Slice{9, 20}}).numel() == 0);
  CHECK(list(x.slice(1, 0, 4, 2)) == std::vector<double>{0, 2, 4, 6, 8, 10});
  const Tensor ids = Tensor::of({2, 0}, Dtype::i64);
  CHECK(list(x.index({ids, 1})) == std::vector<double>{9, 1});
  CHECK(list(x.index({gt(x, 9)})) == std::vector<double>{10, 11});
  CHECK(code_of([&] { x[3]; }) == "E_INDEX");
  CHECK(code_of([&] { x.index({0, 0, 0}); }) == "E_INDEX");
  CHECK(code_of([&] { x.index({Slice{0, 2, 0}}); }) == "E_ARG");
  CHECK(code_of([&] { x.index({Tensor::of({0.5})}); }) == "E_DTYPE");
}

TEST_CASE("an index can be written to") {
  const Tensor x = zeros({2, 3});
  x.index_put_({0, Slice{1, {}}}, 5);
  x.index_put_({1}, Tensor::of({1, 2, 3}));
  CHECK(list(x) == std::vector<double>{0, 5, 5, 1, 2, 3});
  x.index_put_({eq(x, 5)}, -1);
  CHECK(list(x) == std::vector<double>{0, -1, -1, 1, 2, 3});
  x[1].copy_(0);
  CHECK(list(x) == std::vector<double>{0, -1, -1, 0, 0, 0});
}

TEST_CASE("views look at the same memory") {
  const Tensor x = Tensor::of({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(x.transpose().shape() == Shape{3, 2});
  CHECK(x.transpose().data<float>() == x.data<float>());
  CHECK(list(x.permute({1, 0})) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK_FALSE(x.transpose().is_contiguous());
  CHECK(x.transpose().contiguous().data<float>() != x.data<float>());
  CHECK(x.reshape({3, -1}).shape() == Shape{3, 2});
  CHECK(x.unsqueeze(0).squeeze(0).shape() == x.shape());
  CHECK(code_of([&] { (void)x.reshape({4}); }) == "E_SHAPE");
}

TEST_CASE("devices and dtypes have names") {
  CHECK(Device("cpu:1") == Device(Device::Type::cpu, 1));
  CHECK(to_string(Device("meta")) == "meta");
  CHECK(code_of([] { Device("gpu"); }) == "E_ARG");
  CHECK(code_of([] { Device("cuda:63"); }) == "E_NO_DEVICE");
  CHECK(name(parse_dtype("float32")) == "f32");
  CHECK(code_of([] { parse_dtype("f33"); }) == "E_DTYPE");
  const Tensor x = Tensor::of({1, 2}).to("cpu:1");
  CHECK(x.device() == Device("cpu:1"));
  CHECK(code_of([&] { (void)(x + Tensor::of({1, 2})); }) == "E_DEVICE_MISMATCH");
  set_default_dtype(Dtype::f64);
  CHECK(Tensor::of({1}).dtype() == Dtype::f64);
  set_default_dtype(Dtype::f32);
  CHECK(code_of([] { set_default_dtype(Dtype::i32); }) == "E_DTYPE");
}

TEST_CASE("narrow floats are for storage") {
  const Tensor x = Tensor::of({1, 0.3, -500}).to(Dtype::f8_e4m3);
  CHECK(list(x.to(Dtype::f32)) == std::vector<double>{1, 0.3125, -448});
  CHECK(name(parse_dtype("float8_e4m3fn")) == "f8_e4m3");
  CHECK(size_of(Dtype::f8_e5m2) == 1);
  CHECK(code_of([&] { (void)(x + x); }) == "E_F8_NEEDS_SCALED");
  CHECK(code_of([&] { (void)(x + Tensor::of({1, 2, 3})); }) == "E_F8_PROMOTE");
  const Tensor p = zeros({2, 3}, {.dtype = Dtype::f4_e2m1});
  CHECK(p.nbytes() == 3);
  p.index_put_({1, 0}, 1.5);
  CHECK(p.index({1, 0}).item<float>() == 1.5f);
  CHECK(p.index({1, 1}).item<float>() == 0);
  CHECK(code_of([&] { (void)p[1]; }) == "E_PACKED_VIEW");
  CHECK(code_of([] { set_default_dtype(Dtype::f8_e4m3); }) == "E_DTYPE");
}

TEST_CASE("errors tell the op, the arguments and what to do") {
  const Error e = refused([] { matmul(ones({2, 3}), ones({4, 5})); });
  CHECK(e.kind == ErrorKind::shape);
  CHECK(e.code == "E_SHAPE");
  CHECK(e.op == "matmul");
  CHECK(std::string(e.what()) == "matmul: " + e.message);
  REQUIRE(e.facts.size() == 2);
  CHECK(e.facts[0].find("f32[2, 3]") != std::string::npos);
  CHECK(e.facts[1].find("f32[4, 5]") != std::string::npos);
  CHECK(e.report().find(e.facts[1]) != std::string::npos);
}

TEST_CASE("errors say how they count") {
  const Tensor x = ones({2, 3});
  const Error ours = refused([&] { x.index({0, 3}); });
  CHECK(ours.message == "position 3 is out of range for dim 1 of size 3");
  CHECK(ours.facts == std::vector<std::string>{"dims and positions count from 0"});
  const Error engines = refused([&] { select(x, 1, 3); });
  CHECK(engines.message == "position 4 is out of range for dim 2 of size 3");
  REQUIRE_FALSE(engines.facts.empty());
  CHECK(engines.facts.back() == "this text counts dims and positions from 1");
}

TEST_CASE("a result holds a value or an error") {
  const Result<int> good = 3;
  CHECK(good);
  CHECK(*good == 3);
  CHECK(code_of([&] { (void)good.error(); }) == "E_STATE");
  const Result<int> bad = Error(ErrorKind::argument, "E_ARG", "no", "yes");
  CHECK_FALSE(bad);
  CHECK(bad.error().hint == "yes");
  CHECK(code_of([&] { (void)*bad; }) == "E_ARG");
  Result nothing = Result<void>();
  CHECK(nothing);
  nothing = Error(ErrorKind::state, "E_STATE", "late");
  CHECK(code_of([&] { nothing.value(); }) == "E_STATE");
}

TEST_CASE("tensors print") {
  std::ostringstream out;
  out << Tensor::of({1, 2}) << ' ' << Dtype::bf16 << ' ' << Device("cpu:1");
  CHECK(out.str().find("f32[2]") != std::string::npos);
  CHECK(out.str().find("bf16 cpu:1") != std::string::npos);
}
