// What the functions of ops.hpp and the layers of layers.hpp take besides tensors and numbers, and
// how they hand it to the engine.
#pragma once
#include <array>
#include <initializer_list>

#include "rille/tensor.hpp"

namespace rille::RILLE_V1 {

/// Dims, or all of them where none is given.
struct Axes {
  Shape list = {};
  bool all = true;
  Axes() = default;
  Axes(int64_t dim) : list{dim}, all(false) {}
  Axes(std::initializer_list<int64_t> dims) : list(dims), all(false) {}
  Axes(Shape dims) : list(std::move(dims)), all(false) {}
};

/// One integer for every dim that an op works along, or one each.
struct PerDim {
  Shape list = {};
  PerDim() = default;
  PerDim(int64_t every) : list{every} {}
  PerDim(std::initializer_list<int64_t> each) : list(each) {}
  PerDim(Shape each) : list(std::move(each)) {}
};

/// One integer, or a list of any length.
using Counts = PerDim;

/// What stands around an image: as in PerDim, or "same" or "valid".
struct Padding : PerDim {
  using PerDim::PerDim;
  template <class T>
  requires std::is_convertible_v<T, std::string_view> Padding(const T& how) : word(how) {}
  std::string word = {};
};

/// Random numbers of one's own. Its whole state is these two.
struct Generator {
  uint64_t seed = 0;
  uint64_t next = 0;
};

namespace detail {

/// An op, the options of a layer, or what the layer's forward takes: names and kinds of fields.
struct Schema;
RILLE_API const Schema& op_schema(const char* name);
RILLE_API const Schema& layer_options(const char* name);
RILLE_API const Schema& layer_inputs(const char* name);

/// The arguments of one call, put one after another in the order of the schema. Throws E_INTERNAL
/// where headers and library are of two versions.
class RILLE_API Arguments {
 public:
  explicit Arguments(const Schema& schema);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments();

  Arguments& put(const Tensor& v);  // where it may be left out: empty
  Arguments& put(const Operand& v);
  Arguments& put(const std::optional<Operand>& v);
  Arguments& put(const std::vector<Tensor>& v);
  Arguments& put(double v);
  Arguments& put(std::optional<double> v);
  Arguments& put(const std::vector<double>& v);
  Arguments& put(int64_t v);
  Arguments& put(std::optional<int64_t> v);
  Arguments& put(bool v);
  Arguments& put(std::string_view v);
  Arguments& put(const std::string& v) { return put(std::string_view(v)); }
  Arguments& put(Dtype v);
  Arguments& put(std::optional<Dtype> v);
  Arguments& put(std::optional<Device> v);
  Arguments& put(const Axes& v);
  Arguments& put(const Shape& v);
  Arguments& put(const std::optional<Shape>& v);
  Arguments& put(const PerDim& v);
  Arguments& put(const Padding& v);
  Arguments& put(Generator* v);
  Arguments& skip();  // the next one has its default

  const Schema& schema() const { return schema_; }
  const void* values() const { return values_; }

 private:
  const Schema& schema_;
  void* values_ = nullptr;
  size_t next_ = 0;
};

/// Runs an op: its results, one by one, go to `out`, of which there must be as many.
RILLE_API void call(const Arguments& a, Tensor* out, size_t count);
RILLE_API std::vector<Tensor> call_list(const Arguments& a);
/// The result, written into the first argument.
RILLE_API Tensor call_in_place(const Arguments& a);

inline Tensor call_one(const Arguments& a) {
  Tensor y;
  call(a, &y, 1);
  return y;
}
template <size_t N>
std::array<Tensor, N> call_several(const Arguments& a) {
  std::array<Tensor, N> y;
  call(a, y.data(), N);
  return y;
}

}  // namespace detail
}  // namespace rille::RILLE_V1
