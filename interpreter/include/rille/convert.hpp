// Which C++ types cross to scripts and back, and as what. Convert is open: a type of one's own
// crosses once `template <> struct rille::Convert<Mine>` has `to` and `from`.
//
//   bool                        boolean
//   integers, floating point    number; a float with an exact integer value is an integer, too
//   std::string, string_view    string (a view lives as long as the call it is an argument of)
//   Tensor                      tensor, shared
//   std::vector<T>              table of positions
//   std::map<std::string, T>    table of fields
//   std::optional<T>            T or nil
//   callables, Function         function
//   Value                       anything
//   std::tuple<...>, Results    as results: several
//   std::span<const Value>      as the last parameter: all arguments that are left
#pragma once
#include <concepts>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rille/value.hpp"

namespace rille::RILLE_V1 {

/// Results whose number is known when they are made.
struct Results {
  std::vector<Value> values;
};

namespace detail {

/// Where a value came from, for errors: "position 3 of argument 1".
struct Place {
  std::string_view what;  // "argument", "result", or a name
  size_t number = 0;
  const Place* outer = nullptr;
};
[[noreturn]] RILLE_API void throw_wrong(const Value& got, std::string_view wanted, const Place& at);
[[noreturn]] RILLE_API void throw_count(size_t most, size_t got);
[[noreturn]] RILLE_API void throw_too_large(uint64_t value);
/// Throws E_TYPE, E_ARG outside of [least, most].
RILLE_API int64_t read_integer(const Value& v, const Place& at, int64_t least, int64_t most);
RILLE_API double read_number(const Value& v, const Place& at);

template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

}  // namespace detail

/// `to` makes a Value, `from` reads one.
template <class T>
struct Convert;

template <>
struct Convert<Value> {
  static Value to(Value v) { return v; }
  static Value from(const Value& v, const detail::Place&) { return v; }
};
template <>
struct Convert<std::nullptr_t> {
  static Value to(std::nullptr_t) { return {}; }
};
template <>
struct Convert<bool> {
  static Value to(bool b) { return b; }
  static bool from(const Value& v, const detail::Place& at) {
    if (!v.boolean()) detail::throw_wrong(v, "true or false", at);
    return *v.boolean();
  }
};
template <detail::Integer T>
struct Convert<T> {
  static Value to(T n) {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8)
      if (n > static_cast<T>(std::numeric_limits<int64_t>::max())) detail::throw_too_large(n);
    return static_cast<int64_t>(n);
  }
  static T from(const Value& v, const detail::Place& at) {
    using Limits = std::numeric_limits<T>;
    constexpr bool wide = std::is_unsigned_v<T> && sizeof(T) == 8;
    constexpr int64_t most =
        wide ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(Limits::max());
    return static_cast<T>(detail::read_integer(v, at, static_cast<int64_t>(Limits::min()), most));
  }
};
template <std::floating_point T>
struct Convert<T> {
  static Value to(T n) { return static_cast<double>(n); }
  static T from(const Value& v, const detail::Place& at) {
    return static_cast<T>(detail::read_number(v, at));
  }
};
template <>
struct Convert<std::string_view> {
  static Value to(std::string_view text) { return text; }
  static std::string_view from(const Value& v, const detail::Place& at) {
    if (!v.string()) detail::throw_wrong(v, "a string", at);
    return *v.string();
  }
};
template <>
struct Convert<std::string> {
  static Value to(std::string text) { return text; }
  static std::string from(const Value& v, const detail::Place& at) {
    return std::string(Convert<std::string_view>::from(v, at));
  }
};
template <>
struct Convert<const char*> {
  static Value to(const char* text) { return text ? Value(text) : Value(); }
};
template <>
struct Convert<char*> : Convert<const char*> {};
template <>
struct Convert<Tensor> {
  static Value to(Tensor t) { return t; }
  static Tensor from(const Value& v, const detail::Place& at) {
    if (!v.tensor()) detail::throw_wrong(v, "a tensor", at);
    return *v.tensor();
  }
};
template <>
struct Convert<Table> {
  static Value to(Table t) { return t; }
  static Table from(const Value& v, const detail::Place& at) {
    if (!v.table()) detail::throw_wrong(v, "a table", at);
    return *v.table();
  }
};
template <>
struct Convert<Function> {
  static Value to(Function f) { return f; }
  static Function from(const Value& v, const detail::Place& at) {
    if (!v.function()) detail::throw_wrong(v, "a function", at);
    return *v.function();
  }
};
template <class T>
struct Convert<std::optional<T>> {
  static Value to(std::optional<T> v) { return v ? Convert<T>::to(*std::move(v)) : Value(); }
  static std::optional<T> from(const Value& v, const detail::Place& at) {
    if (v.is_nil()) return std::nullopt;
    return Convert<T>::from(v, at);
  }
};
template <class T>
struct Convert<std::vector<T>> {
  static Value to(const std::vector<T>& list) {
    Table t;
    t.list.reserve(list.size());
    for (const T& one : list) t.list.push_back(Convert<T>::to(one));
    return t;
  }
  static std::vector<T> from(const Value& v, const detail::Place& at) {
    const Table* t = v.table();
    if (!t || !t->named.empty()) detail::throw_wrong(v, "a list", at);
    std::vector<T> out;
    out.reserve(t->list.size());
    for (size_t i = 0; i < t->list.size(); ++i)
      out.push_back(Convert<T>::from(t->list[i], {"position", i + 1, &at}));
    return out;
  }
};
template <class T, class Order>
struct Convert<std::map<std::string, T, Order>> {
  static Value to(const std::map<std::string, T, Order>& fields) {
    Table t;
    for (const auto& [key, one] : fields) t.named.emplace(key, Convert<T>::to(one));
    return t;
  }
  static std::map<std::string, T, Order> from(const Value& v, const detail::Place& at) {
    const Table* t = v.table();
    if (!t || !t->list.empty()) detail::throw_wrong(v, "a table of named fields", at);
    std::map<std::string, T, Order> out;
    for (const auto& [key, one] : t->named) out.emplace(key, Convert<T>::from(one, {key, 0, &at}));
    return out;
  }
};

