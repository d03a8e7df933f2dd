// Tensors: shapes over shared memory, with gradients. A Tensor is a handle: a copy looks at the
// same values, and `const` keeps the handle, not the values. Dims and positions count from 0,
// negative ones from the end; ranges end before their stop. What can be done with tensors beyond
// this page is in ops.hpp. All of it throws rille::Error; what a hook or a module of the host's own
// throws in the middle of it passes as it is.
#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "rille/error.hpp"
#include "rille/types.hpp"

struct DLManagedTensor;  // rille/dlpack.h, or DLPack's own header
struct DLManagedTensorVersioned;

namespace rille::RILLE_V1 {

namespace detail {
struct Access;  // the library's way into a handle
}
class Index;
class Operand;
struct BackwardOptions;

class RILLE_API Tensor {
 public:
  /// No tensor: false, and an error to use.
  Tensor() noexcept = default;
  Tensor(const Tensor& o) noexcept;
  Tensor(Tensor&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Tensor& operator=(const Tensor& o) noexcept {
    Tensor copy(o);
    std::swap(p_, copy.p_);
    return *this;
  }
  Tensor& operator=(Tensor&& o) noexcept {
    Tensor taken(std::move(o));
    std::swap(p_, taken.p_);
    return *this;
  }
  ~Tensor();

  // ---- making them ------------------------------------------------------------------------------

  /// One dim of values, rounded to `dtype` (default_dtype() if none is given).
  static Tensor of(std::initializer_list<double> values, std::optional<Dtype> dtype = {});
  /// Values row by row. Throws E_SHAPE where their number is not that of the shape.
  static Tensor of(std::initializer_list<double> values, const Shape& shape,
                   std::optional<Dtype> dtype = {});
  /// A copy of `values`, row by row; one dim where no shape is given.
  template <Element T>
  static Tensor of(std::span<const T> values, const Shape& shape) {
    return copy_of(values.data(), values.size(), shape, dtype_of<T>());
  }
  template <Element T>
  static Tensor of(std::span<const T> values) {
    return of(values, {static_cast<int64_t>(values.size())});
  }
  template <Element T>
  static Tensor of(const std::vector<T>& values, const Shape& shape) {
    return of(std::span<const T>(values), shape);
  }
  template <Element T>
  static Tensor of(const std::vector<T>& values) {
    return of(std::span<const T>(values));
  }
  /// A tensor of no dims.
  static Tensor scalar(double value, std::optional<Dtype> dtype = {});

  /// The host's memory, not copied. Strides count elements and are not negative; none means row by
  /// row. `deleter(data)` runs once, on whatever thread, when nothing looks at the memory any more;
  /// it must not throw. Without one the memory must outlive that moment. Writing in place to what
  /// is `read_only` throws E_READONLY. Throws E_ARG for an address that does not fit the dtype,
  /// E_SHAPE; the memory is the caller's then.
  static Tensor from_host(void* data, const Shape& shape, const Shape& strides = {},
                          Dtype dtype = Dtype::f32, std::function<void(void*)> deleter = {},
                          bool read_only = false);
  /// What another engine exports, not copied; its deleter runs once, when nothing looks at it any
  /// more. Throws E_DTYPE, E_NO_DEVICE, E_ARG for what cannot be taken; it is the caller's then.
  static Tensor from_dlpack(DLManagedTensorVersioned* managed);
  static Tensor from_dlpack(DLManagedTensor* managed);
  /// For other engines, not copied; they call its deleter. Throws E_STATE where a gradient would be
  /// lost, and E_READONLY where the older struct cannot say that memory may only be read.
  DLManagedTensorVersioned* to_dlpack() const;
  DLManagedTensor* to_dlpack_legacy() const;

  // ---- what they are ----------------------------------------------------------------------------

  explicit operator bool() const noexcept { return p_ != nullptr; }
  /// True for two handles of one tensor.
  bool is(const Tensor& o) const noexcept { return p_ == o.p_; }
  Shape shape() const;
  Shape strides() const;  // in elements
  int64_t size(int64_t at) const;
  int64_t dim() const;
  int64_t numel() const;
  /// What the elements take; those of f6 and f4 share bytes.
  int64_t nbytes() const;
  Dtype dtype() const;
  Device device() const;
  bool is_contiguous() const;
  bool is_read_only() const;

  // ---- their values -----------------------------------------------------------------------------

  /// The first element. Writes through it are not seen by the tape; `const T` only reads. Throws
  /// E_DTYPE if elements are no T, E_READONLY, E_NO_KERNEL on meta.
  template <class T>
  requires Element<std::remove_const_t<T>> T* data() const {
    return static_cast<T*>(memory(dtype_of<std::remove_const_t<T>>(), !std::is_const_v<T>));
  }
  /// The same of any dtype.
  void* raw_data() const;
  const void* raw_const_data() const;
  /// The only element, converted. Throws E_SHAPE if there are more.
  template <Element T>
  T item() const {
    if constexpr (std::is_same_v<T, bool>)
      return item_number() != 0;
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(item_number());
    else
      return static_cast<T>(item_integer());
  }
  /// All elements, row by row, converted.
  template <Element T>
  std::vector<T> to_vector() const {
    std::vector<T> out(static_cast<size_t>(numel()));
    if constexpr (std::is_same_v<T, bool>) {
      const auto bytes = std::make_unique<bool[]>(out.size());
      copy_to(bytes.get(), Dtype::boolean);
      out.assign(bytes.get(), bytes.get() + out.size());
    } else {
      copy_to(out.data(), dtype_of<T>());
    }
    return out;
  }

  // ---- other looks, copies ----------------------------------------------------------------------

  /// The tensor itself where it is so already, else a copy; gradients travel back.
  Tensor to(Device device) const;
  Tensor to(Dtype dtype) const;
  Tensor contiguous() const;
  Tensor clone() const;
  /// A view where strides allow, else a copy. One size may be -1.
  Tensor reshape(const Shape& shape) const;
  Tensor transpose(int64_t dim0 = -2, int64_t dim1 = -1) const;
  Tensor permute(const Shape& dims) const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;

  /// x[2]: what dim 0 holds there, as a view. Throws E_INDEX.
  Tensor operator[](int64_t position) const;
  /// x.index({0, Slice{1, 3}, ids}): one entry a dim, the rest whole. A view unless tensors (ids
  /// from 0, or a bool mask) are among them.
  Tensor index(const std::vector<Index>& at) const;
  /// x.index(at) = value. Throws E_READONLY, E_INPLACE.
  const Tensor& index_put_(const std::vector<Index>& at, const Operand& value) const;
  /// x[..., start:stop:step, ...]; cut off at the ends of the dim.
  Tensor slice(int64_t dim, int64_t start, int64_t stop, int64_t step = 1) const;
  /// Other values in the same memory; `source` is broadcast and converted.
  const Tensor& copy_(const Operand& source) const;

  // ---- gradients --------------------------------------------------------------------------------

  bool requires_grad() const;
  /// Makes a leaf want a gradient, or not. Throws E_DTYPE for non-floats, E_ARG for non-leaves.
  const Tensor& requires_grad_(bool on = true) const;
  bool is_leaf() const;
  /// Empty where there is none.
  Tensor grad() const;
  /// Throws E_SHAPE, E_GRAD_DTYPE, E_DEVICE_MISMATCH; an empty tensor takes the gradient away.
  void set_grad(const Tensor& gradient) const;
  /// Adds the gradients of this tensor of one element to .grad of the leaves it was made of.
  void backward() const;
  void backward(const BackwardOptions& options) const;
  /// The same values, outside of every graph.
  Tensor detach() const;
  /// Keeps the gradient of a tensor that is no leaf.
  void retain_grad() const;
  /// `hook` sees the complete gradient, and may give back another of its shape, dtype and device
  /// (else E_SHAPE, E_DEVICE_MISMATCH). What it throws leaves a backward of the host's as it is,
  /// and is E_HOST in a script that runs one. Returns a number for remove_hook.
  uint64_t register_hook(std::function<Tensor(const Tensor&)> hook) const;
  void remove_hook(uint64_t id) const;

  // ---- arithmetic, with broadcasting ------------------------------------------------------------

  Tensor operator-() const;
  friend RILLE_API Tensor operator+(const Operand& a, const Operand& b);
  friend RILLE_API Tensor operator-(const Operand& a, const Operand& b);
  friend RILLE_API Tensor operator*(const Operand& a, const Operand& b);
  friend RILLE_API Tensor operator/(const Operand& a, const Operand& b);
  /// In place: every handle and view sees it.
  const Tensor& operator+=(const Operand& b) const;
  const Tensor& operator-=(const Operand& b) const;
  const Tensor& operator*=(const Operand& b) const;
  const Tensor& operator/=(const Operand& b) const;
  Tensor matmul(const Tensor& b) const;
  /// Of all elements; ops.hpp has those along dims.
  Tensor sum() const;
  Tensor mean() const;

 private:
  friend struct detail::Access;
  static Tensor copy_of(const void* values, size_t count, const Shape& shape, Dtype dtype);
  void* memory(Dtype wanted, bool to_write) const;
  double item_number() const;
  int64_t item_integer() const;
  void copy_to(void* out, Dtype as) const;

  void* p_ = nullptr;
};

/// A tensor, or a number, which promotes by its category only: f16 + 2.5 stays f16.
class RILLE_API Operand {
 public:
  Operand(Tensor t) : tensor_(std::move(t)) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number) {
    if constexpr (std::is_same_v<T, bool>)
      tensor_ = of_boolean(number);
    else if constexpr (std::is_integral_v<T>)
      tensor_ = of_integer(static_cast<int64_t>(number));
    else
      tensor_ = of_number(static_cast<double>(number));
  }
  const Tensor& tensor() const { return tensor_; }

