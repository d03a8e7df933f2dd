#include "interpreter/api/schemas.h"

#include <fmt/format.h>

#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "nn/layer.h"
#include "rille/schema.hpp"

namespace rille::api {
namespace {

constexpr std::string_view kKinds[] = {
    "tensor",      "maybe_tensor", "tensors",       "number",         "maybe_number",
    "numbers",     "integer",      "maybe_integer", "boolean",        "text",
    "choice",      "dtype",        "maybe_dtype",   "maybe_device",   "axis",
    "maybe_axis",  "axes",         "position",      "maybe_position", "sizes",
    "maybe_sizes", "per_dim",      "padding",       "counts",         "draw"};
static_assert(std::size(kKinds) == static_cast<size_t>(ArgKind::draw) + 1);

template <class T>
const T& value_at(const FieldInfo& f, const void* args) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(args) + f.offset);
}
std::string list_text(std::span<const int64_t> list) {
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}
std::string list_text(const Dims& d) {
  return list_text(std::span(d.begin(), static_cast<size_t>(d.size())));
}
std::string number_text(double v) {
  if (v != v) return "std::numeric_limits<double>::quiet_NaN()";
  if (v - v != 0) return fmt::format("{}std::numeric_limits<double>::infinity()", v < 0 ? "-" : "");
  return fmt::format("{}", v);  // the shortest that reads back as the same
}
template <class T>
std::string maybe_text(const std::optional<T>& v) {
  return v ? fmt::format("{}", *v) : "{}";
}
std::string dtype_text(DType d) {
  return fmt::format("Dtype::{}", d == DType::boolean ? "boolean" : name(d));
}

// A default as C++ writes it. What has none, or an empty one, is {}.
std::string literal(const FieldInfo& f, const void* args) {
  switch (f.kind) {
    case ArgKind::number: return number_text(value_at<double>(f, args));
    case ArgKind::maybe_number: {
      const auto& v = value_at<std::optional<double>>(f, args);
      return v ? number_text(*v) : "{}";
    }
    case ArgKind::numbers:
      return fmt::format("{{{}}}", fmt::join(value_at<std::vector<double>>(f, args), ", "));
    case ArgKind::integer: return fmt::format("{}", value_at<int64_t>(f, args));
    case ArgKind::maybe_integer: return maybe_text(value_at<std::optional<int64_t>>(f, args));
    case ArgKind::boolean: return value_at<bool>(f, args) ? "true" : "false";
    case ArgKind::text: return fmt::format("\"{}\"", value_at<std::string>(f, args));
    case ArgKind::choice:
      return fmt::format("\"{}\"", f.choices[static_cast<size_t>(value_at<int>(f, args))]);
    case ArgKind::dtype: return dtype_text(value_at<DType>(f, args));
    case ArgKind::maybe_dtype: {
      const auto& v = value_at<std::optional<DType>>(f, args);
      return v ? dtype_text(*v) : "{}";
    }
    case ArgKind::axis: return fmt::format("{}", value_at<Axis>(f, args).value);
    case ArgKind::maybe_axis: {
      const auto& v = value_at<std::optional<Axis>>(f, args);
      return v ? fmt::format("{}", v->value) : "{}";
    }
    case ArgKind::position: return fmt::format("{}", value_at<Position>(f, args).value);
    case ArgKind::axes: {
      const Axes& v = value_at<Axes>(f, args);
      return v.all ? "{}" : list_text(v.list);
    }
    case ArgKind::sizes: return list_text(value_at<Sizes>(f, args).list);
    case ArgKind::per_dim: return list_text(value_at<PerDim>(f, args).list);
    case ArgKind::padding: return list_text(value_at<Padding>(f, args).list);
    case ArgKind::counts: return list_text(value_at<Counts>(f, args).list);
    default: return "{}";
  }
}

std::vector<v1::FieldSchema> fields_of(const OpInfo& op) {
  const ArgBlock defaults(op);
  std::vector<v1::FieldSchema> out;
  for (const FieldInfo& f : op.fields)
    out.push_back({.name = f.name,
                   .doc = f.doc,
                   .kind = kKinds[static_cast<size_t>(f.kind)],
                   .required = f.required,
                   .takes_number = f.number_ok,
                   .default_value = f.required ? "" : literal(f, defaults.get())});
  return out;
}

bool takes_tensor(const OpInfo& op) {
  for (const FieldInfo& f : op.fields)
    if (f.kind == ArgKind::tensor || f.kind == ArgKind::tensors || f.kind == ArgKind::maybe_tensor)
      return true;
  return false;
}

const nn::LayerInfo& layer(const char* name) {
  const nn::LayerInfo* found = nn::find_layer(name);
  if (!found) throw internal_error("there is no layer '{}' in this library's version", name);
  return *found;
}

}  // namespace
}  // namespace rille::api

namespace rille::v1 {

namespace detail {

const Schema& op_schema(const char* name) {
  return api::guarded(name, [&]() -> const Schema& {
    const OpInfo* found = find_public_op(name);
    if (!found) throw internal_error("there is no op '{}' in this library's version", name);
    return api::schema_of(*found);
  });
}
const Schema& layer_options(const char* name) {
  return api::guarded(name,
                      [&]() -> const Schema& { return api::schema_of(api::layer(name).options); });
}
const Schema& layer_inputs(const char* name) {
  return api::guarded(name,
                      [&]() -> const Schema& { return api::schema_of(api::layer(name).inputs); });
}

}  // namespace detail

std::vector<OpSchema> op_schemas() {
  return api::guarded("op_schemas", [] {
    std::vector<OpSchema> out;
    for (const OpInfo* op : public_ops()) {
      OpSchema s{.name = op->name, .doc = op->doc, .family = op->family};
      if (op->in_place) s.in_place_name = op->in_place_name;
      s.results = op->results;
      s.result_names.assign(op->result_names.begin(), op->result_names.end());
      s.truth = op->truth;
      s.makes_leaf = op->name.ends_with("_like") || !api::takes_tensor(*op);
      s.fields = api::fields_of(*op);
      out.push_back(std::move(s));
    }
    return out;
  });
}

std::vector<LayerSchema> layer_schemas() {
  return api::guarded("layer_schemas", [] {
    std::vector<LayerSchema> out;
    for (const nn::LayerInfo* l : rille::nn::all_layers())
      out.push_back({.name = l->options.name,
                     .doc = l->options.doc,
                     .results = l->results,
                     .options = api::fields_of(l->options),
                     .inputs = api::fields_of(l->inputs)});
    return out;
  });
}

}  // namespace rille::v1
