// Tensors from and to other engines, by the layout that DLPack's specification gives.
#include "rille/dlpack.h"

#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

namespace {

// Another engine's side of the exchange.
template <class Managed>
struct Foreign {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  int deleted = 0;
  Managed managed{};

  Foreign() {
    DLTensor& d = managed.dl_tensor;
    d.data = values.data();
    d.device = {kDLCPU, 0};
    d.ndim = 2;
    d.dtype = {kDLFloat, 32, 1};
    d.shape = shape;
    d.strides = strides;
    managed.manager_ctx = this;
    managed.deleter = [](Managed* m) { ++static_cast<Foreign*>(m->manager_ctx)->deleted; };
    if constexpr (requires { managed.version; }) managed.version = {1, 0};
  }
};

}  // namespace

TEST_CASE("the structs have the layout of the specification") {
  CHECK(sizeof(DLTensor) == 48);
  CHECK(offsetof(DLTensor, device) == 8);
  CHECK(offsetof(DLTensor, ndim) == 16);
  CHECK(offsetof(DLTensor, dtype) == 20);
  CHECK(offsetof(DLTensor, shape) == 24);
  CHECK(offsetof(DLTensor, strides) == 32);
  CHECK(offsetof(DLTensor, byte_offset) == 40);
  CHECK(offsetof(DLManagedTensor, manager_ctx) == 48);
  CHECK(sizeof(DLManagedTensor) == 64);
  CHECK(offsetof(DLManagedTensorVersioned, manager_ctx) == 8);
  CHECK(offsetof(DLManagedTensorVersioned, deleter) == 16);
  CHECK(offsetof(DLManagedTensorVersioned, flags) == 24);
  CHECK(offsetof(DLManagedTensorVersioned, dl_tensor) == 32);
  CHECK(sizeof(DLManagedTensorVersioned) == 80);
}

TEMPLATE_TEST_CASE("what comes is shared and given back once", "", DLManagedTensor,
                   DLManagedTensorVersioned) {
  Foreign<TestType> f;
  {
    Tensor view;
    {
      const Tensor t = Tensor::from_dlpack(&f.managed);
      CHECK(t.data<float>() == f.values.data());
      CHECK(t.shape() == Shape{2, 3});
      view = t[1];
    }
    CHECK(f.deleted == 0);
    view += 10;
    CHECK(f.values == std::vector<float>{1, 2, 3, 14, 15, 16});
  }
  CHECK(f.deleted == 1);
}

TEST_CASE("offsets and missing strides are understood") {
  Foreign<DLManagedTensor> f;
  f.managed.dl_tensor.byte_offset = 2 * sizeof(float);
  f.managed.dl_tensor.strides = nullptr;
  f.shape[0] = f.shape[1] = 2;
  CHECK(list(Tensor::from_dlpack(&f.managed)) == std::vector<double>{3, 4, 5, 6});
}

TEST_CASE("what cannot be taken stays the other's") {
  using F = Foreign<DLManagedTensorVersioned>;
  const auto code = [](auto&& change) {
    F f;
    change(f);
    const std::string c = code_of([&] { Tensor::from_dlpack(&f.managed); });
    CHECK(f.deleted == 0);
    return c;
  };
  CHECK(code([](F& f) { f.managed.version.major = 2; }) == "E_ARG");
  CHECK(code([](F& f) { f.managed.dl_tensor.device.device_type = kDLCUDA; }) == "E_NO_DEVICE");
  CHECK(code([](F& f) { f.managed.dl_tensor.dtype.code = kDLComplex; }) == "E_DTYPE");
  CHECK(code([](F& f) { f.managed.dl_tensor.dtype.lanes = 4; }) == "E_DTYPE");
  CHECK(code([](F& f) { f.managed.dl_tensor.dtype = {kDLUInt, 32, 1}; }) == "E_DTYPE");
  CHECK(code([](F& f) { f.strides[0] = -3; }) == "E_ARG");
  CHECK(code([](F& f) { f.managed.dl_tensor.byte_offset = 2; }) == "E_ARG");
  CHECK(code([](F& f) { f.shape[0] = -2; }) == "E_SHAPE");
  CHECK(code([](F& f) { f.managed.dl_tensor.data = nullptr; }) == "E_ARG");
}

