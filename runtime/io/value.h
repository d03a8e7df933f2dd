// What a script's table is to files: nil, booleans, integers, floats, byte strings, tables, and
// tensors by position in a list that the caller keeps. Integers and floats stay apart, as in Lua.
// JSON (io/json.h) and saved tables (io/nested.h) are made from it; the Lua door converts it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rille::io {

struct Value;

/// A list (keys 1, 2, ...) and named fields, in order of name.
struct Table {
  std::vector<Value> list;
  std::map<std::string, Value, std::less<>> fields;

  bool operator==(const Table& other) const;
};

/// The tensor at this position of the caller's list.
struct TensorRef {
  size_t index = 0;
  bool operator==(const TensorRef&) const = default;
};

/// Destroying one recurses; readers limit the depth, so it cannot exhaust the stack.
struct Value {
  using Data = std::variant<std::monostate, bool, int64_t, double, std::string, Table, TensorRef>;
  Data data;

  Value() = default;
  Value(bool b) : data(b) {}                           // NOLINT: implicit by intent, a literal
  Value(int i) : data(int64_t{i}) {}                   // NOLINT
  Value(int64_t i) : data(i) {}                        // NOLINT
  Value(double d) : data(d) {}                         // NOLINT
  Value(std::string s) : data(std::move(s)) {}         // NOLINT
  Value(std::string_view s) : data(std::string(s)) {}  // NOLINT
  Value(const char* s) : data(std::string(s)) {}       // NOLINT
  Value(Table t) : data(std::move(t)) {}               // NOLINT
  Value(TensorRef t) : data(t) {}                      // NOLINT

  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&data);
  }
  bool is_nil() const { return data.index() == 0; }
  /// "a table", "an integer", ... for messages.
  std::string_view kind() const {
    constexpr std::string_view kinds[] = {"nil",      "a boolean", "an integer", "a float",
                                          "a string", "a table",   "a tensor"};
    return kinds[data.index()];
  }
  /// As == on doubles: nan differs from itself.
  bool operator==(const Value& other) const { return data == other.data; }
};

inline bool Table::operator==(const Table& other) const {
  return list == other.list && fields == other.fields;
}

}  // namespace rille::io
