// What an interactive shell asks about: the tape behind a tensor, memory, its own inputs.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "autograd/node.h"
#include "core/allocator.h"
#include "interpreter/bind/bind.h"
#include "interpreter/bind/print.h"
#include "stdlib/embedded.h"

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

// native.memory_budget() -> bytes that tensors may take
void memory_budget(Call& c) { c.give(memory::budget()); }

// native.tensor_text(t, columns) -> what print shows, in lines of at most so many columns
void tensor_text(Call& c) {
  if (c.is_closed(1)) return c.give("a closed tensor");
  const int64_t columns = std::max<int64_t>(c.integer(2, "columns"), 0);
  c.give(print_tensor(c.tensor(1, "t"), static_cast<size_t>(columns)));
}

// native.remember_chunk(name, text): so that errors in it can show the line
void remember_chunk(Call& c) {
  c.interpreter().sources.keep(c.string(1, "name"), c.string(2, "text"));
}

// native.module_text(name) -> the source of a module of the standard library, or nil
void module_text(Call& c) {
  const std::string name(c.string(1, "name"));
  for (const stdlib::Module& m : stdlib::modules())
    if (m.name == name) return c.give(std::string(m.source));
  c.give({});
}

}  // namespace

void bind_inspect(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"graph", graph},
                                            {"memory_budget", memory_budget},
                                            {"tensor_text", tensor_text},
                                            {"remember_chunk", remember_chunk},
                                            {"module_text", module_text}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
