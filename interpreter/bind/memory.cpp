// Whose the memory is: rille.memory.snapshot, and what rille.memory.watch asks of the tape.
#include "autograd/node.h"
#include "core/blocks.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/graphs.h"
#include "interpreter/lua/holdings.h"

namespace rille::bind {
namespace {

// "train.lua:31"
Value line_of(const Site& at) {
  if (!at.source) return {};
  return std::string(at.source) + ":" + std::to_string(at.line);
}
Value text_of(const char* text) { return text ? Value(std::string(text)) : Value(); }

// memory.snapshot() -> list of { dtype, shape, count, bytes, gradient, op, line }, the largest
// first; { count, bytes, gradient, op, line, tape = true } of what only the tape holds
void snapshot(Call& c) {
  Table list;
  for (const lua::Holding& h : lua::holdings(c.interpreter())) {
    Table one, shape;
    for (const int64_t n : h.shape) shape.list.emplace_back(n);
    if (!h.of_tape) {
      one.named["dtype"] = name(h.dtype);
      one.named["shape"] = shape;
    } else {
      one.named["tape"] = true;
    }
    one.named["count"] = h.count;
    one.named["bytes"] = h.bytes;
    one.named["gradient"] = h.gradient;
    if (h.op) one.named["op"] = text_of(h.op);
    if (h.at.source) one.named["line"] = line_of(h.at);
    list.list.emplace_back(one);
  }
  c.give(list);
}

// native.block_events() -> list of { serial, bytes, allocated, seconds, op, line }
void block_events(Call& c) {
  Table list;
  for (const memory::BlockEvent& e : memory::block_events(c.interpreter().context)) {
    Table one;
    one.named["serial"] = static_cast<int64_t>(e.serial);
    one.named["bytes"] = e.bytes;
    one.named["allocated"] = e.allocated;
    one.named["seconds"] = e.seconds;
    if (e.made_by) one.named["op"] = text_of(e.made_by);
    if (e.made_at.source) one.named["line"] = line_of(e.made_at);
    list.list.emplace_back(one);
  }
  c.give(list);
}

// native.live_blocks() -> list of { serial, bytes, op, line }
void live_blocks(Call& c) {
  Table list;
  for (const memory::Block& b : memory::live_blocks(c.interpreter().context)) {
    Table one;
    one.named["serial"] = static_cast<int64_t>(b.serial);
    one.named["bytes"] = b.bytes;
    if (b.made_by) one.named["op"] = text_of(b.made_by);
    if (b.made_at.source) one.named["line"] = line_of(b.made_at);
    list.list.emplace_back(one);
  }
  c.give(list);
}

// native.last_node() -> the number of the newest node of the tape
void last_node(Call& c) { c.give(static_cast<int64_t>(autograd::last_seq())); }

// native.graphs(marks) -> { old, keepers = list of { op, line, used_by, used_at, count } }
void graphs(Call& c) {
  const Value given = c.value(1);
  if (!given.table()) c.wrong(1, "marks", "a list of integers");
  std::vector<uint64_t> marks;
  for (const Value& v : given.table()->list) {
    const int64_t* n = v.get<int64_t>();
    if (!n) c.wrong(1, "marks", "a list of integers");
    marks.push_back(static_cast<uint64_t>(*n));
  }
  const lua::Graphs found = lua::graphs(c.interpreter(), marks);
  Table out, list;
  for (const lua::Keeper& k : found.keepers) {
    Table one;
    one.named["op"] = k.op;
    one.named["count"] = k.count;
    if (k.at.source) one.named["line"] = line_of(k.at);
    if (!k.used_by.empty()) one.named["used_by"] = k.used_by;
    if (k.used_at.source) one.named["used_at"] = line_of(k.used_at);
    list.list.emplace_back(one);
  }
  out.named["old"] = found.old;
  out.named["keepers"] = list;
  c.give(out);
}

}  // namespace

void bind_memory(Interpreter& in) {
  static constexpr NativeEntry functions[] = {{"memory.snapshot", snapshot}};
  lua::define_functions(in, "rille", functions);
  static constexpr NativeEntry natives[] = {{"block_events", block_events},
                                            {"live_blocks", live_blocks},
                                            {"last_node", last_node},
                                            {"graphs", graphs}};
  lua::define_functions(in, "rille.native", natives);
}

}  // namespace rille::bind
