#include "interpreter/api/c_over_ops.h"

#include <algorithm>

#include "core/fail.h"
#include "interpreter/api/c_arguments.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/modules_over_ops.h"
#include "interpreter/api/schemas.h"

namespace rille::capi {
namespace {

using v1::Table, v1::Value, v1::detail::Arguments, v1::nn::Module;

const OpInfo* op_under(std::string_view name) {
  for (const api::OverOp& m : api::kOverOps)
    if (m.name == name) return find_op(m.op);
  return nullptr;
}

bool is_input(const FieldInfo& f) { return f.kind == ArgKind::tensor && f.required; }
bool is_option(const FieldInfo& f) {
  return !is_input(f) && f.kind != ArgKind::draw && f.name != "training";
}

bool has_option(const OpInfo& op, std::string_view name) {
  return std::any_of(op.fields.begin(), op.fields.end(),
                     [&](const FieldInfo& f) { return is_option(f) && f.name == name; });
}

// The options by name, whether they came so or by position.
Table options_of(const OpInfo& op, std::span<const Value> arguments, const Value& options) {
  Table out;
  if (!options.is_nil()) out = options.as<Table>();
  if (!out.list.empty()) throw option_error("options have names, got a list");
  for (const auto& given : out.named)
    if (!has_option(op, given.first))
      throw option_error("unknown option '{}'", given.first).fact("takes: " + signature(op));
  size_t next = 0;
  for (const FieldInfo& f : op.fields) {
    if (!is_option(f)) continue;
    if (next < arguments.size() && !out.named.emplace(f.name, arguments[next++]).second)
      throw option_error("'{}' is given by position and by name", f.name);
    if (f.required && !out.named.count(f.name))
      throw type_error("'{}' must be {}, got nil", f.name, expected_text(f));
  }
  if (next < arguments.size())
    throw arg_error("takes {} arguments, got {}", next, arguments.size()).fact(signature(op));
  return out;
}

std::vector<v1::Tensor> run(const OpInfo& op, Table options, const Module& self,
                            std::span<const Value> inputs) {
  size_t next = 0;
  for (const FieldInfo& f : op.fields) {
    if (f.name == "training") options.named.insert_or_assign("training", self.is_training());
    if (is_input(f) && next < inputs.size())
      options.named.insert_or_assign(std::string(f.name), inputs[next++]);
  }
  if (next < inputs.size())
    throw arg_error("takes {} tensors, got {}", next, inputs.size()).fact(signature(op));
  Arguments a(api::schema_of(op));
  fill(a, op, {}, options);
  return v1::detail::call_list(a);
}

}  // namespace

v1::nn::Forward forward_over_op(std::string_view name, std::span<const Value> arguments,
                                const Value& options) {
  if (name == "Identity")
    return [](const Module&, std::span<const Value> inputs) {
      return std::vector<v1::Tensor>{inputs.empty() ? v1::Tensor() : inputs[0].as<v1::Tensor>()};
    };
  const OpInfo* op = op_under(name);
  if (!op)
    throw v1::Error(v1::ErrorKind::argument, "E_ARG", fmt::format("there is no layer '{}'", name),
                    "layers have the names that scripts know: Linear, Tanh");
  return api::guarded(op->name, [&]() -> v1::nn::Forward {
    return [op, kept = options_of(*op, arguments, options)](const Module& self,
                                                            std::span<const Value> inputs) {
      return api::guarded(op->name, [&] { return run(*op, kept, self, inputs); });
    };
  });
}

}  // namespace rille::capi
