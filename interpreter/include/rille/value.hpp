// Values that cross between C++ and scripts, and functions that either side gives the other. Tables
// are copied; tensors are shared; a function stays where it is, and a Function refers to it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rille/api.h"
#include "rille/error.hpp"
#include "rille/tensor.hpp"

namespace rille::RILLE_V1 {

class Value;
struct Table;

namespace detail {
struct FunctionHome;
struct FunctionAccess;
}  // namespace detail

/// What a script calls, in C++: gets the arguments, gives the results. What it throws is an error
/// in the script: a rille::Error as it is, anything else as E_HOST with its what().
using HostFunction = std::function<std::vector<Value>(std::span<const Value>)>;

/// A function: of a script, or of C++. Copies refer to the same one. A script's may be kept as long
/// as one likes and let go on any thread; once its interpreter is closed, calls throw E_CLOSED.
class RILLE_API Function {
 public:
  /// No function: false, and an error to call.
  Function() noexcept = default;
  /// `name` is what errors call it.
  explicit Function(HostFunction body, std::string name = "function");

  explicit operator bool() const noexcept { return home_ != nullptr; }
  bool operator==(const Function&) const = default;
  /// All results. Throws the script's error; E_BUSY while another thread is in its interpreter.
  std::vector<Value> call(std::span<const Value> arguments) const;
  /// The first result, from arguments that Convert knows (convert.hpp).
  template <class... A>
  Value operator()(A&&... arguments) const;

 private:
  friend struct detail::FunctionAccess;
  std::shared_ptr<const detail::FunctionHome> home_;
};

class RILLE_API Value {
 public:
  enum class Type : uint8_t { nil, boolean, integer, number, string, tensor, table, function };

  Value() noexcept = default;
  Value(std::nullptr_t) noexcept {}
  Value(bool b) : v_(b) {}
  Value(int n) : v_(int64_t{n}) {}
  Value(int64_t n) : v_(n) {}
  Value(double n) : v_(n) {}
  Value(const char* text) : v_(std::string(text)) {}
  Value(std::string_view text) : v_(std::string(text)) {}
  Value(std::string text) : v_(std::move(text)) {}
  /// An empty tensor, or function, is nil.
  Value(Tensor t) {
    if (t) v_ = std::move(t);
  }
  Value(Function f) {
    if (f) v_ = std::move(f);
  }
  Value(Table t);

  Type type() const noexcept { return static_cast<Type>(v_.index()); }
  bool is_nil() const noexcept { return type() == Type::nil; }

  /// What it holds, or null where that is of another type.
  const bool* boolean() const noexcept { return std::get_if<bool>(&v_); }
  const int64_t* integer() const noexcept { return std::get_if<int64_t>(&v_); }
  const double* number() const noexcept { return std::get_if<double>(&v_); }
  const std::string* string() const noexcept { return std::get_if<std::string>(&v_); }
  const Tensor* tensor() const noexcept { return std::get_if<Tensor>(&v_); }
  const Function* function() const noexcept { return std::get_if<Function>(&v_); }
  const Table* table() const noexcept {
    const auto* t = std::get_if<std::shared_ptr<Table>>(&v_);
    return t ? t->get() : nullptr;
  }
  /// The table to write to: a copy of it where other values share it. Throws E_TYPE for what is
  /// none.
  Table& edit();
  /// As a C++ type that Convert knows (convert.hpp). Throws E_TYPE, and E_ARG for an integer that
  /// does not fit.
  template <class T>
  T as() const;
  /// A field of a table, a position (from 1, as the script counts); nil where there is none, and
  /// for what is no table.
  const Value& operator[](std::string_view key) const noexcept;
  const Value& at(size_t position) const noexcept;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Tensor, std::shared_ptr<Table>,
               Function>
      v_;
};

/// Positions from 1 on, and named fields.
struct Table {
  std::vector<Value> list;
  std::map<std::string, Value, std::less<>> named;
};

/// "nil", "a number", ...
RILLE_API std::string_view kind_of(const Value& v);

}  // namespace rille::RILLE_V1
