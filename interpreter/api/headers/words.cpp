// What the two headers share: names, types, parameter lists.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "interpreter/api/headers/headers.h"

namespace rille::headers {

std::string camel(std::string_view snake) {
  std::string out;
  bool up = true;
  for (const char c : snake) {
    if (c != '_') out += up ? static_cast<char>(std::toupper(c)) : c;
    up = c == '_';
  }
  return out;
}

std::string comment(std::string_view first, std::string_view text, int indent) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string out, line = fmt::format("{}/// {}", margin, first);
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (line.size() + word.size() > 98) {
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = fmt::format("{}///     ", margin);
    }
    line += fmt::format("{} ", word);
    at = end + 1;
  }
  return out + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

namespace {

// The type of a parameter, and of a member of the options.
struct Types {
  std::string_view parameter, member;
};

Types types_of(const FieldSchema& f) {
  static const std::map<std::string_view, Types> known = {
      {"tensor", {"const Tensor&", "Tensor"}},
      {"maybe_tensor", {"const Tensor&", "Tensor"}},
      {"tensors", {"const std::vector<Tensor>&", "std::vector<Tensor>"}},
      {"number", {"double", "double"}},
      {"maybe_number", {"std::optional<double>", "std::optional<double>"}},
      {"numbers", {"const std::vector<double>&", "std::vector<double>"}},
      {"integer", {"int64_t", "int64_t"}},
      {"maybe_integer", {"std::optional<int64_t>", "std::optional<int64_t>"}},
      {"boolean", {"bool", "bool"}},
      {"text", {"std::string_view", "std::string"}},
      {"choice", {"std::string_view", "std::string"}},
      {"dtype", {"Dtype", "Dtype"}},
      {"maybe_dtype", {"std::optional<Dtype>", "std::optional<Dtype>"}},
      {"maybe_device", {"std::optional<Device>", "std::optional<Device>"}},
      {"axis", {"int64_t", "int64_t"}},
      {"maybe_axis", {"std::optional<int64_t>", "std::optional<int64_t>"}},
      {"axes", {"const Axes&", "Axes"}},
      {"position", {"int64_t", "int64_t"}},
      {"maybe_position", {"std::optional<int64_t>", "std::optional<int64_t>"}},
      {"sizes", {"const Shape&", "Shape"}},
      {"maybe_sizes", {"const std::optional<Shape>&", "std::optional<Shape>"}},
      {"per_dim", {"const PerDim&", "PerDim"}},
      {"padding", {"const Padding&", "Padding"}},
      {"counts", {"const Counts&", "Counts"}},
      {"draw", {"Generator*", "Generator*"}}};
  if (f.takes_number)
    return f.kind == "maybe_tensor"
               ? Types{"const std::optional<Operand>&", "std::optional<Operand>"}
               : Types{"const Operand&", "Operand"};
  return known.at(f.kind);
}

}  // namespace

// What has no default; and the shape of what is made from nothing, which comes first.
bool positional(const std::vector<FieldSchema>& fields, size_t i) {
  return fields[i].required || (i == 0 && fields[i].kind == "sizes");
}
bool has_options(const std::vector<FieldSchema>& fields) {
  for (size_t i = 0; i < fields.size(); ++i)
    if (!positional(fields, i)) return true;
  return false;
}

std::string parameter(const FieldSchema& f) {
  return fmt::format("{} {}", types_of(f).parameter, f.name);
}

std::string member(const FieldSchema& f) {
  if (f.kind == "draw") return "Generator* generator = nullptr;";
  return fmt::format("{} {} = {};", types_of(f).member, f.name, f.default_value);
}

std::string parameters(const std::vector<FieldSchema>& fields, std::string_view options) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i)
    if (positional(fields, i))
      out += fmt::format("{}{}", out.empty() ? "" : ", ", parameter(fields[i]));
  if (!options.empty())
    out += fmt::format("{}const {}& options = {{}}", out.empty() ? "" : ", ", options);
  return out;
}

std::string puts(const std::vector<FieldSchema>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i)
    out += fmt::format("\n      .put({}{})", positional(fields, i) ? "" : "options.",
                       fields[i].kind == "draw" ? "generator" : fields[i].name);
  return out;
}

std::string options_struct(std::string_view name, const std::vector<FieldSchema>& fields,
                           std::string_view extra) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (positional(fields, i)) continue;
    const bool draw = fields[i].kind == "draw";
    out += comment("", draw ? "random numbers of one's own; else this thread's" : fields[i].doc, 2);
    out += fmt::format("  {}\n", member(fields[i]));
  }
  out += extra;
  return out.empty() ? out : fmt::format("struct {} {{\n{}}};\n", name, out);
}

}  // namespace rille::headers
