// layers.hpp: one class a layer of the engine, and one for each op that people use as a module.
#include <fmt/format.h>

#include <map>

#include "interpreter/api/headers/headers.h"
#include "interpreter/api/modules_over_ops.h"

namespace rille::headers {
namespace {

constexpr std::string_view kHead =
    R"(// Written when librille was built, from the engine's own lists of layers and ops.
//
// Layers with parameters of their own, then modules over ops. What has no default comes by
// position, the rest in a struct of options: nn::Conv2d(1, 32, 3, {{.padding = 1}}).
#pragma once
#include "rille/module.hpp"
#include "rille/ops.hpp"

namespace rille::RILLE_V1::nn {{

)";

// The one module that has neither a layer nor an op.
constexpr std::string_view kIdentity =
    R"(/// What it gets.
class Identity : public ModuleOf<Identity> {
 public:
  Identity() : ModuleOf("Identity") {}
  Tensor operator()(const Tensor& x) const { return x; }
};

)";

std::string positions(const std::vector<FieldSchema>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i)
    if (positional(fields, i))
      out += comment(fmt::format("  {}  ", fields[i].name), fields[i].doc, 2);
  return out;
}

std::string layer_class(const LayerSchema& l) {
  const std::string options = has_options(l.options) ? fmt::format("{}Options", l.name) : "";
  const std::string inputs = has_options(l.inputs) ? fmt::format("{}Inputs", l.name) : "";
  const std::string result =
      l.results == 1 ? "Tensor" : fmt::format("std::array<Tensor, {}>", l.results);
  std::string out = options_struct(options, l.options) + options_struct(inputs, l.inputs);
  out += comment("", l.doc);
  out += fmt::format("class {0} : public ModuleOf<{0}> {{\n public:\n", l.name);
  out += positions(l.options);
  out +=
      fmt::format("  {}{}({})\n      : ModuleOf(detail::Arguments(detail::layer_options(\"{}\"))",
                  parameters(l.options, options).find(',') == std::string::npos ? "explicit " : "",
                  l.name, parameters(l.options, options), l.name);
  out += puts(l.options) + ") {}\n";
  out += positions(l.inputs);
  out += fmt::format(
      "  {} operator()({}) const {{\n"
      "    static const detail::Schema& schema = detail::layer_inputs(\"{}\");\n"
      "    return forward<{}>(detail::Arguments(schema){});\n  }}\n}};\n\n",
      result, parameters(l.inputs, inputs), l.name, l.results, puts(l.inputs));
  return out;
}

// What the class keeps between its making and its calls.
struct Parts {
  std::string made_with, initialised, members, called_with, passed;
  bool follows_mode = false;
};

Parts parts_of(const OpSchema& op, const std::string& options) {
  Parts p;
  const auto add = [](std::string& list, const std::string& one) {
    list += (list.empty() ? "" : ", ") + one;
  };
  for (size_t i = 0; i < op.fields.size(); ++i) {
    const FieldSchema& f = op.fields[i];
    p.follows_mode |= f.name == "training";
    if (!positional(op.fields, i)) continue;
    if (f.kind == "tensor") {
      add(p.called_with, parameter(f));
      add(p.passed, std::string(f.name));
      continue;
    }
    add(p.made_with, parameter(f));
    add(p.passed, fmt::format("{}_", f.name));
    p.initialised += fmt::format(", {0}_({0})", f.name);
    FieldSchema kept = f;
    const std::string name = fmt::format("{}_", f.name);
    kept.name = name;
    kept.default_value = "{}";
    p.members += fmt::format("  {}\n", member(kept));
  }
  if (options.empty()) return p;
  add(p.made_with, fmt::format("const {}& options = {{}}", options));
  add(p.passed, p.follows_mode ? "now" : "options_");
  p.initialised += ", options_(options)";
  p.members += fmt::format("  {} options_;\n", options);
  return p;
}

std::string over_op(const api::OverOp& m, const OpSchema& op) {
  const std::string options = has_options(op.fields) ? camel(op.name) + "Options" : "";
  const Parts p = parts_of(op, options);
  const bool single = p.made_with.find(',') == std::string::npos && !p.made_with.empty();
  std::string out = comment("", op.doc);
  out += fmt::format("class {0} : public ModuleOf<{0}> {{\n public:\n", m.name);
  out += fmt::format("  {}{}({})\n      : ModuleOf(\"{}\"){} {{}}\n", single ? "explicit " : "",
                     m.name, p.made_with, m.name, p.initialised);
  out += fmt::format("  auto operator()({}) const {{\n", p.called_with);
  if (p.follows_mode) out += "    auto now = options_;\n    now.training = is_training();\n";
  out += fmt::format("    return {}({});\n  }}\n", op.name, p.passed);
  if (!p.members.empty()) out += "\n private:\n" + p.members;
  return out + "};\n\n";
}

}  // namespace

std::string layers_header() {
  std::string out = fmt::format(kHead);
  for (const LayerSchema& l : layer_schemas()) out += layer_class(l);
  std::map<std::string_view, OpSchema> ops;
  for (OpSchema& op : op_schemas()) ops.emplace(op.name, std::move(op));
  for (const api::OverOp& m : api::kOverOps) out += over_op(m, ops.at(m.op));
  out += kIdentity;
  return out + "}  // namespace rille::RILLE_V1::nn\n";
}

}  // namespace rille::headers
