// ops.hpp: one function an op, with its options as a struct.
#include <fmt/format.h>

#include "interpreter/api/headers/headers.h"

namespace rille::headers {
namespace {

constexpr std::string_view kHead =
    R"(// Written when librille was built, from the engine's own list of ops.
//
// One function an op. Tensors and what has no default come by position, the rest in a struct of
// options: gelu(x, {{.approximate = "tanh"}}). Dims and positions count from 0, negative ones from
// the end; ranges by `first` and `last` hold both. A name that ends in _ writes the result into its
// first argument. Errors are rille::Error.
#pragma once
#include <limits>

#include "rille/arguments.hpp"

namespace rille::RILLE_V1 {{

)";

// `dist` is the name of what trains on several machines; norm(x - y) is the same op.
bool left_out(const OpSchema& op) { return op.name == "dist"; }

std::string result_type(const OpSchema& op) {
  if (op.truth) return "bool";
  if (op.results == 0) return "std::vector<Tensor>";
  if (op.results == 1) return "Tensor";
  if (op.result_names.empty()) return fmt::format("std::array<Tensor, {}>", op.results);
  return camel(op.name) + "Result";
}

std::string result_struct(const OpSchema& op) {
  if (op.results < 2 || op.result_names.empty()) return {};
  std::string members;
  for (const std::string_view name : op.result_names)
    members += fmt::format("{}{}", members.empty() ? "" : ", ", name);
  return fmt::format("struct {} {{\n  Tensor {};\n}};\n", result_type(op), members);
}

std::string body(const OpSchema& op) {
  const std::string arguments = fmt::format("detail::Arguments(schema){}", puts(op.fields));
  if (op.makes_leaf && op.results == 1)
    return fmt::format(
        "  const Tensor y = detail::call_one({});\n"
        "  return options.requires_grad ? y.requires_grad_() : y;\n",
        arguments);
  if (op.truth) return fmt::format("  return detail::call_one({}).item<bool>();\n", arguments);
  if (op.results == 0) return fmt::format("  return detail::call_list({});\n", arguments);
  if (op.results == 1) return fmt::format("  return detail::call_one({});\n", arguments);
  const std::string call = fmt::format("detail::call_several<{}>({})", op.results, arguments);
  if (op.result_names.empty()) return fmt::format("  return {};\n", call);
  std::string moved;
  for (int i = 0; i < op.results; ++i) moved += fmt::format("{}std::move(y[{}])", i ? ", " : "", i);
  return fmt::format("  auto y = {};\n  return {{{}}};\n", call, moved);
}

std::string function(const OpSchema& op, std::string_view name, std::string_view result,
                     std::string_view text) {
  const bool leaf = op.makes_leaf && op.results == 1;
  const std::string options =
      has_options(op.fields) || leaf ? camel(op.name) + "Options" : std::string();
  return fmt::format(
      "inline {} {}({}) {{\n"
      "  static const detail::Schema& schema = detail::op_schema(\"{}\");\n{}}}\n",
      result, name, parameters(op.fields, options), op.name, text);
}

std::string section(const OpSchema& op) {
  const bool leaf = op.makes_leaf && op.results == 1;
  std::string out = options_struct(
      camel(op.name) + "Options", op.fields,
      leaf ? "  /// the result is a leaf that wants a gradient\n  bool requires_grad = false;\n"
           : "");
  out += result_struct(op);
  out += comment("", op.doc);
  for (size_t i = 0; i < op.fields.size(); ++i)
    if (positional(op.fields, i))
      out += comment(fmt::format("  {}  ", op.fields[i].name), op.fields[i].doc);
  out += function(op, op.name, result_type(op), body(op));
  if (!op.in_place_name.empty())
    out += "/// The same, written into the first argument.\n" +
           function(op, op.in_place_name, "Tensor",
                    fmt::format("  return detail::call_in_place(detail::Arguments(schema){});\n",
                                puts(op.fields)));
  return out + "\n";
}

}  // namespace

std::string ops_header() {
  std::string out = fmt::format(kHead);
  std::string_view family;
  for (const OpSchema& op : op_schemas()) {
    if (left_out(op)) continue;
    if (op.family != family) out += fmt::format("// ---- {} ----\n\n", op.family);
    family = op.family;
    out += section(op);
  }
  return out + "}  // namespace rille::RILLE_V1\n";
}

}  // namespace rille::headers
