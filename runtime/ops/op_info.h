// What the machine knows of an op: a record derived once from the op's struct (ops/op.h), in its
// family's .cpp. The call path, the tape, the Lua binder, help pages and tests read these records,
// so none of them is a template and none of them keeps a list.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.h"
#include "core/small_vector.h"
#include "core/tensor.h"

namespace rille {

/// How an op behaves inside an autocast scope (semantics 2.2).
enum class Autocast : uint8_t { follow, lower, f32, f32_out, widest, banned };
std::string_view name(Autocast a);

// Argument types that say more than their C++ type would.

/// A dim, counted from 0 here and from 1 in scripts.
struct Axis {
  int64_t value = 0;
};
/// Dims, or all of them where none was given.
struct Axes {
  Dims list;
  bool all = true;
  Axes() = default;
  Axes(std::initializer_list<int64_t> d) : list(d), all(false) {}
  explicit Axes(const Dims& d) : list(d), all(false) {}
};
/// An index along a dim, counted from 0 here and from 1 in scripts.
struct Position {
  int64_t value = 0;
};
/// A shape: several integers, or one list.
struct Sizes {
  Dims list;
  Sizes() = default;
  Sizes(std::initializer_list<int64_t> d) : list(d) {}
  explicit Sizes(const Dims& d) : list(d) {}
};
/// One integer for every spatial dim, or one each.
struct PerDim {
  Dims list;
  PerDim() = default;
  PerDim(std::initializer_list<int64_t> d) : list(d) {}
  explicit PerDim(const Dims& d) : list(d) {}
  int64_t operator[](int i) const { return list[list.size() == 1 ? 0 : i]; }
};
/// One integer, or a list of any length.
struct Counts {
  std::vector<int64_t> list;
  Counts() = default;
  Counts(std::initializer_list<int64_t> d) : list(d) {}
  explicit Counts(std::span<const int64_t> d) : list(d.begin(), d.end()) {}
};

/// What stands around an image: numbers as in PerDim, or a word.
struct Padding {
  enum class Word { none, same, valid };
  Dims list = {0};
  Word word = Word::none;
  Padding() = default;
  Padding(std::initializer_list<int64_t> d) : list(d) {}
  explicit Padding(const Dims& d) : list(d) {}
  explicit Padding(Word w) : word(w) {}
};

enum class ArgKind : uint8_t {
  tensor,
  maybe_tensor,
  tensors,
  number,
  maybe_number,
  numbers,
  integer,
  maybe_integer,
  boolean,
  text,
  choice,
  dtype,
  maybe_dtype,
  maybe_device,
  axis,
  maybe_axis,
  axes,
  position,
  maybe_position,
  sizes,
  maybe_sizes,
  per_dim,
  padding,
  counts,
  draw,  // hidden: filled in by the call path
};

/// One argument of an op.
struct FieldInfo {
  std::string_view name, doc;
  ArgKind kind;
  bool required;    // has no default
  bool saved;       // backward needs its value
  bool number_ok;   // a tensor argument that may be given as a number
  uint16_t offset;  // in the op's Args
  std::span<const std::string_view> choices;
};

using Metas = SmallVector<Meta, 2>;
using Results = SmallVector<Tensor, 2>;

/// How a view looks at the first argument's storage.
struct View {
  Shape shape;
  Strides strides;
  int64_t offset = 0;
};
using Views = SmallVector<View, 2>;

struct OpInfo;

/// An op's arguments, owned, of a type that only the op knows.
class ArgBlock {
 public:
  ArgBlock() = default;
  explicit ArgBlock(const OpInfo& op);
  ArgBlock(const OpInfo& op, const void* copied);
  ArgBlock(ArgBlock&& o) noexcept : op_(std::exchange(o.op_, nullptr)), p_(o.p_) {}
  ArgBlock& operator=(ArgBlock&& o) noexcept;
  ~ArgBlock();
  ArgBlock clone() const { return ArgBlock(*op_, p_); }
  void* get() const { return p_; }
  const OpInfo& op() const { return *op_; }
  explicit operator bool() const { return op_ != nullptr; }
  template <class T>
  T& at(const FieldInfo& f) const {
    return *reinterpret_cast<T*>(static_cast<char*>(p_) + f.offset);
  }

