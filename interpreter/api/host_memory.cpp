// Tensors over memory that somebody else owns.
#include "interpreter/api/host_memory.h"

#include "core/fail.h"
#include "core/storage.h"

namespace rille::api {
namespace {

// How far from the first element the last byte lies; 0 where there is none.
size_t extent(const Shape& shape, const Strides& strides, DType dtype) {
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    int64_t span = 0;
    if (strides[d] < 0)
      throw arg_error("the stride of dim {} is {}, but strides must not be negative", d, strides[d])
          .hint("copy the values into row-major order first");
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &span) ||
        __builtin_add_overflow(last, span, &last) || last > kMaxBytes)
      throw shape_error("strides {} lead out of every memory", to_string(strides));
  }
  return static_cast<size_t>(bytes_of(dtype, last + 1));
}

}  // namespace

Tensor adopt(const HostBlock& block, void (*release)(void*), void* context) {
  const size_t item = size_of(block.dtype);
  const int64_t n = checked_numel(block.shape, item);
  if (block.strides.size() != block.shape.size())
    throw shape_error("{} strides for {} dims", block.strides.size(), block.shape.size());
  const size_t bytes = extent(block.shape, block.strides, block.dtype);
  if (n && !block.data) throw arg_error("the address is null");
  if (reinterpret_cast<uintptr_t>(block.data) % item)
    throw arg_error("the address is no multiple of {} bytes, the size of {}", item,
                    name(block.dtype))
        .hint("copy the values to aligned memory");
  const auto nothing = [](void*) {};  // what is borrowed is not freed either
  StorageRef s = adopt_storage(block.data, bytes, nothing, nullptr);
  s->device = block.device;
  s->read_only = block.read_only;
  Tensor t(new TensorImpl);
  TensorImpl& i = *t.impl();
  i.dtype = block.dtype;
  i.device = block.device;
  i.numel = n;
  i.shape = block.shape;
  i.strides = block.strides;
  i.contiguous = is_contiguous(i.shape, i.strides);
  i.storage = s;
  if (release) {  // from here on nothing throws: the memory is ours
    s->release_context = context;
    s->release = release;
  }
  return t;
}

}  // namespace rille::api

namespace rille::v1 {

Tensor Tensor::from_host(void* data, const Shape& shape, const Shape& strides, Dtype dtype,
                         std::function<void(void*)> deleter, bool read_only) {
  return api::guarded("from_host", [&] {
    api::HostBlock block{
        .data = data, .shape = api::shape_of(shape), .dtype = api::dtype_of(dtype)};
    block.strides = strides.empty() && !shape.empty() ? contiguous_strides(block.shape)
                                                      : api::shape_of(strides);
    block.read_only = read_only;
    if (!deleter) return api::handle_of(api::adopt(block, nullptr, nullptr));
    struct Owner {
      std::function<void(void*)> deleter;
      void* data;
    };
    auto owner = std::make_unique<Owner>(Owner{std::move(deleter), data});
    const auto release = [](void* p) {
      const std::unique_ptr<Owner> last(static_cast<Owner*>(p));
      last->deleter(last->data);
    };
    rille::Tensor t = api::adopt(block, release, owner.get());
    (void)owner.release();
    return api::handle_of(std::move(t));
  });
}

}  // namespace rille::v1
