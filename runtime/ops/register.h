// Turns op structs into records. Included by each family's .cpp, once; it also brings what
// pointwise kernels are made of.
#pragma once
#include <cstring>
#include <new>

#include "ops/op.h"

namespace rille {
namespace detail {

template <class O>
const typename O::Args& args_of(const void* p) {
  return *static_cast<const typename O::Args*>(p);
}

template <class O>
void infer_thunk(const void* args, Metas& out) {
  const auto& a = args_of<O>(args);
  if constexpr (std::is_same_v<decltype(O::infer(a)), Meta>)
    out.emplace_made([&] { return O::infer(a); });
  else
    for (const Meta& one : O::infer(a)) out.push_back(one);
}

template <class O>
void kernel_thunk(const void* args, Tensor* outs, Tensor* saved) {
  using Out = OutOf<O>;
  const auto& a = args_of<O>(args);
  if constexpr (is_list<Out>) {
    static_assert(!is_list<Out>, "an op with a list of results is a view or composed");
  } else if constexpr (HasPlainKernel<O>) {
    O::cpu(a, *reinterpret_cast<Out*>(outs));
  } else {
    O::cpu(a, *reinterpret_cast<Out*>(outs), reinterpret_cast<SavedOf<O>*>(saved));
  }
}

template <class O>
void compose_thunk(const void* args, Results& out) {
  using Out = OutOf<O>;
  Out y = O::compose(args_of<O>(args));
  if constexpr (is_list<Out>) {
    for (Tensor& t : y) out.push_back(std::move(t));
  } else {
    Tensor* fields = reinterpret_cast<Tensor*>(&y);
    for (size_t i = 0; i < tensor_count<Out>; ++i) out.push_back(std::move(fields[i]));
  }
}

template <class O>
void grad_thunk(const BackFrame& f, void* grad_args) {
  using Out = OutOf<O>;
  static const Out& no_out = *new Out{};  // never destroyed, as OpInfo says
  static const SavedOf<O>& no_saved = *new SavedOf<O>{};
  auto out_at = [](const Tensor* p) -> const Out& { return *reinterpret_cast<const Out*>(p); };
  auto& to = *static_cast<typename O::Args*>(grad_args);
  const auto& saved = f.saved ? *reinterpret_cast<const SavedOf<O>*>(f.saved) : no_saved;
  if constexpr (is_list<Out>) {
    const Out dys(f.dys, f.dys + f.results);
    to = O::grad(Back<O>{args_of<O>(f.args), no_out, dys, saved, f.needs});
  } else {
    to = O::grad(Back<O>{args_of<O>(f.args), f.outs ? out_at(f.outs) : no_out, out_at(f.dys), saved,
                         f.needs});
  }
}

template <class O>
void saved_meta_thunk(const void* args, Metas& out) {
  const auto metas = O::saved_meta(args_of<O>(args));
  static_assert(tensor_count<SavedOf<O>> ==
                std::tuple_size_v<std::remove_cvref_t<decltype(metas)>>);
  for (const Meta& one : metas) out.push_back(one);
}

// What the call path asks in the place of a kernel.
template <class O>
[[gnu::cold]] void say_of_meta(OpInfo& i) {
  constexpr bool keeps = tensor_count<SavedOf<O>> != 0;
  if constexpr (keeps) i.saved_meta = &saved_meta_thunk<O>;
  if constexpr (requires(const typename O::Args& a) { O::flops(a); })
    i.flops = [](const void* a) { return O::flops(args_of<O>(a)); };
}

template <class O>
[[gnu::cold]] FieldInfo field_info(const auto& f, const typename O::Args& probe) {
  using T = std::remove_cvref_t<decltype(probe.*f.ptr)>;
  const auto offset =
      reinterpret_cast<const char*>(&(probe.*f.ptr)) - reinterpret_cast<const char*>(&probe);
  FieldInfo out{f.name,
                f.doc,
                kind_of<T>,
                f.is_required,
                f.is_saved,
                f.takes_number,
                static_cast<uint16_t>(offset),
                {}};
  out.required |= out.kind == ArgKind::tensor || out.kind == ArgKind::tensors;
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
    static_assert(sizeof(T) == sizeof(int), "a choice is stored as an int");
    static constexpr auto names = names_of(T{});
    out.choices = names;
  }
  return out;
}

template <class O>
[[gnu::cold]] std::span<const FieldInfo> field_infos(const auto& fields,
                                                     const typename O::Args& probe) {
  size_t count = 0;
  fields.each([&](const auto&) { ++count; });
  auto* out = new FieldInfo[count];  // never destroyed, as OpInfo says
  size_t i = 0;
  fields.each([&](const auto& f) { out[i++] = field_info<O>(f, probe); });
  return {out, count};
}

}  // namespace detail

