// What ops and layers say of themselves, for the Lua half that writes it down for editors and shows
// it as help (rille.annotations).
#include <fmt/format.h>

#include "interpreter/bind/bind.h"
#include "nn/layer.h"
#include "ops/op_info.h"
#include "stdlib/embedded.h"

namespace rille::bind {
namespace {

// The kind of a field as LuaCATS writes types.
std::string type_text(const FieldInfo& f) {
  constexpr std::string_view tensor = "rille.Tensor", list = "integer|integer[]";
  switch (f.kind) {
    case ArgKind::tensor:
    case ArgKind::maybe_tensor: return fmt::format("{}{}", tensor, f.number_ok ? "|number" : "");
    case ArgKind::tensors: return fmt::format("{}[]", tensor);
    case ArgKind::number:
    case ArgKind::maybe_number: return "number";
    case ArgKind::numbers: return "number[]";
    case ArgKind::boolean: return "boolean";
    case ArgKind::text: return "string";
    case ArgKind::choice: return fmt::format("\"{}\"", fmt::join(f.choices, "\"|\""));
    case ArgKind::dtype:
    case ArgKind::maybe_dtype: return "rille.dtype";
    case ArgKind::maybe_device: return "string";
    case ArgKind::axes:
    case ArgKind::sizes:
    case ArgKind::maybe_sizes:
    case ArgKind::per_dim:
    case ArgKind::counts: return std::string(list);
    case ArgKind::padding: return fmt::format("{}|\"same\"|\"valid\"", list);
    default: return "integer";
  }
}

// Whether several arguments may stand for the field's list.
bool spreads(const FieldInfo& f) {
  return f.kind == ArgKind::sizes || f.kind == ArgKind::axes || f.kind == ArgKind::tensors;
}

Table fields_of(const OpInfo& op) {
  Table out;
  for (const FieldInfo& f : op.fields) {
    if (f.kind == ArgKind::draw) continue;
    Table t;
    t.named = {{"name", f.name},
               {"doc", f.doc},
               {"type", type_text(f)},
               {"required", f.required},
               {"spreads", spreads(f)}};
    if (!f.required)
      if (const std::string value = default_text(op, f); value != "nil")
        t.named.emplace("default", value);
    out.list.emplace_back(std::move(t));
  }
  return out;
}

Table op_table(const OpInfo& op) {
  Table t, results;
  for (const std::string_view name : op.result_names) results.list.emplace_back(name);
  t.named = {{"name", op.name},         {"doc", op.doc},
             {"fields", fields_of(op)}, {"results", int64_t{op.results}},
             {"names", results},        {"truth", op.truth},
             {"method", op.method},     {"in_place", op.in_place},
             {"draws", op.draws}};
  return t;
}

// native.schema() -> { ops = { ... }, layers = { name = { doc, fields, inputs } } }
void schema(Call& c) {
  Table ops, layers, out;
  for (const OpInfo* op : public_ops()) ops.list.emplace_back(op_table(*op));
  for (const nn::LayerInfo* layer : nn::all_layers()) {
    if (layer->wrapped) continue;
    Table t;
    t.named = {{"doc", layer->options.doc},
               {"fields", fields_of(layer->options)},
               {"inputs", fields_of(layer->inputs)}};
    layers.named.emplace(layer->options.name, std::move(t));
  }
  out.named = {{"ops", ops}, {"layers", layers}};
  c.give(out);
}

std::string help_text(const OpInfo& op) {
  std::string out = fmt::format("rille.{}\n", signature(op));
  if (op.method)
    out += fmt::format("t:{}{}(...)\n", op.name,
                       op.in_place ? fmt::format("(...), t:{}_", op.name) : "");
  out += fmt::format("\n{}\n\n", op.doc);
  for (const FieldInfo& f : op.fields) {
    if (f.kind == ArgKind::draw) continue;
    const std::string value = f.required ? "required" : "default " + default_text(op, f);
    out += fmt::format("  {:<14} {}: {} ({})\n", f.name, f.doc, expected_text(f), value);
  }
  if (op.draws)
    out += fmt::format("  {:<14} where the random numbers come from (default the interpreter's)\n",
                       "generator");
  out += fmt::format("\n  autocast: {}", name(op.autocast));
  if (!op.example.empty()) out += fmt::format("\n  example:  {}", op.example);
  return out;
}

// native.op_help(name) -> what an op does and takes, or nil
void op_help(Call& c) {
  if (const OpInfo* op = find_public_op(c.string(1, "name"))) c.give(help_text(*op));
}

// native.module_source(name) -> the text of a module of the standard library, or nil
void module_source(Call& c) {
  const std::string name = c.string(1, "name");
  for (const stdlib::Module& m : stdlib::modules())
    if (m.name == name) return c.give(m.source);
}

}  // namespace

void bind_schema(Interpreter& in) {
  static constexpr NativeEntry natives[] = {
      {"schema", schema}, {"op_help", op_help}, {"module_source", module_source}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
