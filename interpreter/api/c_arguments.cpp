#include "interpreter/api/c_arguments.h"

#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "ops/op_info.h"
#include "rille/convert.hpp"

namespace rille::capi {
namespace {

using v1::Convert, v1::Value, v1::detail::Arguments, v1::detail::Place;

// One value into the field that comes next, by the field's kind.
class Filling {
 public:
  Filling(Arguments& to, const FieldInfo& field, const Value& value)
      : to_(to), field_(field), value_(value), place_{field.name} {}

  void run() {
    switch (field_.kind) {
      case ArgKind::tensor:
      case ArgKind::maybe_tensor: return tensor();
      case ArgKind::tensors: to_.put(as<std::vector<v1::Tensor>>()); return;
      case ArgKind::number: to_.put(as<double>()); return;
      case ArgKind::maybe_number: to_.put(as<std::optional<double>>()); return;
      case ArgKind::numbers: to_.put(as<std::vector<double>>()); return;
      case ArgKind::boolean: to_.put(as<bool>()); return;
      case ArgKind::text:
      case ArgKind::choice: to_.put(as<std::string>()); return;
      case ArgKind::dtype: to_.put(v1::parse_dtype(as<std::string>())); return;
      case ArgKind::maybe_dtype: to_.put(std::optional(v1::parse_dtype(as<std::string>()))); return;
      case ArgKind::maybe_device: to_.put(std::optional(v1::Device(as<std::string>()))); return;
      case ArgKind::axes: to_.put(v1::Axes(integers())); return;
      case ArgKind::sizes: to_.put(integers()); return;
      case ArgKind::maybe_sizes: to_.put(std::optional(integers())); return;
      case ArgKind::per_dim:
      case ArgKind::counts: to_.put(v1::PerDim(integers())); return;
      case ArgKind::padding: return padding();
      default: to_.put(std::optional(as<int64_t>())); return;
    }
  }

 private:
  template <class T>
  T as() const {
    return Convert<T>::from(value_, place_);
  }
  v1::Shape integers() const {
    if (value_.table()) return as<v1::Shape>();
    return {as<int64_t>()};
  }
  void tensor() {
    if (value_.integer())
      to_.put(v1::Operand(*value_.integer()));
    else if (value_.number())
      to_.put(v1::Operand(*value_.number()));
    else
      to_.put(as<v1::Tensor>());
  }
  void padding() {
    if (value_.string())
      to_.put(v1::Padding(*value_.string()));
    else
      to_.put(v1::Padding(integers()));
  }

  Arguments& to_;
  const FieldInfo& field_;
  const Value& value_;
  Place place_;
};

bool is_field(const OpInfo& op, std::string_view name) {
  for (const FieldInfo& f : op.fields)
    if (f.kind != ArgKind::draw && f.name == name) return true;
  return false;
}

void refuse_unknown(const OpInfo& op, const v1::Table& options) {
  for (const auto& [name, value] : options.named)
    if (!is_field(op, name))
      throw option_error("unknown option '{}'", name).fact("takes: " + signature(op));
  if (!options.list.empty()) throw option_error("options have names, got a list");
}

}  // namespace

void fill(Arguments& to, const OpInfo& op, std::span<const Value> given, const Value& options,
          v1::Generator* generator) {
  if (options.table())
    refuse_unknown(op, *options.table());
  else if (!options.is_nil())
    throw type_error("the options must be a table, got {}", kind_of(options));
  size_t next = 0;
  for (const FieldInfo& f : op.fields) {
    if (f.kind == ArgKind::draw) {
      to.put(generator);
      continue;
    }
    const Value& named = options[f.name];
    const bool by_position = next < given.size();
    const Value& value = by_position ? given[next] : named;
    ++next;
    if (by_position && !named.is_nil())
      throw option_error("'{}' is given by position and by name", f.name);
    if (!value.is_nil())
      Filling(to, f, value).run();
    else if (f.required)
      throw type_error("'{}' must be {}, got nil", f.name, expected_text(f));
    else
      to.skip();
  }
  if (given.size() > next)
    throw arg_error("takes {} arguments, got {}", next, given.size()).fact(signature(op));
}

std::vector<Value> values_of(const rille_value* const* list, size_t count) {
  std::vector<Value> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(given((&given(list, "the list of arguments"))[i], "an argument").value);
  return out;
}

void give_all(const std::vector<v1::Tensor>& results, rille_tensor** out, size_t capacity,
              size_t* count) {
  given(count, "the place for the count") = results.size();
  if (results.size() > capacity)
    throw v1::Error(v1::ErrorKind::argument, "E_ARG",
                    fmt::format("{} results, and room for {}", results.size(), capacity));
  std::vector<std::unique_ptr<rille_tensor>> handles;
  for (const v1::Tensor& t : results) handles.emplace_back(new rille_tensor{t});
  for (size_t i = 0; i < handles.size(); ++i)
    (&capi::given(out, "the place for tensors"))[i] = handles[i].release();
}

}  // namespace rille::capi
