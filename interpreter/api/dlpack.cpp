// Tensors from and to other engines of the same process, without a copy. Who takes a struct calls
// its deleter once: for one that came, when nothing looks at its memory any more.
#include "rille/dlpack.h"

#include "autograd/node.h"
#include "core/fail.h"
#include "interpreter/api/host_memory.h"

namespace rille::api {
namespace {

struct Format {
  DType dtype;
  uint8_t code, bits;
};
constexpr Format kFormats[] = {{DType::f64, kDLFloat, 64},
                               {DType::f32, kDLFloat, 32},
                               {DType::f16, kDLFloat, 16},
                               {DType::bf16, kDLBfloat, 16},
                               {DType::i64, kDLInt, 64},
                               {DType::i32, kDLInt, 32},
                               {DType::i16, kDLInt, 16},
                               {DType::i8, kDLInt, 8},
                               {DType::u8, kDLUInt, 8},
                               {DType::boolean, kDLBool, 8},
                               {DType::f8_e4m3, kDLFloat8_e4m3fn, 8},
                               {DType::f8_e5m2, kDLFloat8_e5m2, 8},
                               {DType::f8_e8m0, kDLFloat8_e8m0fnu, 8},
                               {DType::f8_e4m3fnuz, kDLFloat8_e4m3fnuz, 8},
                               {DType::f8_e5m2fnuz, kDLFloat8_e5m2fnuz, 8},
                               {DType::f6_e3m2, kDLFloat6_e3m2fn, 6},
                               {DType::f6_e2m3, kDLFloat6_e2m3fn, 6},
                               {DType::f4_e2m1, kDLFloat4_e2m1fn, 4}};

DType dtype_of(DLDataType given) {
  for (const Format& f : kFormats)
    if (f.code == given.code && f.bits == given.bits && given.lanes == 1) return f.dtype;
  throw dtype_error("there is no dtype for DLPack's code {}, {} bits, {} lane{}", given.code,
                    given.bits, given.lanes, given.lanes == 1 ? "" : "s");
}

HostBlock block_of(const DLTensor& d) {
  if (d.device.device_type != kDLCPU)
    throw fail(Kind::device, "E_NO_DEVICE",
               "the tensor is on DLPack's device {} (available: 1, the CPU)",
               static_cast<int>(d.device.device_type));
  if (d.ndim < 0 || (d.ndim > 0 && !d.shape)) throw arg_error("the struct has no shape");
  HostBlock b;
  b.dtype = dtype_of(d.dtype);
  b.data = d.data ? static_cast<char*>(d.data) + d.byte_offset : nullptr;
  b.shape = Shape(d.shape, d.shape + d.ndim);
  checked_numel(b.shape, size_of(b.dtype));
  b.strides = d.strides ? Strides(d.strides, d.strides + d.ndim) : contiguous_strides(b.shape);
  // Engines may write anything where a dim has one element at most; it is never used.
  for (int i = 0; i < b.shape.size(); ++i)
    if (b.shape[i] <= 1 && b.strides[i] < 0) b.strides[i] = 1;
  return b;
}

template <class Managed>
void release(void* p) {
  auto* managed = static_cast<Managed*>(p);
  if (managed->deleter) managed->deleter(managed);
}

// The struct, and what its pointers lead to.
template <class Managed>
struct Export {
  Managed managed{};
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

template <class Managed>
Managed* export_tensor(const Tensor& t) {
  if (t.is_meta()) throw fail(Kind::device, "E_NO_KERNEL", "a meta tensor has no values");
  if (autograd::requires_grad(t) || t.needs_grad())
    throw fail(Kind::state, "E_STATE", "gradients can't follow a tensor to another engine")
        .hint("t.detach() has none");
  auto e = std::make_unique<Export<Managed>>();
  e->tensor = t;
  e->shape = list_of(t.shape());
  e->strides = list_of(t.strides());
  DLTensor& d = e->managed.dl_tensor;
  d.data = t.data();
  d.device.device_type = kDLCPU;
  d.ndim = t.rank();
  for (const Format& f : kFormats)
    if (f.dtype == t.dtype()) d.dtype = {f.code, f.bits, 1};
  d.shape = e->shape.data();
  d.strides = e->strides.data();
  e->managed.manager_ctx = e.get();
  e->managed.deleter = [](Managed* m) { delete static_cast<Export<Managed>*>(m->manager_ctx); };
  return &e.release()->managed;
}

}  // namespace
}  // namespace rille::api

namespace rille::v1 {

using api::guarded;

Tensor Tensor::from_dlpack(DLManagedTensorVersioned* managed) {
  return guarded("from_dlpack", [&] {
    if (!managed) throw arg_error("the struct is null");
    if (managed->version.major != DLPACK_MAJOR_VERSION)
      throw arg_error("the struct is of DLPack {}.{}; versions {}.x are read",
                      managed->version.major, managed->version.minor, DLPACK_MAJOR_VERSION);
    api::HostBlock block = api::block_of(managed->dl_tensor);
    if (is_packed(block.dtype) && (managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED))
      throw dtype_error("{} elements must share bytes, the struct has a byte for each",
                        rille::name(block.dtype));
    block.read_only = managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
    return api::handle_of(api::adopt(block, api::release<DLManagedTensorVersioned>, managed));
  });
}

Tensor Tensor::from_dlpack(DLManagedTensor* managed) {
  return guarded("from_dlpack", [&] {
    if (!managed) throw arg_error("the struct is null");
    const api::HostBlock block = api::block_of(managed->dl_tensor);
    return api::handle_of(api::adopt(block, api::release<DLManagedTensor>, managed));
  });
}

DLManagedTensorVersioned* Tensor::to_dlpack() const {
  return guarded("to_dlpack", [&] {
    const rille::Tensor t = api::tensor_of(*this);
    auto* m = api::export_tensor<DLManagedTensorVersioned>(t);
    m->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    if (t.storage()->read_only) m->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    return m;
  });
}

DLManagedTensor* Tensor::to_dlpack_legacy() const {
  return guarded("to_dlpack_legacy", [&] {
    const rille::Tensor t = api::tensor_of(*this);
    if (!t.is_meta() && t.storage()->read_only)
      throw fail(Kind::state, "E_READONLY",
                 "the struct without a version can't say that memory may only be read")
          .hint("to_dlpack() can; or export a clone");
    return api::export_tensor<DLManagedTensor>(t);
  });
}

}  // namespace rille::v1