 private:
  static Tensor of_boolean(bool value);
  static Tensor of_integer(int64_t value);
  static Tensor of_number(double value);
  Tensor tensor_;
};

/// From start to before stop, every step-th; without them from the first, to the last.
struct Slice {
  std::optional<int64_t> start = {}, stop = {};
  int64_t step = 1;
};

/// One entry of an index: a position, a Slice, ids or a mask; Slice{} takes all of a dim.
class Index {
 public:
  enum class Kind : uint8_t { position, slice, tensor };
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Index(T position)
      : kind_(Kind::position), position_(static_cast<int64_t>(position)) {}
  Index(Slice slice) : kind_(Kind::slice), slice_(slice) {}
  Index(Tensor ids) : kind_(Kind::tensor), tensor_(std::move(ids)) {}

  Kind kind() const { return kind_; }
  int64_t position() const { return position_; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  int64_t position_ = 0;
  Slice slice_;
  Tensor tensor_;
};

struct BackwardOptions {
  Tensor gradient = {};             // of the tensor itself; one, where it has one element
  bool retain_graph = false;        // for a second backward through the same graph
  bool create_graph = false;        // for gradients of gradients; retains the graph
  std::vector<Tensor> inputs = {};  // only these get gradients; none: all leaves
};

/// The host's memory of that shape, row by row, not copied; it must outlive all that looks at it.
/// Through a `const T*` it may only be read.
template <class T>
requires Element<std::remove_const_t<T>> Tensor borrow(T* data, const Shape& shape) {
  using Plain = std::remove_const_t<T>;
  return Tensor::from_host(const_cast<Plain*>(data), shape, {}, dtype_of<Plain>(), {},
                           std::is_const_v<T>);
}

/// Values and, below them, dtype, shape and device; large tensors are cut in the middle.
RILLE_API std::string to_string(const Tensor& t);
RILLE_API std::ostream& operator<<(std::ostream& out, const Tensor& t);

/// Starts this thread's random numbers anew; the same seed gives the same numbers, in scripts, too.
RILLE_API void seed(uint64_t value);

}  // namespace rille::RILLE_V1