// ---- callables --------------------------------------------------------------------------------

namespace detail {

template <class R, class... A>
struct Signature {};

template <class F>
struct SignatureOf;
template <class R, class... A>
struct SignatureOf<R (*)(A...)> {
  using type = Signature<R, A...>;
};
template <class R, class... A>
struct SignatureOf<R (*)(A...) noexcept> : SignatureOf<R (*)(A...)> {};
template <class C, class R, class... A>
struct SignatureOf<R (C::*)(A...)> : SignatureOf<R (*)(A...)> {};
template <class C, class R, class... A>
struct SignatureOf<R (C::*)(A...) const> : SignatureOf<R (*)(A...)> {};
template <class C, class R, class... A>
struct SignatureOf<R (C::*)(A...) noexcept> : SignatureOf<R (*)(A...)> {};
template <class C, class R, class... A>
struct SignatureOf<R (C::*)(A...) const noexcept> : SignatureOf<R (*)(A...)> {};
template <class F>
requires requires { &F::operator(); }
struct SignatureOf<F> : SignatureOf<decltype(&F::operator())> {};

/// A function pointer, or an object with one operator(), no template.
template <class F>
concept Callable = requires {
  typename SignatureOf<F>::type;
};

/// What a Value is read as for a parameter of that type.
template <class A>
using Read = std::remove_cvref_t<A>;

template <class A>
decltype(auto) argument(std::span<const Value> given, size_t i) {
  static const Value& nil = *new Value;  // never destroyed
  if constexpr (std::is_same_v<Read<A>, std::span<const Value>>)
    return given.subspan(std::min(i, given.size()));
  else
    return Convert<Read<A>>::from(i < given.size() ? given[i] : nil, {"argument", i + 1});
}

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};