 private:
  const OpInfo* op_ = nullptr;
  void* p_ = nullptr;
};

/// Arguments for the op suite, the help page and the benchmarks.
struct Sample {
  ArgBlock args;
  bool gradient = true;  // false: a kink or a jump lies at these values
  bool second_gradient = true;
};
using SampleList = std::vector<Sample>;
/// Adds a sample with a copy of those arguments of the op.
Sample& add_sample(SampleList& out, const OpInfo& op, const void* args);

/// What an op's gradient sees. Tensors of `args` that the op does not save are shells.
struct BackFrame {
  const void* args;
  const Tensor* outs;   // empty unless saves_output
  const Tensor* dys;    // may be empty for some of several results
  const Tensor* saved;  // the op's Saved
  uint64_t needs;       // bit i: the gradient of field i is wanted
  size_t results;       // how many dys there are
};

using Kernel = void (*)(const void* args, Tensor* outs, Tensor* saved);

/// Nothing of it is destroyed: threads of a host may be inside of ops while the process ends.
struct OpInfo {
  std::string_view name, doc, example, family;
  const char* in_place_name = "";  // "add_"; lives as long as the process
  std::span<const FieldInfo> fields;
  uint8_t leading_tensors = 0;  // how many of the first fields are one tensor each
  uint64_t saved_fields = 0;    // bit i: backward needs the value of field i
  Autocast autocast = Autocast::follow;

  uint8_t results = 1;  // 0: a list, as long as the arguments say
  std::span<const std::string_view> result_names;
  uint8_t saved_tensors = 0;
  bool in_place = false;  // has a form with a trailing underscore
  bool view = false;      // results look at the first argument's storage
  bool draws = false;     // uses random numbers
  bool dynamic = false;   // result shapes depend on values: the kernel makes the results
  bool saves_output = false;
  bool broadcasts = false;  // gradients are summed to the arguments' shapes by the tape
  bool differentiable = true;
  bool method = true;            // also t:name(...)
  bool truth = false;            // its result is one true or false, which scripts get as such
  bool strided_out = false;      // the kernel can write into any strides
  bool narrow = false;           // takes narrow floats (core/dtype.h): it moves or converts values
  bool internal = false;         // for other ops and the library alone: scripts don't see it
  std::string_view no_gradient;  // why there is none, where there is none

  uint32_t args_size = 0, args_align = 0;
  void (*construct)(void*) = nullptr;
  void (*copy)(void* to, const void* from) = nullptr;
  void (*destroy)(void*) = nullptr;
  void (*infer)(const void* args, Metas& out) = nullptr;
  void (*saved_meta)(const void* args, Metas& out) = nullptr;  // of saved_tensors, where infer is
  double (*flops)(const void* args) = nullptr;  // of one call, where products make up its time
  void (*look)(const void* args, Views& out) = nullptr;
  Kernel kernel[kDeviceTypes] = {};
  void (*compose)(const void* args, Results& out) = nullptr;
  void (*grad)(const BackFrame& frame, void* grad_args) = nullptr;
  uint64_t (*saves)(const void* args, uint64_t needs) = nullptr;  // overrides saved_fields
  void (*samples)(SampleList& out) = nullptr;
};

/// Visits every tensor of an argument block: f(field index, Tensor&). Lists are flattened, absent
/// optional ones skipped.
template <class F>
void each_tensor(const OpInfo& op, const void* args, F&& f) {
  char* base = static_cast<char*>(const_cast<void*>(args));
  size_t i = 0;
  for (const FieldInfo& field : op.fields) {
    if (field.kind == ArgKind::tensor) {
      if (Tensor& t = *reinterpret_cast<Tensor*>(base + field.offset)) f(i, t);
    } else if (field.kind == ArgKind::maybe_tensor) {
      auto& t = *reinterpret_cast<std::optional<Tensor>*>(base + field.offset);
      if (t && *t) f(i, *t);
    } else if (field.kind == ArgKind::tensors) {
      for (Tensor& t : *reinterpret_cast<std::vector<Tensor>*>(base + field.offset)) f(i, t);
    }
    ++i;
  }
}

/// A field's value in an argument block, as the help page shows it: "1e-05", "'mean'", "nil".
std::string value_text(const FieldInfo& field, const void* args);
/// The same of the op's default.
std::string default_text(const OpInfo& op, const FieldInfo& field);
/// "layer_norm(x, {weight, bias, eps = 1e-05})"
std::string signature(const OpInfo& op);
/// What a field of that kind takes, in words: "an integer", "'none' or 'tanh'".
std::string expected_text(const FieldInfo& field);

/// Every op there is, in order of families.
std::span<const OpInfo* const> all_ops();
const OpInfo* find_op(std::string_view name);
/// Those that scripts and hosts see: all but internal ones.
std::span<const OpInfo* const> public_ops();
const OpInfo* find_public_op(std::string_view name);

}  // namespace rille
