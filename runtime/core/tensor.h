// A tensor: a counted pointer to shape, strides, dtype, device and storage. Views share storage
// (and so its version). Copying a Tensor copies the pointer. What gradients need hangs on it only
// where there are gradients (autograd/grad_meta.h).
//
// Elements of a packed dtype (core/dtype.h) share bytes, so that a view may begin or end only where
// a byte does. No kernel reads that: the call path hands it loose copies, whose elements have a
// byte each under the same strides, and packs what it made of them.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/pool.h"
#include "core/references.h"
#include "core/shape.h"
#include "core/storage.h"

namespace rille {

/// Base of what other layers attach to a tensor.
struct Attachment {
  virtual ~Attachment() = default;
};

/// What an op promises of a result before any memory exists.
struct Meta {
  Shape shape;
  DType dtype = DType::f32;
  Device device;
  Strides strides;       // used where `strided`
  bool strided = false;  // else row-major
};

struct TensorImpl {
  TensorImpl() = default;
  explicit TensorImpl(const Meta& m);        // without memory
  explicit TensorImpl(const TensorImpl& t);  // the same, for a shell

  References refs{1};
  DType dtype = DType::f32;
  Device device;
  bool contiguous = true;
  bool needs_grad = false;  // requires_grad, or the result of an op that is on the tape
  bool number = false;      // a Lua number: promotes by category only
  bool inference = false;   // made in inference mode: may not enter a tape
  bool loose = false;       // of a packed dtype, with a byte an element
  int64_t numel = 0;
  int64_t offset = 0;  // in elements
  StorageRef storage;
  std::unique_ptr<Attachment> grad;
  Shape shape;
  Strides strides;

  static void* operator new(size_t) { return Pool<TensorImpl>::take(); }
  static void operator delete(void* p) { Pool<TensorImpl>::give(p); }
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl* taken) : p_(taken) {}
  Tensor(const Tensor& o) : p_(o.p_) {
    if (p_) add_reference(p_->refs);
  }
  Tensor(Tensor&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Tensor& operator=(Tensor o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Tensor() {
    if (p_ && drop_reference(p_->refs)) destroy(p_);
  }

  /// Fresh memory, not initialised.
  static Tensor empty(const Meta& m);
  static Tensor empty(const Shape& s, DType d = DType::f32, Device v = {}) {
    return empty(Meta{s, d, v, {}, false});
  }
  /// A Lua number as an operand: a 0-d i64 or f64 that promotes by category only.
  static Tensor number(double v);
  static Tensor number(int64_t v);
  /// Values given one by one, row-major, converted to `d`.
  static Tensor of(std::span<const double> values, const Shape& s, DType d = DType::f32);
  /// Another look at the same storage.
  Tensor alias(const Shape& shape, const Strides& strides, int64_t offset) const;
  Tensor alias() const { return alias(shape(), strides(), offset()); }
  /// Shape, dtype and device without memory: what the tape keeps of an argument it needs no values
  /// of.
  Tensor shell() const;

  explicit operator bool() const { return p_ != nullptr; }
  TensorImpl* impl() const { return p_; }
  /// Hands the reference to the caller; empty after that.
  TensorImpl* release() noexcept { return std::exchange(p_, nullptr); }
  bool is(const Tensor& o) const { return p_ == o.p_; }
  bool unique() const { return p_ && p_->refs.load(std::memory_order_acquire) == 1; }

  const Shape& shape() const { return p_->shape; }
  const Strides& strides() const { return p_->strides; }
  int rank() const { return p_->shape.size(); }
  /// Size of a dim from 0; negative counts from the end.
  int64_t size(int64_t dim) const { return p_->shape[axis(dim, rank())]; }
  int64_t numel() const { return p_->numel; }
  int64_t nbytes() const {
    return is_packed() ? bytes_of(p_->dtype, p_->numel)
                       : p_->numel * static_cast<int64_t>(size_of(p_->dtype));
  }
  DType dtype() const { return p_->dtype; }
  Device device() const { return p_->device; }
  int64_t offset() const { return p_->offset; }
  bool is_contiguous() const { return p_->contiguous; }
  bool is_number() const { return p_->number; }
  bool is_meta() const { return p_->device.is_meta(); }
  bool is_float() const { return rille::is_float(p_->dtype); }
  /// Elements share bytes: data() is where the first of them begins to.
  bool is_packed() const { return rille::is_packed(p_->dtype) && !p_->loose; }
  bool needs_grad() const { return p_->needs_grad; }
  const StorageRef& storage() const { return p_->storage; }
  uint32_t version() const { return p_->storage ? p_->storage->version : 0; }

  void* data() const {
    char* memory = static_cast<char*>(p_->storage->data);
    if (is_packed()) [[unlikely]]
      return memory + p_->offset * bits_of(p_->dtype) / 8;
    return memory + p_->offset * static_cast<int64_t>(size_of(p_->dtype));
  }
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data());
  }

  /// The only element as a double or, exactly, as an integer. Throws E_SHAPE if there are more.
  double item() const;
  int64_t item_int() const;
  /// One element by its row-major position, whatever the strides.
  double at(int64_t position) const;
  /// One element by its distance in memory from the first; of any dtype, packed ones too.
  double load(int64_t distance) const;
  int64_t load_int(int64_t distance) const;
  void store(int64_t distance, double v) const;
  void store_int(int64_t distance, int64_t v) const;
  /// All elements, row-major, as doubles (tests, printing).
  std::vector<double> to_vector() const;

  Meta meta() const { return {p_->shape, p_->dtype, p_->device, p_->strides, !p_->contiguous}; }

 private:
  // Out of line: of the handles that go out of scope in an op, most are empty or not the last.
  static void destroy(TensorImpl* p) noexcept;
  TensorImpl* p_ = nullptr;
};

/// "f32[64, 784]  cuda:0", as errors name a tensor.
std::string describe(const Tensor& t);

/// A Meta that matches `t`: dense layouts (a transposed or channels-last block) are kept.
Meta like(const Tensor& t);
Meta like(const Tensor& t, DType d);
/// Row-major, on the device of `t`.
Meta meta_of(const Shape& s, DType d, const Tensor& t);

/// The elements of a packed tensor with a byte each, under the same strides: memory of its own.
/// Any other tensor as it is.
Tensor loosened(const Tensor& t);
/// Packs what `loose`, made by loosened(t) or alike it, holds into the memory that t looks at.
void tighten(const Tensor& loose, const Tensor& t);
/// Throws E_PACKED_VIEW where such a look at the memory of `t` would share a byte with elements of
/// `t` that it does not see.
void check_packed_view(const Tensor& t, const Shape& shape, const Strides& strides, int64_t offset);

/// One element of any dtype as a double, and back (saturating where the target is an integer); of a
/// packed one a loose code.
double load_element(DType d, const void* p);
int64_t load_integer(DType d, const void* p);
void store_element(DType d, void* p, double v);
void store_integer(DType d, void* p, int64_t v);

}  // namespace rille
