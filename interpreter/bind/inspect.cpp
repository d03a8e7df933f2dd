// What an interactive shell asks about: the tape behind a tensor, the options of an op.

#include <fmt/format.h>

#include <map>

#include "autograd/node.h"
#include "core/allocator.h"
#include "interpreter/bind/bind.h"
#include "ops/op_info.h"

namespace rille::bind {
namespace {

constexpr size_t kLines = 200;

// The tape as text: an op a line, what it was made of indented below it.
class Drawing {
 public:
  void add(const autograd::Node& node, size_t depth) {
    if (lines_ >= kLines) return;
    const auto [known, fresh] = numbers_.try_emplace(&node, numbers_.size() + 1);
    text_ += fmt::format("{:{}}{}", "", 2 * depth, node.is_leaf() ? "leaf" : node.name());
    if (node.site.source) text_ += fmt::format("  {}:{}", node.site.source, node.site.line);
    const bool seen = !fresh && !node.is_leaf();
    text_ += seen ? fmt::format("  (as in line {})\n", known->second) : "\n";
    if (++lines_ == kLines) text_ += "...\n";
    if (seen) return;
    known->second = lines_;
    for (const autograd::Edge& edge : node.next)
      if (edge) add(*edge.node.get(), depth + 1);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
  size_t lines_ = 0;
  std::map<const autograd::Node*, size_t> numbers_;  // the line where each was drawn
};

// native.graph(t) -> text
void graph(Call& c) {
  const Tensor t = c.tensor(1, "t");
  const autograd::Edge edge = autograd::edge_of(t);
  if (!edge) return c.give(t.needs_grad() ? "leaf" : "no gradient goes through it");
  Drawing drawing;
  drawing.add(*edge.node.get(), 0);
  std::string text = std::move(drawing).text();
  text.pop_back();
  c.give(std::move(text));
}

// native.op_options(name) -> the names that its options table takes, or nil
void op_options(Call& c) {
  const OpInfo* op = find_op(c.string(1, "name"));
  if (!op) return;
  Table names;
  for (const FieldInfo& f : op->fields)
    if (f.kind != ArgKind::draw) names.list.emplace_back(f.name);
  c.give(names);
}

// native.memory_budget() -> bytes that tensors may take
void memory_budget(Call& c) { c.give(memory::budget()); }

// native.remember_chunk(name, text): so that errors in it can show the line
void remember_chunk(Call& c) { c.interpreter().chunks[c.string(1, "name")] = c.string(2, "text"); }

}  // namespace

void bind_inspect(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"graph", graph},
                                            {"op_options", op_options},
                                            {"memory_budget", memory_budget},
                                            {"remember_chunk", remember_chunk}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
