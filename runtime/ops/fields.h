// What an op says of its arguments, once: their names, where they lie, a word on each.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/op_info.h"

namespace rille {

template <class A, class T>
struct Field {
  std::string_view name;
  T A::*ptr;
  std::string_view doc;
  bool is_saved = false, is_required = false, takes_number = false;

  /// Backward needs the value.
  constexpr Field saved() const {
    auto f = *this;
    f.is_saved = true;
    return f;
  }
  /// The script must give it.
  constexpr Field required() const {
    auto f = *this;
    f.is_required = true;
    return f;
  }
  /// A tensor that may be given as a number.
  constexpr Field number() const {
    auto f = *this;
    f.takes_number = true;
    return f;
  }
};
template <class A, class T>
constexpr Field<A, T> field(std::string_view name, T A::*ptr, std::string_view doc) {
  return {name, ptr, doc};
}

namespace detail {
template <size_t I, class F>
struct FieldAt {
  F field;
};
template <class Order, class... F>
struct FieldList;
template <size_t... I, class... F>
struct FieldList<std::index_sequence<I...>, F...> : FieldAt<I, F>... {
  constexpr explicit FieldList(const F&... f) : FieldAt<I, F>{f}... {}
  template <class Do>
  constexpr void each(Do&& f) const {
    (f(static_cast<const FieldAt<I, F>&>(*this).field), ...);
  }
  template <class Do>
  constexpr auto apply(Do&& f) const {
    return f(static_cast<const FieldAt<I, F>&>(*this).field...);
  }
};
}  // namespace detail

/// The fields of an op, in order: Fields{field(...), field(...)}. A std::tuple would do, but every
/// header of ops makes one for each op, and its checks were a quarter of the time that those took
/// to compile (ADR 0023).
template <class... F>
struct Fields : detail::FieldList<std::index_sequence_for<F...>, F...> {
  constexpr explicit Fields(const F&... f)
      : detail::FieldList<std::index_sequence_for<F...>, F...>(f...) {}
};

/// Several lists of fields as one.
template <class... A, class... B, class... More>
constexpr auto joined(const Fields<A...>& a, const Fields<B...>& b, const More&... more) {
  const auto both = a.apply([&](const A&... x) {
    return b.apply([&](const B&... y) { return Fields<A..., B...>(x..., y...); });
  });
  if constexpr (sizeof...(More) == 0)
    return both;
  else
    return joined(both, more...);
}

template <class T>
inline constexpr ArgKind kind_of = ArgKind::choice;
template <>
inline constexpr ArgKind kind_of<Tensor> = ArgKind::tensor;
template <>
inline constexpr ArgKind kind_of<std::optional<Tensor>> = ArgKind::maybe_tensor;
template <>
inline constexpr ArgKind kind_of<std::vector<Tensor>> = ArgKind::tensors;
template <>
inline constexpr ArgKind kind_of<double> = ArgKind::number;
template <>
inline constexpr ArgKind kind_of<std::optional<double>> = ArgKind::maybe_number;
template <>
inline constexpr ArgKind kind_of<std::vector<double>> = ArgKind::numbers;
template <>
inline constexpr ArgKind kind_of<int64_t> = ArgKind::integer;
template <>
inline constexpr ArgKind kind_of<std::optional<int64_t>> = ArgKind::maybe_integer;
template <>
inline constexpr ArgKind kind_of<bool> = ArgKind::boolean;
template <>
inline constexpr ArgKind kind_of<std::string> = ArgKind::text;
template <>
inline constexpr ArgKind kind_of<DType> = ArgKind::dtype;
template <>
inline constexpr ArgKind kind_of<std::optional<DType>> = ArgKind::maybe_dtype;
template <>
inline constexpr ArgKind kind_of<std::optional<Device>> = ArgKind::maybe_device;
template <>
inline constexpr ArgKind kind_of<Axis> = ArgKind::axis;
template <>
inline constexpr ArgKind kind_of<std::optional<Axis>> = ArgKind::maybe_axis;
template <>
inline constexpr ArgKind kind_of<Axes> = ArgKind::axes;
template <>
inline constexpr ArgKind kind_of<Position> = ArgKind::position;
template <>
inline constexpr ArgKind kind_of<std::optional<Position>> = ArgKind::maybe_position;
template <>
inline constexpr ArgKind kind_of<Sizes> = ArgKind::sizes;
template <>
inline constexpr ArgKind kind_of<std::optional<Sizes>> = ArgKind::maybe_sizes;
template <>
inline constexpr ArgKind kind_of<PerDim> = ArgKind::per_dim;
template <>
inline constexpr ArgKind kind_of<Padding> = ArgKind::padding;
template <>
inline constexpr ArgKind kind_of<Counts> = ArgKind::counts;
template <>
inline constexpr ArgKind kind_of<Draw> = ArgKind::draw;

}  // namespace rille