TEST_CASE("read-only travels both ways") {
  Foreign<DLManagedTensorVersioned> f;
  f.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  const Tensor t = Tensor::from_dlpack(&f.managed);
  CHECK(code_of([&] { t += 1; }) == "E_READONLY");
  CHECK(code_of([&] { t.to_dlpack_legacy(); }) == "E_READONLY");
  DLManagedTensorVersioned* out = t.to_dlpack();
  CHECK(out->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  out->deleter(out);
}

TEST_CASE("what goes keeps its memory until the other is done") {
  DLManagedTensorVersioned* out = nullptr;
  {
    const Tensor t = Tensor::of({1, 2, 3, 4, 5, 6}, {2, 3}).transpose();
    out = t.to_dlpack();
    CHECK(out->dl_tensor.data == t.data<float>());
  }
  CHECK(out->version.major == 1);
  CHECK(out->flags == 0);
  const DLTensor& d = out->dl_tensor;
  CHECK(d.ndim == 2);
  CHECK((d.shape[0] == 3 && d.shape[1] == 2));
  CHECK((d.strides[0] == 1 && d.strides[1] == 3));
  CHECK(static_cast<const float*>(d.data)[5] == 6);
  out->deleter(out);
}

TEST_CASE("every dtype has its code") {
  const auto round = [](Dtype dtype, int code, int bits) {
    DLManagedTensor* out = Tensor::of({0, 1}, dtype).to_dlpack_legacy();
    CHECK(out->dl_tensor.dtype.code == code);
    CHECK(out->dl_tensor.dtype.bits == bits);
    CHECK(Tensor::from_dlpack(out).dtype() == dtype);
  };
  round(Dtype::f64, kDLFloat, 64);
  round(Dtype::f32, kDLFloat, 32);
  round(Dtype::f16, kDLFloat, 16);
  round(Dtype::bf16, kDLBfloat, 16);
  round(Dtype::i64, kDLInt, 64);
  round(Dtype::i32, kDLInt, 32);
  round(Dtype::i16, kDLInt, 16);
  round(Dtype::i8, kDLInt, 8);
  round(Dtype::u8, kDLUInt, 8);
  round(Dtype::boolean, kDLBool, 8);
  round(Dtype::f8_e4m3, kDLFloat8_e4m3fn, 8);
  round(Dtype::f8_e5m2, kDLFloat8_e5m2, 8);
  round(Dtype::f8_e8m0, kDLFloat8_e8m0fnu, 8);
  round(Dtype::f8_e4m3fnuz, kDLFloat8_e4m3fnuz, 8);
  round(Dtype::f8_e5m2fnuz, kDLFloat8_e5m2fnuz, 8);
  round(Dtype::f6_e3m2, kDLFloat6_e3m2fn, 6);
  round(Dtype::f6_e2m3, kDLFloat6_e2m3fn, 6);
  round(Dtype::f4_e2m1, kDLFloat4_e2m1fn, 4);
}

TEST_CASE("four bits travel two to a byte, the first lower") {
  uint8_t bytes[] = {0x21, 0x43, 0x65};  // 0.5 1 1.5 2 3 4
  int64_t shape[] = {6};
  DLManagedTensorVersioned m{};
  m.version = {1, 1};
  m.dl_tensor = {bytes, {kDLCPU, 0}, 1, {kDLFloat4_e2m1fn, 4, 1}, shape, nullptr, 0};
  m.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  CHECK(code_of([&] { Tensor::from_dlpack(&m); }) == "E_DTYPE");
  m.flags = 0;
  const Tensor t = Tensor::from_dlpack(&m);
  CHECK(t.nbytes() == 3);
  CHECK(list(t.to(Dtype::f32)) == std::vector<double>{.5, 1, 1.5, 2, 3, 4});
  t.index_put_({1}, 6);
  CHECK(bytes[0] == 0x71);
}

TEST_CASE("gradients are not lost by an exchange unseen") {
  const Tensor x = zeros({2}, {.requires_grad = true});
  CHECK(code_of([&] { x.to_dlpack(); }) == "E_STATE");
  CHECK(code_of([&] { (x * 2).to_dlpack(); }) == "E_STATE");
  DLManagedTensorVersioned* out = x.detach().to_dlpack();
  out->deleter(out);
  CHECK(code_of([] { zeros({2}, {.device = "meta"}).to_dlpack(); }) == "E_NO_KERNEL");
}
