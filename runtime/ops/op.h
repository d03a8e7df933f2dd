// An op is a struct; its argument struct is the schema. From it comes the OpInfo record that the
// rest of the engine works with. See docs/adding-an-op.md; ops/activation.h is the shortest
// example.
//
// What an op says (required: name, doc, Args, fields, samples, and cpu or compose):
//   struct Args { Tensor x; double eps = 1e-5; };   defaults are the defaults of scripts, too
//   fields     Fields{field("x", &Args::x, "[..., n]").saved(), ...}
//   Out        the results: Tensor (default), a struct of Tensors, or std::vector<Tensor>
//   Saved      a struct of Tensors that the kernel keeps for backward
//   saved_meta std::array<Meta, n> of what Saved holds, which meta tensors have no kernel for
//   flops      double: the additions and multiplications of one call, said by products alone
//   infer      Meta, std::array<Meta, n> or std::vector<Meta> from the arguments; all shape errors
//   view       View or std::vector<View>, instead of infer and cpu, for ops that only look
//   cpu        void(const Args&, Out& y, Saved* saved); saved is null where no gradient is wanted
//   compose    Out(const Args&): what the op means, in other ops
//   grad       Args(const Back<Op>&): gradients by name, in the place of the arguments
//   internal   true: only other ops and the library call it; it still checks all that its kernel
//              relies on, for hosts, saved graphs and gradients call it with what they have
//   narrow     true: the kernel takes floats of eight bits and fewer, for it only moves, compares
//              or converts values; views take them anyway
#pragma once
#include <array>
#include <concepts>
#include <type_traits>

#include "ops/fields.h"

namespace rille {

// ---- what the path reads off an op
// ---------------------------------------------------------------

struct Nothing {};

namespace detail {
template <class O>
struct OutType {
  using type = Tensor;
};
template <class O>
requires requires { typename O::Out; }
struct OutType<O> {
  using type = typename O::Out;
};
template <class O>
struct SavedType {
  using type = Nothing;
};
template <class O>
requires requires { typename O::Saved; }
struct SavedType<O> {
  using type = typename O::Saved;
};
}  // namespace detail
template <class O>
using OutOf = typename detail::OutType<O>::type;
template <class O>
using SavedOf = typename detail::SavedType<O>::type;

template <class T>
inline constexpr bool is_list = std::is_same_v<T, std::vector<Tensor>>;
/// Number of tensors in a Tensor, or in a struct of them.
template <class T>
inline constexpr size_t tensor_count = std::is_same_v<T, Nothing> || is_list<T>
                                           ? 0
                                           : sizeof(T) / sizeof(Tensor);

template <class O>
concept HasArgs = requires {
  typename O::Args;
  O::fields;
};
template <class O>
concept HasWords = requires {
  { O::name } -> std::convertible_to<std::string_view>;
  { O::doc } -> std::convertible_to<std::string_view>;
};
template <class O>
concept HasSamples = requires(SampleList& s) {
  O::samples(s);
};
template <class O>
concept HasPlainKernel = requires(const typename O::Args& a, OutOf<O>& y) {
  O::cpu(a, y);
};
template <class O>
concept HasSavingKernel = requires(const typename O::Args& a, OutOf<O>& y, SavedOf<O>* s) {
  O::cpu(a, y, s);
};
template <class O>
concept HasView = requires(const typename O::Args& a) {
  O::view(a);
};
template <class O>
concept HasKernel = HasPlainKernel<O> || HasSavingKernel<O> || HasView<O>;
template <class O>
concept HasCompose = requires(const typename O::Args& a) {
  O::compose(a);
};
template <class O>
concept HasInfer = requires(const typename O::Args& a) {
  O::infer(a);
};
template <class O>
concept HasMeaning = HasKernel<O> || HasCompose<O>;

/// The gradient's view of one recorded call.
template <class O>
struct Back {
  using Args = typename O::Args;
  const Args& a;      // tensors that were not saved are shells: shape and dtype only
  const OutOf<O>& y;  // where saves_output
  const OutOf<O>& dy;
  const SavedOf<O>& saved;
  uint64_t needs;

  /// True where somebody wants the gradient of that argument.
  template <class T>
  bool need(T Args::*ptr) const {
    uint64_t bit = 1, found = 0;
    O::fields.each([&](const auto& f) { found |= same(f.ptr, ptr) ? bit : 0, bit <<= 1; });
    return needs & found;
  }

 private:
  template <class P, class Q>
  static bool same(P p, Q q) {
    if constexpr (std::is_same_v<P, Q>)
      return p == q;
    else
      return false;
  }
};

/// The op's record: empty until its family is listed (ops/register.h), which happens before main.
template <class O>
struct OpRecord {
  constinit inline static OpInfo info;
};

/// Adds a sample with arguments by name: add_sample<Silu>(list, {.x = grid({4}, -3, 3)}).
template <class O>
Sample& add_sample(SampleList& out, const typename O::Args& a) {
  return add_sample(out, OpRecord<O>::info, &a);
}

/// A family: the only list that a new op joins.
template <class... O>
struct OpList {};

// ---- calling
// -------------------------------------------------------------------------------------

/// The one path of an op (ops/call.cpp).
void call_erased(const OpInfo& op, const void* args, Results& out);
/// The same, written into the first argument. Returns it.
Tensor call_in_place(const OpInfo& op, const void* args);

template <class O>
OutOf<O> call(const typename O::Args& a) {
  Results r;
  call_erased(OpRecord<O>::info, &a, r);
  using Out = OutOf<O>;
  if constexpr (is_list<Out>) {
    return Out(std::make_move_iterator(r.begin()), std::make_move_iterator(r.end()));
  } else if constexpr (std::is_same_v<Out, Tensor>) {
    return std::move(r[0]);
  } else {
    Out out;
    Tensor* fields = reinterpret_cast<Tensor*>(&out);
    for (size_t i = 0; i < tensor_count<Out>; ++i) fields[i] = std::move(r[i]);
    return out;
  }
}

template <class O>
Tensor call_(const typename O::Args& a) {
  return call_in_place(OpRecord<O>::info, &a);
}

// ---- sample values
// -------------------------------------------------------------------------------

/// Evenly spaced values from lo to hi in a shuffled but fixed order, f64.
Tensor grid(const Shape& shape, double lo, double hi);
/// Integers 0..n-1 in a fixed scattered order, i64.
Tensor ids(const Shape& shape, int64_t n);
/// Alternating true and false with some irregularity.
Tensor mask(const Shape& shape);
/// The same values, read through transposed strides (rank 2 or more).
Tensor strided(const Tensor& t);

}  // namespace rille
