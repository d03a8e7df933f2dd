#include <fmt/format.h>

#include "interpreter/lua/diagnose.h"
#include "interpreter/shell/commands.h"
#include "ops/op_info.h"

namespace rille::shell {
namespace {

void print_op(const OpInfo& op) {
  fmt::print("rille.{}\n", signature(op));
  if (op.method)
    fmt::print("t:{}{}(...)\n", op.name, op.in_place ? fmt::format("(...), t:{}_", op.name) : "");
  fmt::print("\n{}\n\n", op.doc);
  for (const FieldInfo& f : op.fields) {
    if (f.kind == ArgKind::draw) continue;
    const std::string value = f.required ? "required" : "default " + default_text(op, f);
    fmt::print("  {:<14} {}: {} ({})\n", f.name, f.doc, expected_text(f), value);
  }
  if (op.draws)
    fmt::print("  {:<14} where the random numbers come from (default the interpreter's)\n",
               "generator");
  fmt::print("\n  autocast: {}\n", name(op.autocast));
  if (!op.example.empty()) fmt::print("  example:  {}\n", op.example);
}

}  // namespace

// The files that tell an editor what `rille` has (rille.annotations).
int write_annotations(const std::string& folder) {
  return run_text(
      "local n = require 'rille.annotations'.write(arg[1])\n"
      "print(('%d files in %s'):format(n, arg[1]))",
      "=help", {folder});
}

int help_command(const Words& words) {
  if (words[0] == "--luacats") {
    if (words.size() == 2) return write_annotations(words[1]);
    fmt::print(stderr, "usage: rille help --luacats DIR\n");
    return 2;
  }
  std::string_view wanted = words[0];
  if (wanted.starts_with("rille.")) wanted.remove_prefix(6);
  if (const OpInfo* op = find_op(wanted)) {
    print_op(*op);
    return 0;
  }
  std::vector<std::string_view> names;
  for (const OpInfo* op : all_ops()) names.push_back(op->name);
  const std::string near = lua::nearest(wanted, names);
  fmt::print(stderr, "rille help: there is no command and no op '{}'{}\n", wanted,
             near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
  return 2;
}

}  // namespace rille::shell
