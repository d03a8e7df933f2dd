// Errors as data, and Result for calls that do not throw. Everything that goes wrong in librille
// arrives as rille::Error, with the fields that scripts see.
#pragma once
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rille/api.h"

namespace rille::RILLE_V1 {

/// What an error is about, for those who don't want to know its code.
enum class ErrorKind : uint8_t {
  argument,
  shape,
  dtype,
  device,
  state,
  memory,
  data,
  distributed,
  interrupt,
  internal
};
/// "argument", "shape", ...
RILLE_API std::string_view name(ErrorKind kind);

class RILLE_API Error : public std::exception {
 public:
  Error(ErrorKind error_kind, std::string error_code, std::string text, std::string advice = {});
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error() override;

  ErrorKind kind;
  std::string code;                // stable: "E_SHAPE"; docs/errors.md lists them
  std::string op;                  // what was called; empty where nothing was
  std::string message;             // what is wrong: "inner sizes differ: 784 and 256"
  std::string hint;                // what to do instead; may be empty
  std::vector<std::string> facts;  // lines such as "a         f32[64, 784]  cpu"
  std::string where;               // "mnist.lua:31" for errors of scripts
  std::string traceback;           // the script's calls at that time; may be empty

  /// "mnist.lua:31: matmul: inner sizes differ: 784 and 256"
  const char* what() const noexcept override;
  /// The same with facts and hint, one a line: what to show to a person.
  std::string report() const;

 private:
  mutable std::string what_;
};

namespace detail {
/// Throws the error of a Result whose value was asked for.
[[noreturn]] RILLE_API void throw_error(const Error& e);
/// Throws E_STATE: there is no error to look at.
[[noreturn]] RILLE_API void throw_no_error();
}  // namespace detail

/// A value, or the error that stood in its way.
template <class T = void>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const noexcept { return value_.has_value(); }
  /// The value. Throws the error where there is none.
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T&& value() && { return check(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  /// The error. Throws E_STATE where there is none.
  const Error& error() const {
    if (!error_) detail::throw_no_error();
    return *error_;
  }

 private:
  void check() const {
    if (!value_) detail::throw_error(error());
  }
  std::optional<T> value_;
  std::optional<Error> error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const noexcept { return !error_; }
  /// Throws the error, where there is one.
  void value() const {
    if (error_) detail::throw_error(*error_);
  }
  const Error& error() const {
    if (!error_) detail::throw_no_error();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace rille::RILLE_V1
