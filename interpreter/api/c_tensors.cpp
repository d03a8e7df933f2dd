// The C interface: tensors.
#include <cstring>

#include "interpreter/api/c_handles.h"
#include "rille/dlpack.h"

using rille::capi::given, rille::capi::guarded, rille::capi::made;
using rille::v1::Dtype, rille::v1::Error, rille::v1::ErrorKind, rille::v1::Shape, rille::v1::Tensor;

static_assert(static_cast<int>(Dtype::f64) == RILLE_F64 &&
              static_cast<int>(Dtype::boolean) == RILLE_BOOL);

namespace {

Dtype dtype_of(rille_dtype dtype) {
  if (dtype < RILLE_F64 || dtype > RILLE_BOOL)
    throw Error(ErrorKind::dtype, "E_DTYPE", std::to_string(dtype) + " is no dtype",
                "RILLE_F64 to RILLE_BOOL are");
  return static_cast<Dtype>(dtype);
}

const Tensor& tensor_in(const rille_tensor* t) { return given(t, "the tensor").tensor; }

// Runs `f`, whose tensor becomes a handle in *out.
template <class F>
rille_status give(rille_tensor** out, rille_error** error, F&& f) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the tensor");
    place = new rille_tensor{f()};
  });
}

Tensor from_host(void* data, size_t dims, const int64_t* shape, const int64_t* strides,
                 rille_dtype dtype, bool read_only, rille_deleter deleter, void* userdata) {
  const Shape sizes = dims ? Shape(shape, &given(shape, "the shape") + dims) : Shape();
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

rille_status rille_tensor_shape(const rille_tensor* t, int64_t* out, rille_error** error) {
  return guarded(error, [&] { copy_list(tensor_in(t).shape(), out); });
}
rille_status rille_tensor_strides(const rille_tensor* t, int64_t* out, rille_error** error) {
  return guarded(error, [&] { copy_list(tensor_in(t).strides(), out); });
}
rille_status rille_tensor_device(const rille_tensor* t, char* out, size_t size,
                                 rille_error** error) {
  return guarded(error, [&] {
    const std::string text = to_string(tensor_in(t).device());
    if (text.size() >= size)
      throw Error(ErrorKind::argument, "E_ARG",
                  "the device needs " + std::to_string(text.size() + 1) + " bytes");
    std::memcpy(&given(out, "the place"), text.c_str(), text.size() + 1);
  });
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
rille_status rille_tensor_set_requires_grad(rille_tensor* t, int on, rille_error** error) {
  return guarded(error, [&] { tensor_in(t).requires_grad_(on != 0); });
}
rille_status rille_tensor_backward(rille_tensor* t, rille_error** error) {
  return guarded(error, [&] { tensor_in(t).backward(); });
}
rille_status rille_tensor_grad(const rille_tensor* t, rille_tensor** out, rille_error** error) {
  return guarded(error, [&] {
    rille_tensor*& place = given(out, "the place for the gradient");
    Tensor grad = tensor_in(t).grad();
    place = grad ? new rille_tensor{std::move(grad)} : nullptr;
  });
}