template <class R>
std::vector<Value> results_of(R&& result) {
  if constexpr (std::is_same_v<std::decay_t<R>, Results>) {
    return std::forward<R>(result).values;
  } else if constexpr (IsTuple<std::decay_t<R>>::value) {
    return std::apply(
        [](auto&&... one) {
          return std::vector<Value>{
              Convert<std::decay_t<decltype(one)>>::to(std::forward<decltype(one)>(one))...};
        },
        std::forward<R>(result));
  } else {
    std::vector<Value> one;
    one.push_back(Convert<std::decay_t<R>>::to(std::forward<R>(result)));
    return one;
  }
}

template <class F, class R, class... A, size_t... I>
std::vector<Value> call_with(F& f, std::span<const Value> given, Signature<R, A...>,
                             std::index_sequence<I...>) {
  constexpr bool rest = (std::is_same_v<Read<A>, std::span<const Value>> || ... || false);
  if (!rest && given.size() > sizeof...(A)) throw_count(sizeof...(A), given.size());
  if constexpr (std::is_void_v<R>) {
    f(argument<A>(given, I)...);
    return {};
  } else {
    return results_of(f(argument<A>(given, I)...));
  }
}

/// Copies of the body share one F, so that it is destroyed once, and need not be copyable.
template <class F, class R, class... A>
HostFunction host_function(F f, Signature<R, A...> signature) {
  return [held = std::make_shared<F>(std::move(f)), signature](std::span<const Value> given) {
    return call_with(*held, given, signature, std::index_sequence_for<A...>());
  };
}

template <class R>
R result_as(const std::vector<Value>& results) {
  static_assert(!std::is_same_v<R, std::string_view>, "the text would be gone: use std::string");
  static const Value& nil = *new Value;  // never destroyed
  const auto nth = [&](size_t i) -> const Value& { return i < results.size() ? results[i] : nil; };
  if constexpr (IsTuple<R>::value) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return R{Convert<std::tuple_element_t<I, R>>::from(nth(I), {"result", I + 1})...};
    }
    (std::make_index_sequence<std::tuple_size_v<R>>());
  } else {
    return Convert<R>::from(nth(0), {"result", 1});
  }
}

template <class R, class... A>
std::function<R(A...)> typed(Function f, Signature<R, A...>) {
  return [f = std::move(f)](A... arguments) -> R {
    const std::vector<Value> given{Convert<std::decay_t<A>>::to(std::forward<A>(arguments))...};
    const std::vector<Value> results = f.call(given);
    if constexpr (!std::is_void_v<R>) return result_as<R>(results);
  };
}

}  // namespace detail

/// A C++ callable as a function for scripts; its parameters and result say what they are read as.
template <class F>
requires detail::Callable<std::decay_t<F>> Function make_function(F&& f,
                                                                  std::string name = "function") {
  using Kept = std::decay_t<F>;
  return Function(
      detail::host_function<Kept>(std::forward<F>(f), typename detail::SignatureOf<Kept>::type()),
      std::move(name));
}

template <detail::Callable F>
struct Convert<F> {
  static Value to(F f) { return make_function(std::move(f)); }
};
template <class R, class... A>
struct Convert<std::function<R(A...)>> {
  static Value to(std::function<R(A...)> f) {
    return f ? Value(make_function(std::move(f))) : Value();
  }
  static std::function<R(A...)> from(const Value& v, const detail::Place& at) {
    return detail::typed(Convert<Function>::from(v, at), detail::Signature<R, A...>());
  }
};

template <class... A>
Value Function::operator()(A&&... arguments) const {
  const std::vector<Value> given{Convert<std::decay_t<A>>::to(std::forward<A>(arguments))...};
  std::vector<Value> results = call(given);
  return results.empty() ? Value() : std::move(results.front());
}

template <class T>
T Value::as() const {
  static_assert(!std::is_same_v<T, std::string_view>, "the text may go before the view");
  return Convert<T>::from(*this, {"the value"});
}

}  // namespace rille::RILLE_V1