template <class O>
[[gnu::cold]] OpInfo make_info() {
  using Args = typename O::Args;
  static_assert(HasArgs<O>, "an op needs Args and fields");
  static_assert(HasWords<O>, "an op needs a name and a doc");
  static_assert(HasSamples<O>, "an op needs samples");
  static_assert(HasMeaning<O>, "an op needs a kernel (cpu or view), or compose");
  OpInfo i;
  i.name = O::name;
  static const std::string& with_underscore = *new std::string(std::string(O::name) + "_");
  i.in_place_name = with_underscore.c_str();
  if constexpr (requires { O::in_place_name; }) i.in_place_name = O::in_place_name;
  i.doc = O::doc;
  if constexpr (requires { O::example; }) i.example = O::example;
  const Args probe{};
  i.fields = detail::field_infos<O>(O::fields, probe);
  if constexpr (requires { O::autocast; }) i.autocast = O::autocast;
  i.results = static_cast<uint8_t>(tensor_count<OutOf<O>>);
  if constexpr (requires { O::result_names; }) i.result_names = O::result_names;
  i.saved_tensors = static_cast<uint8_t>(tensor_count<SavedOf<O>>);
  if constexpr (requires { O::in_place; }) i.in_place = O::in_place;
  if constexpr (requires { O::dynamic; }) i.dynamic = O::dynamic;
  if constexpr (requires { O::saves_output; }) i.saves_output = O::saves_output;
  if constexpr (requires { O::broadcasts; }) i.broadcasts = O::broadcasts;
  if constexpr (requires { O::method; }) i.method = O::method;
  if constexpr (requires { O::truth; }) i.truth = O::truth;
  if constexpr (requires { O::strided_out; }) i.strided_out = O::strided_out;
  if constexpr (requires { O::narrow; }) i.narrow = O::narrow;
  if constexpr (requires { O::internal; }) i.internal = O::internal;
  if constexpr (requires { O::differentiable; }) i.differentiable = O::differentiable;
  if constexpr (requires { O::no_gradient; }) {
    i.no_gradient = O::no_gradient;
    i.differentiable = false;
  }
  for (const FieldInfo& f : i.fields) i.draws |= f.kind == ArgKind::draw;
  for (size_t f = 0; f < i.fields.size(); ++f) i.saved_fields |= uint64_t{i.fields[f].saved} << f;
  for (const FieldInfo& f : i.fields) {
    if (f.kind != ArgKind::tensor && f.kind != ArgKind::maybe_tensor) break;
    ++i.leading_tensors;
  }

  i.args_size = sizeof(Args);
  i.args_align = alignof(Args);
  i.construct = [](void* p) { new (p) Args{}; };
  i.copy = [](void* to, const void* from) { new (to) Args(detail::args_of<O>(from)); };
  i.destroy = [](void* p) { static_cast<Args*>(p)->~Args(); };
  i.samples = [](SampleList& s) { O::samples(s); };
  if constexpr (HasView<O>) {
    i.view = true;
    i.look = [](const void* a, Views& out) {
      const auto& args = detail::args_of<O>(a);
      if constexpr (std::is_same_v<decltype(O::view(args)), View>)
        out.emplace_back(O::view(args));
      else
        for (const View& one : O::view(args)) out.push_back(one);
    };
  } else {
    if constexpr (HasInfer<O>) i.infer = &detail::infer_thunk<O>;
    detail::say_of_meta<O>(i);
    if constexpr (HasPlainKernel<O> || HasSavingKernel<O>)
      i.kernel[static_cast<int>(DeviceType::cpu)] = &detail::kernel_thunk<O>;
  }
  if constexpr (HasCompose<O>) i.compose = &detail::compose_thunk<O>;
  if constexpr (requires(const Back<O>& b) { O::grad(b); }) i.grad = &detail::grad_thunk<O>;
  if constexpr (requires(const Args& a) { O::saves(a, uint64_t{}); })
    i.saves = [](const void* a, uint64_t needs) { return O::saves(detail::args_of<O>(a), needs); };
  return i;
}

/// Ops that come with another one, unlisted: the derivatives of a pointwise op.
template <class O>
struct Companions {
  using type = OpList<>;
};

template <class... O>
[[gnu::cold]] void fill_records(OpList<O...>, [[maybe_unused]] std::string_view family) {
  ((OpRecord<O>::info = make_info<O>(), OpRecord<O>::info.family = family,
    fill_records(typename Companions<O>::type{}, family)),
   ...);
}

/// The records of a family, in order; each family's .cpp offers them to ops/registry.cpp.
template <class... O>
std::vector<const OpInfo*> list_ops(OpList<O...> ops, std::string_view family) {
  fill_records(ops, family);
  return {&OpRecord<O>::info...};
}

}  // namespace rille
