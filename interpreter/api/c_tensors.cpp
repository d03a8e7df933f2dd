// The C interface: tensors.
#include "interpreter/api/c_handles.h"
#include "rille/dlpack.h"
#include "rille/grad.hpp"

using rille::capi::copy_text, rille::capi::dtype_of, rille::capi::give, rille::capi::given,
    rille::capi::guarded, rille::capi::made, rille::capi::tensor_in;
using rille::v1::Error, rille::v1::ErrorKind, rille::v1::Shape, rille::v1::Tensor;

namespace {

Shape shape_of(size_t dims, const int64_t* shape) {
  return dims ? Shape(shape, &given(shape, "the shape") + dims) : Shape();
}

Tensor from_host(void* data, size_t dims, const int64_t* shape, const int64_t* strides,
                 rille_dtype dtype, bool read_only, rille_deleter deleter, void* userdata) {
  const Shape sizes = shape_of(dims, shape);
  const Shape steps = strides ? Shape(strides, strides + dims) : Shape();
  std::function<void(void*)> free;
  if (deleter) free = [deleter, userdata](void* p) { deleter(p, userdata); };
  return Tensor::from_host(data, sizes, steps, dtype_of(dtype), std::move(free), read_only);
}

void copy_list(const Shape& list, int64_t* out) {
  if (!list.empty()) std::memcpy(&given(out, "the place"), list.data(), list.size() * sizeof *out);
}

}  // namespace

// The handle is made first: once the memory is taken, nothing may fail.
rille_status rille_tensor_from_host(void* data, size_t dims, const int64_t* shape,
                                    const int64_t* strides, rille_dtype dtype, int read_only,
                                    rille_deleter deleter, void* userdata, rille_tensor** out,
                                    rille_error** error) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the tensor");
    auto handle = std::make_unique<rille_tensor>();
    handle->tensor =
        from_host(data, dims, shape, strides, dtype, read_only != 0, deleter, userdata);
    place = handle.release();
  });
}

rille_status rille_tensor_from_dlpack(void* managed, rille_tensor** out, rille_error** error) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the tensor");
    auto* from = &given(static_cast<DLManagedTensorVersioned*>(managed), "the DLPack tensor");
    auto handle = std::make_unique<rille_tensor>();
    handle->tensor = Tensor::from_dlpack(from);
    place = handle.release();
  });
}
rille_status rille_tensor_from_dlpack_legacy(void* managed, rille_tensor** out,
                                             rille_error** error) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the tensor");
    auto* from = &given(static_cast<DLManagedTensor*>(managed), "the DLPack tensor");
    auto handle = std::make_unique<rille_tensor>();
    handle->tensor = Tensor::from_dlpack(from);
    place = handle.release();
  });
}
rille_status rille_tensor_to_dlpack(const rille_tensor* tensor, void** managed,
                                    rille_error** error) {
  return guarded(error,
                 [&] { given(managed, "the place for it") = tensor_in(tensor).to_dlpack(); });
}
rille_status rille_tensor_to_dlpack_legacy(const rille_tensor* tensor, void** managed,
                                           rille_error** error) {
  return guarded(
      error, [&] { given(managed, "the place for it") = tensor_in(tensor).to_dlpack_legacy(); });
}

rille_tensor* rille_tensor_copy(const rille_tensor* tensor) {
  return made([&] { return tensor ? new rille_tensor{tensor->tensor} : nullptr; });
}
void rille_tensor_delete(rille_tensor* tensor) { delete tensor; }

// An empty handle is never given to a host: these can't fail but for NULL.
size_t rille_tensor_dims(const rille_tensor* t) {
  return t ? static_cast<size_t>(t->tensor.dim()) : 0;
}
rille_dtype rille_tensor_dtype(const rille_tensor* t) {
  return t ? static_cast<rille_dtype>(t->tensor.dtype()) : -1;
}
int64_t rille_tensor_numel(const rille_tensor* t) { return t ? t->tensor.numel() : 0; }
int64_t rille_tensor_nbytes(const rille_tensor* t) { return t ? t->tensor.nbytes() : 0; }

rille_status rille_tensor_shape(const rille_tensor* t, int64_t* out, rille_error** error) {
  return guarded(error, [&] { copy_list(tensor_in(t).shape(), out); });
}
rille_status rille_tensor_strides(const rille_tensor* t, int64_t* out, rille_error** error) {
  return guarded(error, [&] { copy_list(tensor_in(t).strides(), out); });
}
rille_status rille_tensor_device(const rille_tensor* t, char* out, size_t size,
                                 rille_error** error) {
  return guarded(error,
                 [&] { copy_text(to_string(tensor_in(t).device()), out, size, "the device"); });
}
rille_status rille_tensor_data(const rille_tensor* t, const void** out, rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = tensor_in(t).raw_const_data(); });
}
rille_status rille_tensor_mutable_data(rille_tensor* t, void** out, rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = tensor_in(t).raw_data(); });
}
rille_status rille_tensor_item(const rille_tensor* t, double* out, rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = tensor_in(t).item<double>(); });
}
rille_status rille_tensor_item_integer(const rille_tensor* t, int64_t* out, rille_error** error) {
  return guarded(error, [&] { given(out, "the place") = tensor_in(t).item<int64_t>(); });
}

rille_status rille_tensor_of(const void* values, size_t dims, const int64_t* shape,
                             rille_dtype dtype, rille_tensor** out, rille_error** error) {
  return give(out, error, [&] {
    const rille::v1::NoGrad quiet;
    return Tensor::from_host(const_cast<void*>(values), shape_of(dims, shape), {}, dtype_of(dtype),
                             {}, true)
        .clone();
  });
}
rille_status rille_tensor_read(const rille_tensor* t, rille_dtype dtype, void* out, size_t count,
                               rille_error** error) {
  return guarded(error, [&] {
    const Tensor& from = tensor_in(t);
    if (static_cast<size_t>(from.numel()) != count)
      throw Error(ErrorKind::argument, "E_ARG",
                  "the tensor has " + std::to_string(from.numel()) + " elements, the place " +
                      std::to_string(count));
    const rille::v1::NoGrad quiet;
    const Tensor dense = from.to(rille::v1::Device()).to(dtype_of(dtype)).contiguous();
    const void* data = dense.raw_const_data();
    if (count)
      std::memcpy(&given(static_cast<char*>(out), "the place"), data,
                  static_cast<size_t>(dense.nbytes()));
  });
}
int rille_tensor_is_contiguous(const rille_tensor* t) { return t && t->tensor.is_contiguous(); }
int rille_tensor_is_read_only(const rille_tensor* t) { return t && t->tensor.is_read_only(); }
int rille_tensor_is(const rille_tensor* a, const rille_tensor* b) {
  return a && b && a->tensor.is(b->tensor);
}
rille_status rille_tensor_to_device(const rille_tensor* t, const char* device, rille_tensor** out,
                                    rille_error** error) {
  return give(out, error, [&] {
    return tensor_in(t).to(rille::v1::Device(rille::capi::text(device, "the device")));
  });
}
rille_status rille_tensor_to_dtype(const rille_tensor* t, rille_dtype dtype, rille_tensor** out,
                                   rille_error** error) {
  return give(out, error, [&] { return tensor_in(t).to(dtype_of(dtype)); });
}
rille_status rille_tensor_text(const rille_tensor* t, rille_value** out, rille_error** error) {
  return give(out, error, [&] { return rille::v1::Value(to_string(tensor_in(t))); });
}
