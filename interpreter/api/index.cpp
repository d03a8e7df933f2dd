// x.index(...) on both sides of an assignment: positions and slices together make one view; ids and
// masks are applied to it. Scripts have their own reader (bind/index.cpp), which counts from 1.
#include "ops/index.h"

#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "ops/cast.h"
#include "ops/scatter.h"
#include "ops/strided.h"

namespace rille::api {
namespace {

struct Look {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
  std::vector<Tensor> ids;  // masks and ids, by ...
  Axes id_dims;             // ... the dim of the look that they apply to
};

class Builder {
 public:
  explicit Builder(const Tensor& t) : t_(t) { look_.offset = t.offset(); }

  void add(const v1::Index& i) {
    switch (i.kind()) {
      case v1::Index::Kind::position: return position(i.position());
      case v1::Index::Kind::slice: return slice(i.slice());
      case v1::Index::Kind::tensor: return tensor(tensor_of(i.tensor()));
    }
  }
  void keep() { slice({}); }
  int dim() const { return dim_; }

  Look finish() {
    while (dim_ < t_.rank()) keep();
    return std::move(look_);
  }

 private:
  int64_t size() {
    if (dim_ >= t_.rank())
      throw index_error("more than {} entries for a tensor of {} dim{}", dim_, t_.rank(),
                        t_.rank() == 1 ? "" : "s")
          .fact(std::string(kCountsFromZero));
    return t_.shape()[dim_];
  }

  void position(int64_t p) {
    const int64_t n = size(), at = p < 0 ? p + n : p;
    if (at < 0 || at >= n)
      throw index_error("position {} is out of range for dim {} of size {}", p, dim_, n)
          .fact(std::string(kCountsFromZero));
    look_.offset += at * t_.strides()[dim_++];
  }

  void slice(const v1::Slice& s) {
    const int64_t n = size(), stride = t_.strides()[dim_];
    if (s.step < 1)
      throw arg_error("a slice's step must be at least 1, got {}", s.step)
          .hint("flip turns a dim round");
    const auto from_start = [&](int64_t p) { return std::clamp<int64_t>(p < 0 ? p + n : p, 0, n); };
    const int64_t start = from_start(s.start.value_or(0)), stop = from_start(s.stop.value_or(n));
    const int64_t step = std::min(s.step, std::max<int64_t>(n, 1));  // a longer one meets no more
    const int64_t count = std::max<int64_t>(0, (stop - start + step - 1) / step);
    if (count) look_.offset += start * stride;  // an empty look stays inside of its memory
    look_.shape.push_back(count);
    look_.strides.push_back(stride * step);
    ++dim_;
  }

  // A mask of several dims covers as many; ids cover one.
  void tensor(const Tensor& i) {
    const bool mask = i.dtype() == DType::boolean;
    if (category(i.dtype()) == Category::floating)
      throw dtype_error("a tensor index must hold integers (ids from 0) or booleans, got {}",
                        name(i.dtype()));
    look_.ids.push_back(i);
    look_.id_dims.all = false;
    look_.id_dims.list.push_back(look_.shape.size());
    const int covered = mask ? std::max(i.rank(), 1) : 1;
    for (int k = 0; k < covered; ++k) keep();
  }

  const Tensor& t_;
  int dim_ = 0;
  Look look_;
};

Look look_at(const Tensor& t, const std::vector<v1::Index>& at) {
  Builder b(t);
  for (const v1::Index& i : at) b.add(i);
  return b.finish();
}

Tensor view_of(const Tensor& t, const Look& look) {
  if (look.offset == t.offset() && look.shape == t.shape()) return t;
  // One element of a packed tensor shares its byte: what is read is a copy.
  if (t.is_packed() && look.shape.empty()) return clone(t.alias({}, {}, look.offset));
  return call<AsStrided>(
      {.x = t, .size = Sizes(look.shape), .strides = Sizes(look.strides), .offset = look.offset});
}

// The place that is written to. Packed elements are written one by one: unlike a view, it may begin
// and end inside a byte.
Tensor place_of(const Tensor& t, const Look& look) {
  return t.is_packed() ? t.alias(look.shape, look.strides, look.offset) : view_of(t, look);
}

v1::Tensor index(const v1::Tensor& self, const std::vector<v1::Index>& at) {
  return guarded("index", [&] {
    const Tensor t = tensor_of(self);
    const Look look = look_at(t, at);
    const Tensor v = view_of(t, look);
    if (look.ids.empty()) return handle_of(v);
    return handle_of(call<Index>({.x = v, .indices = look.ids, .dims = look.id_dims}));
  });
}

}  // namespace
}  // namespace rille::api

namespace rille::v1 {

using api::guarded, api::tensor_of;

Tensor Tensor::index(const std::vector<Index>& at) const { return api::index(*this, at); }
Tensor Tensor::operator[](int64_t position) const { return api::index(*this, {position}); }

Tensor Tensor::slice(int64_t dim, int64_t start, int64_t stop, int64_t step) const {
  return guarded("slice", [&] {
    const int at = axis(dim, tensor_of(*this).rank());
    std::vector<Index> list(static_cast<size_t>(at), Slice{});
    list.emplace_back(Slice{start, stop, step});
    return api::index(*this, list);
  });
}

const Tensor& Tensor::index_put_(const std::vector<Index>& at, const Operand& value) const {
  guarded("index_put_", [&] {
    const rille::Tensor t = tensor_of(*this), source = tensor_of(value.tensor());
    const api::Look look = api::look_at(t, at);
    const rille::Tensor v = api::place_of(t, look);
    if (look.ids.empty()) return rille::copy_(v, source);
    call_<IndexPut>({.x = v, .indices = look.ids, .source = source, .dims = look.id_dims});
  });
  return *this;
}

}  // namespace rille::v1
